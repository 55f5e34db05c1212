"""PortalSpider: the base of every portal of homes. It adds to SearchSpider what is special about homes."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from zlib import crc32
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import Response, TextResponse

from realestate.crawling.page_outcomes import BrokenPage, ItemGone
from realestate.crawling.page_requests import PRIORITY
from realestate.crawling.photos import PhotoRequests
from realestate.crawling.results import AnyLink, Card, Found, Result, Results
from realestate.crawling.scope import Covers, Scope, selected, slug
from realestate.crawling.search_spider import SearchSpider
from realestate.crawling.telephones import TelephoneRequests
from realestate.items import Gone, Listing, Sighting, Sightings, Status, Telephones
from realestate.parsing.prices import Price
from realestate.parsing.urls import absolute_url, path_match
from realestate.queue.plain_urls import request_to
from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.contacts import Source
from realestate.storage.handle import store_of
from realestate.storage.prices import MEANING
from realestate.storage.store import CardRead, Known

__all__ = ["PRIORITY", "PortalSpider"]

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def is_changed(found: Found, known: Known) -> bool:
    """Whether the search page shows a change for which the listing's own page has to be read.

    What it shows is compared with what it showed when that page was last read. A new amount needs no page, nor the new
    date that comes with it: the search page has shown all of the change. But charges, which mostly change with the
    rent, may be on the listing's page only."""
    new = Card.read(found.card) if found.card else None
    old = Card.read(known.card) if known.card else None
    if new is None or old is None:
        return not _is_as_stored(found.sighting, known, ("price", *MEANING, "status"))
    if new.others != old.others:
        return True
    if new.amount == old.amount:
        return new.dated != old.dated
    may_have_new_charges = known.charges is not None and not found.shows_charges
    return known.price is None or may_have_new_charges or not _is_as_stored(found.sighting, known, MEANING)


def _is_as_stored(sighting: Sighting, known: Known, names: Sequence[str]) -> bool:
    shown = {name: getattr(sighting, name) for name in names}
    return all(value is None or value == getattr(known, name) for name, value in shown.items())


def is_due(ref: str, read_at: datetime, now: datetime, days: float) -> bool:
    """Whether a listing's page has to be read again although its search page shows nothing new.

    Each listing has its own moment in every period of `days` days. So each day the same share is due, also if all were
    read on one day. Never, if `days` is 0."""
    if days <= 0:
        return False
    period = timedelta(days=days)
    moment = _EPOCH + period * (crc32(ref.encode()) / 2**32)
    return (read_at - moment) // period != (now - moment) // period


def is_news(found: Found, known: Known | None, now: datetime, days: float) -> bool:
    """Whether the listing's own page has to be fetched, given what the store knows about it."""
    if known is None or known.status in OFF_THE_MARKET:
        return True
    return is_changed(found, known) or is_due(found.ref, known.last_fetched_at, now, days)


def claimed(found: Found, known: Known | None, mode: str | None) -> Sighting:
    """Return the sighting without the claims on which the listing's own page is more reliable.

    That a listing is reserved, or its price on request, counts if the search page has changed since the listing's own
    page was read. In a full job its page is read anyway. Otherwise a portal whose two pages disagree would make new
    events in every job."""
    sighting = found.sighting
    is_new = mode in ("sweep", "incremental") and known is not None and is_changed(found, known)
    if is_new or (sighting.status is None and sighting.price_basis != "on_request"):
        return sighting
    basis = None if sighting.price_basis == "on_request" else sighting.price_basis
    return replace(sighting, status=None, price_basis=basis)


def _in_scope(links: list[Any], filter: str) -> list[Any]:
    """The links without those that the search page shows in another city than the job's."""
    if not filter:
        return links
    scope = Scope.parse(filter)
    return [each for each in links if scope.may_include(each.city)]


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

    search_words: ClassVar[Mapping[str, Covers]] = {}
    """Words in the URLs of searches, and what searches with such a word show."""

    whole_country: ClassVar[str | None] = None
    """The part of a search's URL that means the whole country. The name of a city can stand in its place."""

    parser_version: ClassVar[int] = 1
    """Raise it when the parser returns other values for the same page."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.telephones = TelephoneRequests(self)
        self.photos = PhotoRequests(self)

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

    @classmethod
    def site_filters(cls) -> frozenset[str]:
        """The parts of a scope that the site's searches apply: `operation`, `type`, `city`."""
        covered = cls.search_words.values()
        return frozenset(
            name
            for name, is_applied in (
                ("operation", any(each.operation for each in covered)),
                ("type", any(each.types for each in covered)),
                ("city", cls.whole_country is not None),
            )
            if is_applied
        )

    @classmethod
    def searches_for(cls, scope: Scope) -> list[str]:
        """Paths of the searches that together show every home of the scope. Raises ValueError if it has none."""
        searches = selected(cls.searches, cls.search_words, scope)
        if scope.city and cls.whole_country:
            searches = [each.replace(cls.whole_country, f"/{slug(scope.city)}", 1) for each in searches]
        return searches

    # ----- methods that a portal calls

    def found(
        self,
        url: str,
        price: Price | None = None,
        rent_period: Any = None,
        *,
        dated: datetime | None = None,
        modified: datetime | None = None,
        is_promoted: bool = False,
        shows_others: bool = False,
        shows_charges: bool = False,
        status: Status | None = None,
        shown: Any = None,
        city: str | None = None,
        **hints: Any,
    ) -> Found:
        """A listing on a search page, with its price and status if the page shows them. `dated` is the date by which
        the portal sorts, `modified` that of the last change if it is another. `shown` are other values that change when
        the advert does, such as its title; not the number of views. Raises BrokenPage if the URL is not a listing's."""
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
            status=status,
        )
        card = Card.of(sighting, (dated, modified), shown)
        return Found(sighting, hints, dated, is_promoted, shows_others, city, card, shows_charges)

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

    @classmethod
    def is_item(cls, site: str, url: str) -> bool:
        listing_path = getattr(cls, "listing_path", None)
        return listing_path is not None and path_match(listing_path, site, url) is not None

    def ref_of(self, url: str) -> str | None:
        """The portal's id in the URL of a listing; None for any other URL."""
        found = path_match(self.listing_path, self.site, url)
        return found["ref"] if found else None

    # ----- what is special about homes

    def parse_page(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        return self.parse_listing(response, **hints)

    def page_request(self, url: str) -> Request:
        return self.listing_request(url)

    async def items_and_links(
        self, results: Sequence[Result], mode: str | None, filter: str = ""
    ) -> tuple[list[Any], list[Any]]:
        """Also one Sightings item: which listings the page shows, with their prices, also those of other places. In a
        sweep the links are new, changed and due listings and those that show others. In an incremental job: new ones.
        Otherwise all. Listings that the filter excludes are not among the links."""
        items, links = await super().items_and_links(results, mode, filter)
        known: Mapping[str, Known] = {}
        if links and mode in ("sweep", "incremental"):
            refs = [each.ref for each in links]
            known = await store_of(self.crawler).ask(lambda store: store.known(self.name, refs))
        found = [each for each in links if isinstance(each, Found)]
        if found:
            items.append(Sightings(tuple(claimed(each, known.get(each.ref), mode) for each in found)))
        wanted = _in_scope(links, filter)
        if mode == "incremental":
            return items, [each for each in wanted if each.ref not in known]
        if mode == "sweep":
            news = self._news(wanted, known)
            return items + self._cards_seen(wanted, known, {each.ref for each in news}), news
        return items, wanted

    def _news(self, links: list[Any], known: Mapping[str, Known]) -> list[Any]:
        now = datetime.now(UTC)
        days = self.crawler.settings.getfloat("REREAD_DAYS")
        return [each for each in links if each.shows_others or is_news(each, known.get(each.ref), now, days)]

    def _cards_seen(self, links: list[Any], known: Mapping[str, Known], read: Set[str]) -> list[CardRead]:
        """The new cards of listings whose own page is not read, because a new price is all that changed."""
        return [
            CardRead(self.name, each.ref, each.card)
            for each in links
            if isinstance(each, Found)
            and each.card is not None
            and each.ref not in read
            and (stored := known.get(each.ref)) is not None
            and stored.card not in (None, each.card)
        ]

    def _is_wanted(self, listing: Listing, response: Response) -> bool:
        """Whether the listing is one that the job asked for."""
        filter = response.meta.get("filter")
        return not filter or Scope.parse(filter).includes(listing, self.site_filters())

    def checks_scope_of_pages(self, meta: Mapping[str, Any]) -> bool:
        return not Scope.parse(meta.get("filter", "")).parts().keys() <= self.site_filters()

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
            if isinstance(each, Listing) and not self._is_wanted(each, response):
                self.crawler.stats.inc_value("listing/out_of_scope")
                continue
            if isinstance(each, Listing) and not await self.takes(each.ref, response):
                self.crawler.stats.inc_value("listing/over_limit")
                continue
            if isinstance(each, Gone) and response.request is not None:
                await self.seed_reader.open_job(response.request)  # which listings are gone is decided when a job ends
            yield each
            if isinstance(each, Listing):
                request = self.telephones.request_for(response, each.ref, each.url)
                if request is not None:
                    yield request
                for each_photo in await self.photos.requests_for(each):
                    yield each_photo

    #: Requests in the queue may refer to the callback by this name.
    read_listing = read_page

    def read_telephones(self, response: Response, ref: str, url: str) -> Iterator[Telephones]:
        """The callback of a telephone request. Queued requests refer to it by this name."""
        return self.telephones.read(response, ref, url)

    async def read_photo(self, response: Response, ref: str) -> AsyncIterator[Any]:
        """The callback of a photo's request, which gives no item. Queued requests refer to it by this name."""
        await self.photos.read(response, ref)
        nothing: tuple[Any, ...] = ()
        for item in nothing:
            yield item

    def link_from_sitemap(self, url: str) -> AnyLink | None:
        return self.found(url) if self.ref_of(url) else None

    def gone_items(self, response: Response, reason: ItemGone) -> list[Any]:
        """The listing that was requested is gone, wherever the portal redirected us."""
        url = response.meta.get("shown_at") or response.meta.get("redirect_urls", [response.url])[0]
        ref = self.ref_of(url) or ""
        return [Gone(portal=self.name, ref=ref, url=url, evidence=reason.evidence, detail=str(reason))]
