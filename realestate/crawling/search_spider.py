"""SearchSpider: the base of every spider. Searches lead to pages, and pages to items of any kind.

It decides which requests are made, in which stage and order, and what happens to each response. It does not know what
an item is: `PortalSpider` adds what is special about homes.
"""

import asyncio
import logging
import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response, TextResponse
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.url import url_is_from_any_domain
from scrapy_redis.spiders import RedisSpider
from twisted.python.failure import Failure

from realestate.crawling import seeds, sitemaps
from realestate.crawling.page_outcomes import (
    GONE_STATUSES,
    Banned,
    BrokenPage,
    ItemGone,
    OtherItem,
    PageOutcomes,
    Stage,
)
from realestate.crawling.page_requests import PageRequests, requested_url, search_of
from realestate.crawling.paging import Numbers, Paging
from realestate.crawling.results import AnyLink, Link, Result, Results
from realestate.crawling.scope import Scope
from realestate.crawling.search_reader import SearchReader
from realestate.crawling.search_splitting import Axis
from realestate.crawling.seed_reader import SeedReader
from realestate.crawling.site_address import is_on_site, simulated_portals
from realestate.crawling.watermark import Newest, SearchProgress
from realestate.items import Evidence
from realestate.parsing.embedded import at, decoded
from realestate.parsing.hosts import PRIVATE_ADVICE, is_public_address
from realestate.parsing.urls import absolute_url, path_match
from realestate.privacy import clean_error
from realestate.queue.credentials import without_credentials
from realestate.queue.fleet import Fleet, fleet_of
from realestate.queue.page_budget import PageTooSlow
from realestate.queue.plain_urls import request_to
from realestate.storage.handle import has_store, provide_store
from realestate.storage.no_store import NoStore

logger = logging.getLogger(__name__)


class SearchSpider(RedisSpider):  # type: ignore[misc]
    """One site of any kind.

    A subclass names its site, its searches, its way of paging and the form of an item's URL. It writes `parse_search`
    (returns the Results of one search page) and `parse_page` (yields the items of one page). It raises BrokenPage or
    ItemGone and catches nothing: each outcome is counted as `page/<stage>/<outcome>`, and each failure becomes a dead
    letter.
    """

    kind: ClassVar[str]
    """What it collects: `listing`, or one of `items.others`."""

    site: ClassVar[str]
    """The site's URL, without a slash at the end."""

    searches: ClassVar[tuple[str, ...]]
    """Paths of the searches that together show every item. `realestate crawl` starts with them."""

    search_path: ClassVar[re.Pattern[str] | None] = None
    """Matches the path of a search's URL. None: any URL that is not an item's is taken for a search."""

    item_path: ClassVar[re.Pattern[str] | None] = None
    """Matches the path of an item's URL. Its group `ref` is the site's id. Any other URL is a search."""

    item_form: ClassVar[str]
    """The shortest path of an item's URL: "/items/{ref}"."""

    paging: ClassVar[Paging] = Numbers()
    """How one page of a search leads to the others."""

    axes: ClassVar[tuple[Axis, ...]] = ()
    """How a search with more results than the site shows is split."""

    newest_first: ClassVar[Newest | None] = None
    """What the searches are sorted by. With None, an incremental job reads all their pages."""

    rate_limit: ClassVar[float | None] = None
    """Requests per second, if this site needs fewer than the fleet's `RATE_LIMIT`."""

    callback_prefixes: ClassVar[tuple[str, ...]] = ("read_", "parse_", "on_")
    """A request stored in Redis may call only methods with these prefixes."""

    reads_its_seeds: ClassVar[bool] = True
    """`start` reads the seeds, so the queue does not."""

    any_host: ClassVar[bool] = False
    """Whether URLs of all hosts belong to it. `is_of` then says which are public."""

    allow_private: bool = False
    """The setting ALLOW_PRIVATE_ADDRESSES."""

    robots: ClassVar[str] = "obeyed"
    """Whether its robots.txt is obeyed. If not, this says why."""

    terms: ClassVar[str]
    """URL of its terms of use. Read them before you crawl."""

    checked_on: ClassVar[date]
    """The day when this file was last compared with the site."""

    handle_httpstatus_list: Sequence[int] = GONE_STATUSES

    page_marks: ClassVar[tuple[bytes, ...]] = ()
    """Bytes that only real pages of the site contain. A page with one of them is not checked for being a ban page."""

    redirects_gone: ClassVar[bool] = False
    """Whether the site redirects from an item that is gone to another of its pages."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.outcomes = PageOutcomes(self)
        self.requests = PageRequests(self)
        self.seed_reader = SeedReader(self)
        self.search_reader = SearchReader(self)

    # ----- methods that a portal writes, if the default is not right for it

    def parse_search(self, response: TextResponse) -> Results:
        """Return what a search page shows."""
        raise NotImplementedError

    def parse_page(self, response: TextResponse, **hints: Any) -> Iterator[Any]:
        """Yield the items of a page, and links to other items on it. `hints` are values that only the search page
        has."""
        raise NotImplementedError

    def search_request(self, search: str) -> Request:
        """The request for a page of a search, if it is more than a GET of its URL."""
        return request_to(search)

    def page_request(self, url: str) -> Request:
        """The request for an item, if its data is served at another URL than its page."""
        return request_to(url)

    def sign(self, request: Request) -> None:
        """Set headers that must be fresh, such as a signature. Called just before the request is sent."""

    def wrapped(self, document: bytes) -> bytes:
        """A document that was saved without the page around it, put into such a page. Used by `realestate portal`.

        By default it is the bare JSON of Next.js: of `__NEXT_DATA__`, or of `/_next/data/…`, which begins one level
        lower."""
        value = decoded(document)
        if isinstance(at(value, "pageProps"), dict):
            document = b'{"props": ' + document.removeprefix(BOM_UTF8) + b"}"
        elif not isinstance(at(value, "props"), dict):
            return document
        data = document.removeprefix(BOM_UTF8).replace(b"</", b"<\\/")
        return b'<script id="__NEXT_DATA__" type="application/json">' + data + b"</script>"

    def ref_in(self, document: str) -> str | None:
        """The site's id of an item, found in a document that was saved without its URL. Used by `realestate portal`."""
        return None

    # ----- methods that a portal calls

    def link(self, url: str, *, dated: datetime | None = None, is_promoted: bool = False, **hints: Any) -> Link:
        """A link to an item on a search page. Raises BrokenPage if the URL is not an item's."""
        url = absolute_url(self.site, url)
        ref = self.ref_of(url)
        if ref is None:
            raise BrokenPage(f"not the URL of a {self.kind}: {url}")
        return Link(ref, url, hints, dated, is_promoted)

    def ref_of(self, url: str) -> str | None:
        """The site's id in the URL of an item; None for any other URL."""
        found = path_match(self.item_path, self.site, url) if self.item_path else None
        return found["ref"] if found else None

    def url_of(self, ref: str) -> str:
        """A URL of the item with this id. The site may redirect it to a longer one."""
        return absolute_url(self.site, self.item_form.format(ref=ref))

    def shown_at(self, response: Response) -> str:
        """The URL at which visitors see the item."""
        return str(response.meta.get("shown_at", response.url))

    def search_of(self, response: Response) -> str:
        """The URL of the search whose page this is, wherever the site redirected us."""
        return search_of(response)

    def is_first(self, response: Response) -> bool:
        """Whether this is the first page of its search."""
        return self.paging.is_first(search_of(response))

    # ----- methods that a base class of one kind of item overrides

    async def items_and_links(
        self, results: Sequence[Result], mode: str | None, filter: str = ""
    ) -> tuple[list[Any], list[Any]]:
        """The items that a search page yields without a further request, and the links whose own page has to be
        fetched in a job of this mode, with this filter."""
        items = [each for each in results if not isinstance(each, AnyLink)]
        return items, [each for each in results if isinstance(each, AnyLink)]

    async def validators_of(self, items: Sequence[Any]) -> Mapping[str, dict[str, Any]]:
        """By ref, the stored ETag and Last-Modified of the items whose page may be answered with "not modified"."""
        return {}

    def unchanged_items(self, response: Response) -> list[Any]:
        """The items to store if the page has not changed since the last time."""
        return []

    def gone_items(self, response: Response, reason: ItemGone) -> list[Any]:
        """The items to store if the page's item is gone."""
        return []

    def link_from_sitemap(self, url: str) -> AnyLink | None:
        """The link to an item of a sitemap; None if the URL is not an item's."""
        return self.link(url) if self.ref_of(url) else None

    # ----- the site's address

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider: Self = super().from_crawler(crawler, *args, **kwargs)
        spider.allow_private = crawler.settings.getbool("ALLOW_PRIVATE_ADDRESSES")
        if simulator := crawler.settings.get("SIMULATOR_URL"):
            spider.site = cls.address(simulator)  # type: ignore[misc]
            spider.allowed_domains = [urlsplit(spider.site).hostname]
        return spider

    @classmethod
    def address(cls, simulator: str | None) -> str:
        """The site's URL: its own, or the one that a simulator gives it."""
        if not simulator:
            return cls.site
        addresses = simulated_portals(simulator)
        if cls.name not in addresses:
            where = without_credentials(simulator)
            raise ValueError(f"the simulator at {where} has no portal {cls.name}: unset SIMULATOR_URL for its own site")
        return addresses[cls.name]

    @classmethod
    def is_served_by(cls, simulator: str) -> bool:
        return cls.name in simulated_portals(simulator)

    @classmethod
    def seed_urls(cls, simulator: str | None = None) -> list[str]:
        """The URLs of the searches that together show every item."""
        return [cls.address(simulator) + path for path in cls.searches]

    @classmethod
    def scoped_urls(cls, scope: Scope, simulator: str | None = None) -> list[str]:
        """The URLs of the searches that together show every item of the scope. Raises ValueError if there are none."""
        paths = cls.searches_for(scope)
        if not paths:
            raise ValueError(f"{cls.name} has no search for {scope}")
        return [cls.address(simulator) + path for path in paths]

    def owns(self, url: str) -> bool:
        """Whether the URL belongs to this site."""
        return (self.any_host and self.allow_private) or self.is_of(self.site, url)

    @classmethod
    def is_of(cls, site: str, url: str) -> bool:
        """Whether the URL belongs to this portal, which is reached at `site`."""
        return is_on_site(url, site, cls.allowed_domains)

    def may_follow(self, url: str, page: str) -> bool:
        """Whether a URL that a page names may be fetched, or a page may redirect to it.

        `page` is the URL that was requested. All URLs that a site gives pass here: links, sitemaps, further pages and
        redirects.
        """
        return self.owns(url)

    @classmethod
    def refuses(
        cls, url: str, simulator: str | None = None, *, allow_private: bool = False, any_page: bool = False
    ) -> str | None:
        """Why the URL cannot be a seed of this portal; None if it can. `allow_private` is ALLOW_PRIVATE_ADDRESSES. With
        `any_page`, each page of the site is accepted."""
        try:
            site = cls.address(simulator)
        except ValueError as error:
            return str(error)
        try:
            seeds.parse(url.encode())
            if not cls.any_host and not cls.is_of(site, url):
                raise seeds.BadSeed(f"not a URL of {site}")
            if not (allow_private or is_public_address(url) or (simulator and cls.is_of(site, url))):
                return f"{without_credentials(url)!r} is not a public address; {PRIVATE_ADVICE}"
            if not any_page and not cls.is_item(site, url):
                cls.search_url(url)
            return None
        except ValueError as error:
            search = site + cls.searches[0] if cls.searches else site
            return f"{cls.name} cannot use {without_credentials(url)}: {error}; a search looks like {search}"

    @classmethod
    def is_item(cls, site: str, url: str) -> bool:
        """Whether it is the URL of an item."""
        return cls.item_path is not None and path_match(cls.item_path, site, url) is not None

    @classmethod
    def search_from_browser(cls, url: str) -> str:
        """The URL under which the spider reads a search that somebody copied from the browser. Raises BadSeed."""
        if cls.search_path is not None and not cls.search_path.search(urlsplit(url).path):
            raise seeds.BadSeed("neither a search nor an item")
        return url

    @classmethod
    def handles_request(cls, request: Request) -> bool:
        """Scrapy asks, to find the spider of a URL. Scrapy itself does not find that of a site with a port."""
        url = urlsplit(request.url)
        if url.port is None or url.port != urlsplit(cls.site).port:
            return bool(super().handles_request(request))
        return url_is_from_any_domain(f"{url.scheme}://{url.hostname}", cls.allowed_domains)

    @classmethod
    def search_url(cls, url: str) -> str:
        """The URL under which the spider reads the search of a seed. Raises BadSeed."""
        return url if sitemaps.is_sitemap_url(url) else cls.search_from_browser(url)

    @classmethod
    def site_filters(cls) -> frozenset[str]:
        """The parts of a scope that the site's searches apply."""
        return frozenset()

    @classmethod
    def searches_for(cls, scope: Scope) -> list[str]:
        """Paths of the searches that together show every item of the scope. Raises ValueError if it has none."""
        raise ValueError(f"{cls.name} has no operation, type or city")

    # ----- seeds

    @property
    def fleet(self) -> Fleet:
        """The fleet this spider works for."""
        fleet = fleet_of(self.crawler)
        assert fleet is not None
        return fleet

    def setup_redis(self, crawler: Crawler | None = None) -> None:
        """Do nothing. scrapy-redis would open a second connection and read seeds only when idle; `start` reads them
        all the time, over the fleet's connection."""

    async def start(self) -> AsyncIterator[Request]:
        """Yield the requests of the seeds, as they come. A spider that cannot read them is closed: Scrapy would only
        log the error, and the exit code would be 0."""
        try:
            async for request in self.seed_reader.requests():
                yield request
        except CloseSpider:
            return  # it is being closed already
        except Exception:
            logger.exception("seed/failed: portal=%s: seeds can no longer be read", self.name)
            self._closing = asyncio.ensure_future(self.crawler.engine.close_spider_async(reason="start_failed"))

    def make_request_from_data(self, data: bytes) -> Request | None:
        """The request of a seed; None if the seed is refused. scrapy-redis has this method too."""
        return self.seed_reader.request_from(data)

    # ----- requests

    def seed_request(self, seed: seeds.Seed) -> Request:
        """The request that a seed asks for: of an item, or of a search that is planned first."""
        return self.requests.of_seed(seed)

    def any_request(self, url: str) -> Request:
        """The request for any page of the site, as a crawl would make it. Used by `realestate portal`."""
        request = self.requests.for_item(url) if self.ref_of(url) else self.requests.for_search(url, "plan")
        request.meta.update(mode="full")
        return request.replace(dont_filter=True)

    def check(
        self, url: str, job: str, mode: str, rent_period: str | None = None, validators: dict[str, Any] | None = None
    ) -> Request:
        """The request for the page of an item that no search page of the job showed."""
        hints = {"rent_period": rent_period} if rent_period else None
        request = self.requests.for_item(url, hints, validators)
        request.meta.update(job=job, mode=mode)
        return request

    # ----- `scrapy parse <url>` and requests without a callback

    async def parse(self, response: Response, **hints: Any) -> AsyncIterator[Any]:
        """Yield the items of a page, and requests for the pages that it leads to. Needs neither a fleet nor a store."""
        if not has_store(self.crawler):
            provide_store(self.crawler, NoStore())
        response = await self._own_response(response)
        stage: Stage = "extract" if self.ref_of(self.shown_at(response)) else "plan"
        for made in self.parsed(response, stage, **hints):
            if not isinstance(made, Results):
                yield made if not isinstance(made, AnyLink) else self.requests.for_item(made.url, made.carried)
                continue
            search = search_of(response)
            for part in made.searches:
                yield self.requests.for_search(part, "plan")
            for request in self.search_reader.further_pages(search, made, SearchProgress()):
                yield request
            for each in made.found:
                yield each if not isinstance(each, AnyLink) else self.requests.for_item(each.url, each.carried)

    async def _own_response(self, response: Response) -> Response:
        """The response to the portal's own request for this address, if it is another one: many portals have an API."""
        own = self.seed_request(seeds.Seed(url=response.url))
        requested = response.request
        assert requested is not None
        if (own.url, own.method, own.body) == (requested.url, requested.method, requested.body):
            requested.meta.update(own.meta)
            return response
        found: Response = await self.crawler.engine.download_async(own)
        found.request = found.request or own
        return found

    # ----- what happens to a search page

    async def read_search(self, response: Response) -> AsyncIterator[Any]:
        """The callback of a search page. Queued requests refer to it by this name."""
        assert response.request is not None
        if response.status in GONE_STATUSES and not sitemaps.is_robots(response):
            self.outcomes.failed(response.request, HttpError(response))  # an item may be gone, a search may not
            return
        for results in self._read(response, response.meta["stage"]):
            self.crawler.stats.inc_value("search/result/unreadable", results.unreadable)
            self.crawler.stats.inc_value("search/cut_short", int(results.is_cut))
            async for each in self.search_reader.read(results, response):
                yield each

    # ----- what happens to an item's page

    def checks_scope_of_pages(self, meta: Mapping[str, Any]) -> bool:
        """Whether only an item's page shows whether the job wants it. Then the job's limit counts the items that were
        found to be wanted (`takes`), and every page is fetched whole."""
        return False

    async def takes(self, ref: str, response: Response) -> bool:
        """Whether the limit of the job, if it has one that counts wanted items, has room for this one."""
        meta = response.meta
        if "limit" not in meta or not self.checks_scope_of_pages(meta):
            return True
        granted, _ = await self.fleet.grant(meta["job"], f"item:{ref}", 1, meta["limit"])
        return granted > 0

    async def read_page(self, response: Response, **hints: Any) -> AsyncIterator[Any]:
        """The callback of an item's page. Queued requests refer to it by this name."""
        assert response.request is not None
        if "unchanged" in response.flags:
            self.outcomes.parsed(response)
            self.outcomes.record("unchanged", response.request)
            for each in self.unchanged_items(response):
                yield each
            return
        made = self._read(response, "extract", **hints)
        if len(made) == 1:
            response.flags.append("alone")  # its version may be stored: see `pipelines.store.page_version`
        for each in made:
            if not isinstance(each, AnyLink):
                yield each
        links = self.search_reader.followed([each for each in made if isinstance(each, AnyLink)], response)
        async for each in self.search_reader.items_and_requests(links, response):
            yield each

    def on_failure(self, failure: Failure) -> None:
        """The errback of every request. Queued requests refer to it by this name."""
        request: Request = failure.request  # type: ignore[attr-defined]
        self.outcomes.failed(request, failure.value)
        self.fleet.finished(request)

    def parsed(self, response: Response, stage: Stage, **hints: Any) -> Iterator[Any]:
        """Yield what the portal's parser returns for a page, fetched now or stored earlier: Results, or items.

        Raises ItemGone, Banned or BrokenPage if the page is one of these."""
        if not self.may_follow(response.url, requested_url(response)):
            raise BrokenPage("redirected to another site")
        if stage != "extract" and sitemaps.is_robots(response):
            yield sitemaps.named(response, lambda url: self.may_follow(url, response.url))
        elif stage != "extract" and sitemaps.is_sitemap(response):
            yield sitemaps.read(response, self.link_from_sitemap)
        elif stage != "extract":
            yield self.parse_search(self._checked(response))
        else:
            page = self._checked(response)
            self._check_still_there(response)
            yield from self._of_asked_item(response, self.parse_page(page, **hints))

    def _of_asked_item(self, response: Response, made: Iterator[Any]) -> Iterator[Any]:
        """What a page yields, if its first item is the one that was asked for.

        A site may answer with the page of another item: a cache's mistake, or a suggestion instead of one that is gone.
        """
        asked = self.ref_asked_for(response)
        for number, each in enumerate(made):
            ref = getattr(each, "ref", None)
            if number == 0 and asked and ref and ref != asked and not isinstance(each, AnyLink):
                if "redirect_urls" in response.meta and ref == self.ref_of(response.url):
                    raise ItemGone(f"redirected to {response.url}, the page of another {self.kind}", "absent")
                raise OtherItem(ref, asked)
            yield each

    def ref_asked_for(self, response: Response) -> str | None:
        """The site's id in the URL that was requested, before any redirect. None if the site's URLs have no form."""
        if getattr(self, "listing_path", self.item_path) is None:
            return None
        return self.ref_of(response.meta.get("shown_at") or response.meta.get("redirect_urls", [response.url])[0])

    def _read(self, response: Response, stage: Stage, **hints: Any) -> list[Any]:
        """What the parser returns. An exception of a parser does not stop the worker; each outcome is recorded."""
        assert response.request is not None
        request = response.request
        try:
            made = list(self.parsed(response, stage, **hints))
        except ItemGone as reason:
            self.outcomes.record("gone", request, reason)
            return self.gone_items(response, reason)
        except Banned as ban:
            self.outcomes.banned(request, ban)
            return []
        except PageTooSlow as error:  # it is a dead letter already
            self.outcomes.record("too_slow", request, error, level=logging.WARNING)
            return []
        except Exception as error:
            self._unreadable(response, error)
            return []
        self.outcomes.parsed(response)
        self.outcomes.record("ok", request)
        return made

    def _unreadable(self, response: Response, error: Exception) -> None:
        """A page that cannot be parsed is fetched once more, or taken for a ban page, or is broken."""
        assert response.request is not None
        clean_error(error, getattr(self, "country", ""))  # it may name a value of the page, such as a telephone number
        if self.outcomes.fetched_again(response.request):
            return
        if "thin" in response.flags:
            ban = Banned("thin", f"much smaller than other pages, and cannot be parsed: {error}")
            self.outcomes.banned(response.request, ban)
            return
        response.flags.append("broken")  # SnapshotMiddleware stores such a page
        self.outcomes.broken(response.request, error)

    def _checked(self, response: Response) -> TextResponse:
        """The response, if it is a text of this site and its item is not gone."""
        if response.status in GONE_STATUSES:
            raise ItemGone(f"status {response.status}", "404" if response.status == 404 else "410")
        if not isinstance(response, TextResponse):
            raise BrokenPage("not a text document")
        return response

    def _check_still_there(self, response: Response) -> None:
        """Raise ItemGone if the site redirected from the item's page to a page that is not an item's."""
        if "shown_at" not in response.meta and not self.ref_of(response.url):
            evidence: Evidence = "marker" if self.redirects_gone else "absent"
            raise ItemGone(f"redirected to {response.url}", evidence)
