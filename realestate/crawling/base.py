"""PortalSpider: what all portals of homes share. A portal says where its data sits, `engine` what becomes of a page,
and this what is special about homes."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import Response, TextResponse

from realestate.crawling.engine import PRIORITY, SearchSpider
from realestate.crawling.outcomes import BrokenPage, ListingGone, is_news
from realestate.crawling.results import AnyLink, Found, Result, Results
from realestate.crawling.telephones import AskingSpider
from realestate.items import Gone, Listing, Sighting, Sightings
from realestate.parsing.prices import Price
from realestate.parsing.urls import absolute_url, url_path
from realestate.queue.plain_urls import request_to
from realestate.storage.contacts import Source
from realestate.storage.handle import store_of

__all__ = ["PRIORITY", "PortalSpider"]


class PortalSpider(SearchSpider, AskingSpider):
    """One property portal.

    A portal names its site, its searches, its way to page and the form of a listing's address, and writes
    `parse_search` (the Results of one page) and `parse_listing` (one Listing). It raises BrokenPage or ListingGone and
    need not catch anything: whatever happens to a page is counted, as `page/<stage>/<outcome>`, and what failed is kept
    as a dead letter.
    """

    kind = "listing"

    listing_path: ClassVar[re.Pattern[str]]
    """Matches the path of a listing's address, its group `ref` being the portal's id; all else is a search."""

    country: ClassVar[str]
    currency: ClassVar[str]
    timezone: ClassVar[ZoneInfo]

    parser_version: ClassVar[int] = 1
    """Raised when the same page would now give other values."""

    # ----- for portals

    def parse_search(self, response: TextResponse) -> Results:
        """What a search page shows."""
        raise NotImplementedError

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        """The listing of a page, and what else is for sale there, such as the flats of a project; `hints` is what the
        search page told of it and the page itself does not."""
        raise NotImplementedError

    def ask_listing(self, url: str) -> Request:
        """The request for a listing, where its data is served at another address than its page."""
        return request_to(url)

    def found(
        self,
        url: str,
        price: Price | None = None,
        rent_period: Any = None,
        *,
        dated: datetime | None = None,
        is_promoted: bool = False,
        shows_others: bool = False,
        **hints: Any,
    ) -> Found:
        """A listing on a search page, with its price where the page shows one."""
        url = absolute_url(self.site, url)
        ref = self.ref_of(url)
        if ref is None:
            raise BrokenPage(f"no address of a listing: {url}")
        told = price or Price()
        sighting = Sighting(
            portal=self.name,
            ref=ref,
            url=url,
            price=told.amount,
            currency=told.currency,
            price_basis=told.basis,
            rent_period=rent_period,
        )
        return Found(sighting, hints, dated, is_promoted, shows_others)

    def listing(self, response: Response, price: Price | None = None, **fields: Any) -> Listing:
        """The listing of a page, with what every one has; a field that is given counts."""
        url, told = self.shown_at(response), price or Price()
        known = {
            "portal": self.name,
            "ref": self.ref_of(url) or "",
            "url": url,
            "country": self.country,
            "price": told.amount,
            "currency": told.currency,
            "price_basis": told.basis,
            "parser_version": self.parser_version,
        }
        return Listing(**known | fields)

    def ref_of(self, url: str) -> str | None:
        """The portal's id in a listing's address; None for any other address."""
        found = self.listing_path.search(url_path(self.site, url))
        return found["ref"] if found else None

    # ----- what is known of homes

    def parse_page(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        return self.parse_listing(response, **hints)

    def ask_page(self, url: str) -> Request:
        return self.ask_listing(url)

    def seen(self, shown: Sequence[Result]) -> Iterator[Any]:
        """Of a listing also that it is there, and its price."""
        yield from super().seen(shown)
        if sightings := tuple(each.sighting for each in shown if isinstance(each, Found)):
            yield Sightings(sightings)

    async def wanted(self, links: list[Any], mode: str | None) -> list[Any]:
        """Those whose own page has to be read: all; in a sweep the new, the changed, the long unread and those that
        show others; in an incremental run the new."""
        if mode not in ("sweep", "incremental") or not links:
            return links
        known = await store_of(self.crawler).ask(lambda store: store.known(self.name, [each.ref for each in links]))
        if mode == "incremental":
            return [each for each in links if each.ref not in known]
        now = datetime.now(UTC)
        return [each for each in links if each.shows_others or is_news(each.sighting, known.get(each.ref), now)]

    async def revisits(self, items: Sequence[Any]) -> Mapping[str, dict[str, Any]]:
        """But for those whose contacts are wanted and not kept, and those that are let for another period now."""
        if not items:
            return {}
        asked = type(self).ask_telephones is not AskingSpider.ask_telephones
        contacts: Source | None = ("asked" if asked else "page") if self.crawler.settings.getbool("CONTACTS") else None
        refs = [each.ref for each in items]
        known = await store_of(self.crawler).ask(
            lambda store: store.validators(self.name, refs, self.parser_version, contacts)
        )
        periods = {each.ref: each.rent_period for each in items}
        return {
            ref: {"ref": ref, "url": page.url, "etag": page.etag, "last_modified": page.last_modified}
            for ref, page in known.items()
            if periods[ref] in (None, page.rent_period)
        }

    def unchanged(self, response: Response) -> list[Any]:
        ref = response.meta["validators"]["ref"]
        return [Sighting(portal=self.name, ref=ref, url=self.shown_at(response), is_read=True)]

    async def read_page(self, response: Response, **hints: Any) -> AsyncIterator[Any]:
        """What is gone is weighed when its job is over, so there has to be one."""
        async for each in super().read_page(response, **hints):
            if isinstance(each, Gone) and response.request is not None:
                await self._open_job(response.request)
            yield each
            if isinstance(each, Listing) and (asking := self.telephone_request(response, each.ref, each.url)):
                yield asking

    read_listing = read_page  # by which name requests may know it

    def mapped(self, url: str) -> AnyLink | None:
        return self.found(url) if self.ref_of(url) else None

    def gone(self, response: Response, reason: ListingGone) -> list[Any]:
        """Of the listing that was asked for, wherever the portal sent us."""
        asked = response.meta.get("shown_at") or response.meta.get("redirect_urls", [response.url])[0]
        ref = self.ref_of(asked) or ""
        return [Gone(portal=self.name, ref=ref, url=asked, evidence=reason.evidence, detail=str(reason))]
