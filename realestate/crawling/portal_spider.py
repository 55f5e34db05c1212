"""PortalSpider: the base of every portal of homes. It adds to SearchSpider what is special about homes."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import Response, TextResponse

from realestate.crawling.page_outcomes import BrokenPage, ItemGone
from realestate.crawling.results import AnyLink, Found, Result, Results
from realestate.crawling.search_spider import PRIORITY, SearchSpider
from realestate.crawling.telephones import TelephoneRequests
from realestate.items import Gone, Listing, Sighting, Sightings, Telephones
from realestate.parsing.prices import Price
from realestate.parsing.urls import absolute_url, url_path
from realestate.queue.plain_urls import request_to
from realestate.storage.contacts import Source
from realestate.storage.handle import store_of

__all__ = ["PRIORITY", "PortalSpider"]

#: A listing's page is fetched again after this time, even if its search page shows nothing new.
STALE = timedelta(days=7)


def is_news(sighting: Sighting, known: Any, now: datetime) -> bool:
    """Whether the listing's own page has to be fetched, given what the store knows about it."""
    if known is None or known.status not in ("active", "reserved"):
        return True
    has_new_price = sighting.price is not None and sighting.price != known.price
    return has_new_price or bool(now - known.last_fetched_at > STALE)


class PortalSpider(SearchSpider):
    """One property portal.

    A portal names its site, its searches, its way of paging and the form of a listing's URL. It writes `parse_search`
    (returns the Results of one page) and `parse_listing` (yields one Listing). It raises BrokenPage or ListingGone and
    catches nothing: each outcome is counted as `page/<stage>/<outcome>`, and each failure becomes a dead letter.
    """

    kind = "listing"

    listing_path: ClassVar[re.Pattern[str]]
    """Matches the path of a listing's URL. Its group `ref` is the portal's id. Any other URL is a search."""

    country: ClassVar[str]
    currency: ClassVar[str]
    timezone: ClassVar[ZoneInfo]

    parser_version: ClassVar[int] = 1
    """Raise it when the parser returns other values for the same page."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.telephones = TelephoneRequests(self)

    # ----- methods that a portal writes

    def parse_search(self, response: TextResponse) -> Results:
        """Return what a search page shows."""
        raise NotImplementedError

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        """Yield the listing of a page, and the other listings it shows, such as the flats of a project. `hints` are
        values that only the search page has."""
        raise NotImplementedError

    def listing_request(self, url: str) -> Request:
        """The request for a listing, if its data is served at another URL than its page."""
        return request_to(url)

    def telephone_request(self, response: TextResponse) -> Request | None:
        """The request for the telephones of the listing on this page; None if there is none."""
        return None

    def parse_telephones(self, response: TextResponse) -> list[str]:
        """The numbers in the response to `telephone_request`, as they are written there."""
        raise NotImplementedError

    # ----- methods that a portal calls

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
        """A listing on a search page, with its price if the page shows it. Raises BrokenPage if the URL is not a
        listing's."""
        url = absolute_url(self.site, url)
        ref = self.ref_of(url)
        if ref is None:
            raise BrokenPage(f"not the URL of a listing: {url}")
        price = price or Price()
        sighting = Sighting(
            portal=self.name,
            ref=ref,
            url=url,
            price=price.amount,
            currency=price.currency,
            price_basis=price.basis,
            rent_period=rent_period,
        )
        return Found(sighting, hints, dated, is_promoted, shows_others)

    def listing(self, response: Response, price: Price | None = None, **fields: Any) -> Listing:
        """The listing of a page. Fields that every listing has are filled in; those in `fields` replace them."""
        url = self.shown_at(response)
        price = price or Price()
        known = {
            "portal": self.name,
            "ref": self.ref_of(url) or "",
            "url": url,
            "country": self.country,
            "price": price.amount,
            "currency": price.currency,
            "price_basis": price.basis,
            "parser_version": self.parser_version,
        }
        return Listing(**known | fields)

    def ref_of(self, url: str) -> str | None:
        """The portal's id in the URL of a listing; None for any other URL."""
        found = self.listing_path.search(url_path(self.site, url))
        return found["ref"] if found else None

    # ----- what is special about homes

    def parse_page(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        return self.parse_listing(response, **hints)

    def page_request(self, url: str) -> Request:
        return self.listing_request(url)

    def items_shown(self, results: Sequence[Result]) -> Iterator[Any]:
        """Also one Sightings item: which listings the page shows, with their prices."""
        yield from super().items_shown(results)
        sightings = tuple(each.sighting for each in results if isinstance(each, Found))
        if sightings:
            yield Sightings(sightings)

    async def links_to_fetch(self, links: list[Any], mode: str | None) -> list[Any]:
        """In a sweep: new, changed and stale listings and those that show others. In an incremental job: new ones.
        Otherwise all."""
        if mode not in ("sweep", "incremental") or not links:
            return links
        known = await store_of(self.crawler).ask(lambda store: store.known(self.name, [each.ref for each in links]))
        if mode == "incremental":
            return [each for each in links if each.ref not in known]
        now = datetime.now(UTC)
        return [each for each in links if each.shows_others or is_news(each.sighting, known.get(each.ref), now)]

    async def validators_of(self, items: Sequence[Any]) -> Mapping[str, dict[str, Any]]:
        """Without the listings whose contacts are wanted and not stored, and those whose rent period has changed:
        these pages are fetched whole. With FEEDS (`scrapy crawl … -o file`) all are: a page that is not transferred
        could not be exported."""
        if not items or self.crawler.settings.getdict("FEEDS"):
            return {}
        refs = [each.ref for each in items]
        contacts = self._contacts_source()
        known = await store_of(self.crawler).ask(
            lambda store: store.validators(self.name, refs, self.parser_version, contacts)
        )
        periods = {each.ref: each.rent_period for each in items}
        return {
            ref: {"ref": ref, "url": page.url, "etag": page.etag, "last_modified": page.last_modified}
            for ref, page in known.items()
            if periods[ref] in (None, page.rent_period)
        }

    def _contacts_source(self) -> Source | None:
        """Where this portal's contacts come from: the page, or a second request. None if they are not wanted."""
        if not self.telephones.is_enabled:
            return None
        has_second_request = type(self).telephone_request is not PortalSpider.telephone_request
        return "asked" if has_second_request else "page"

    def unchanged_items(self, response: Response) -> list[Any]:
        ref = response.meta["validators"]["ref"]
        return [Sighting(portal=self.name, ref=ref, url=self.shown_at(response), is_read=True)]

    async def read_page(self, response: Response, **hints: Any) -> AsyncIterator[Any]:
        """The callback of a listing's page."""
        async for each in super().read_page(response, **hints):
            if isinstance(each, Gone) and response.request is not None:
                await self.seed_reader.open_job(response.request)  # which listings are gone is decided when a job ends
            yield each
            if isinstance(each, Listing):
                request = self.telephones.request_for(response, each.ref, each.url)
                if request is not None:
                    yield request

    #: Requests in the queue may refer to the callback by this name.
    read_listing = read_page

    def read_telephones(self, response: Response, ref: str, url: str) -> Iterator[Telephones]:
        """The callback of a telephone request. Queued requests refer to it by this name."""
        return self.telephones.read(response, ref, url)

    def link_from_sitemap(self, url: str) -> AnyLink | None:
        return self.found(url) if self.ref_of(url) else None

    def gone_items(self, response: Response, reason: ItemGone) -> list[Any]:
        """The listing that was requested is gone, wherever the portal redirected us."""
        url = response.meta.get("shown_at") or response.meta.get("redirect_urls", [response.url])[0]
        ref = self.ref_of(url) or ""
        return [Gone(portal=self.name, ref=ref, url=url, evidence=reason.evidence, detail=str(reason))]
