"""SearchSpider: what collecting is, whatever is collected. Searches lead to pages, pages to items; this says what is
asked for, in which stage and order, and what becomes of a page. Nothing here knows what an item is."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, ClassVar
from urllib.parse import urljoin

from scrapy import Request
from scrapy.http import Response, TextResponse
from scrapy.spidermiddlewares.httperror import HttpError

from realestate.crawling import seeds, sitemaps
from realestate.crawling.counting import CountingSpider, Stage
from realestate.crawling.outcomes import GONE_STATUSES, Blocked, BrokenPage, ItemGone
from realestate.crawling.paging import Numbers, Paging
from realestate.crawling.planning import Axis, parts_of
from realestate.crawling.results import AnyLink, Link, Result, Results
from realestate.crawling.saved import Saved
from realestate.crawling.walk import Newest, Walk, watermark_of
from realestate.items import Evidence, Part
from realestate.parsing.urls import absolute_url, url_path
from realestate.queue.plain_urls import request_to
from realestate.storage.handle import store_of

#: Plans first, so that many workers soon find work. Items' pages before further search pages: what is found is stored
#: soon, and the queue stays short.
PRIORITY: dict[Stage, int] = {"plan": 20, "discover": 0, "extract": 10}


class SearchSpider(CountingSpider, Saved):
    """One site, of whatever kind.

    It names its site, its searches, its way to page and the form of an item's address, and writes `parse_search` (the
    Results of one page) and `parse_page` (the items of one). It raises BrokenPage or ItemGone and need not catch
    anything: whatever happens to a page is counted, as `page/<stage>/<outcome>`, and what failed is kept as a dead
    letter.
    """

    kind: ClassVar[str]
    """What it collects: `listing`, or one of `items.others`."""

    item_path: ClassVar[re.Pattern[str] | None] = None
    """Matches the path of an item's address, its group `ref` being the site's id; all else is a search."""

    item_form: ClassVar[str]
    """The shortest path of an item's address, by which one is made of its id: "/items/{ref}"."""

    paging: ClassVar[Paging] = Numbers()
    """How one page of a search leads to the others."""

    axes: ClassVar[tuple[Axis, ...]] = ()
    """By what a search is cut that finds more than the portal shows."""

    newest_first: ClassVar[Newest | None] = None
    """What the searches are sorted by. None: by nothing that helps, and an incremental run reads all their pages."""

    pace: ClassVar[float | None] = None
    """Requests a second that the site bears, where that is less than the fleet's `RATE_LIMIT`."""

    robots: ClassVar[str] = "obeyed"
    """How we stand to its robots.txt; a portal that sets it aside says why here."""

    terms: ClassVar[str]
    """Address of its terms of use: read them before you crawl."""

    checked_on: ClassVar[date]
    """When what this file says of the portal was last held against what is known of it."""

    handle_httpstatus_list: Sequence[int] = GONE_STATUSES

    page_marks: ClassVar[tuple[bytes, ...]] = ()
    """What stands around the data on its pages, and on no wall: a page with one of them is not searched for walls."""

    redirects_gone: ClassVar[bool] = False
    """Whether the portal is known to send a visitor of a listing that is gone to another of its pages."""

    # ----- for who writes one

    def parse_search(self, response: TextResponse) -> Results:
        """What a search page shows."""
        raise NotImplementedError

    def parse_page(self, response: TextResponse, **hints: Any) -> Iterator[Any]:
        """The items of a page, and links to what else it shows; `hints` is what the search page told of it and the page
        itself does not."""
        raise NotImplementedError

    def ask(self, search: str) -> Request:
        """The request for a page of a search, where it is more than an address."""
        return request_to(search)

    def ask_page(self, url: str) -> Request:
        """The request for an item, where its data is served at another address than its page."""
        return request_to(url)

    def sign(self, request: Request) -> None:
        """Just before a request is sent, set the headers that have to be fresh: a signature, a token of now."""

    def link(self, url: str, *, dated: datetime | None = None, is_promoted: bool = False, **hints: Any) -> Link:
        """An item on a search page."""
        url = absolute_url(self.site, url)
        ref = self.ref_of(url)
        if ref is None:
            raise BrokenPage(f"no address of a {self.kind}: {url}")
        return Link(ref, url, hints, dated, is_promoted)

    def ref_of(self, url: str) -> str | None:
        """The site's id in an item's address; None for any other address."""
        found = self.item_path.search(url_path(self.site, url)) if self.item_path else None
        return found["ref"] if found else None

    def url_of(self, ref: str) -> str:
        """An address of the item with this id, in the site's form. Its own may be longer."""
        return absolute_url(self.site, self.item_form.format(ref=ref))

    def shown_at(self, response: Response) -> str:
        """The address at which visitors see the item."""
        return str(response.meta.get("shown_at", response.url))

    def is_first(self, response: Response) -> bool:
        """Whether this is the first page of its search."""
        return self.paging.is_first(_asked(response))

    # ----- what a kind of item may do otherwise

    def seen(self, shown: Sequence[Result]) -> Iterator[Any]:
        """What a search page alone tells the store; of a link nothing, its own page does."""
        return (each for each in shown if not isinstance(each, AnyLink))

    async def wanted(self, links: list[Any], mode: str | None) -> list[Any]:
        """Those whose own page has to be read."""
        return links

    async def revisits(self, items: Sequence[Any]) -> Mapping[str, dict[str, Any]]:
        return {}

    def unchanged(self, response: Response) -> list[Any]:
        """What the store is told of an item whose page is as it was."""
        return []

    def gone(self, response: Response, reason: ItemGone) -> list[Any]:
        """What the store is told of an item that is no more."""
        return []

    def mapped(self, url: str) -> AnyLink | None:
        """An item of a sitemap, as it is called on the site that is asked."""
        return self.link(url) if self.ref_of(url) else None

    # ----- requests

    def check(
        self, url: str, job: str, mode: str, rent_period: str | None = None, known_by: dict[str, Any] | None = None
    ) -> Request:
        request = self._page_request(url, {"rent_period": rent_period} if rent_period else None, known_by)
        request.meta.update(job=job, mode=mode)
        return request

    def seed_request(self, seed: seeds.Seed) -> Request:
        request: Request = (
            self._page_request(seed.url) if self.ref_of(seed.url) else self._search_request(seed.url, "plan")
        )
        told: dict[str, Any] = {"headers": seed.headers, "body": seed.body}
        told = {name: value for name, value in told.items() if value} | seed.own_method
        request = request.replace(priority=request.priority + seed.priority, dont_filter=True, **told)
        request.meta.update(seed.meta, mode=seed.mode, scope=seed.scope)
        request.meta.update({"job": seed.job} if seed.job else {}, **seed.own_priority)
        self.crawler.stats.inc_value("seed/taken")
        return request

    def _page_request(
        self, url: str, hints: dict[str, Any] | None = None, known_by: dict[str, Any] | None = None
    ) -> Request:
        """`known_by`, where its page was read before: see `middlewares.conditional`."""
        url = absolute_url(self.site, url)
        request = self.ask_page(url)
        more: dict[str, Any] = {} if request.url == url else {"shown_at": url}
        more |= {"validators": known_by} if known_by else {}
        request.cb_kwargs.update(hints or {})
        return self._ours(request, "extract", self.read_page, more)

    def _search_request(self, search: str, stage: Stage, **more: Any) -> Request:
        search = urljoin(self.site, search)
        request = self.ask(search)
        if request.url != search or request.body:
            more["search"] = search
        return self._ours(request, stage, self.read_search, more)

    def _ours(self, request: Request, stage: Stage, callback: Any, more: dict[str, Any]) -> Request:
        """What the portal made is changed in its place: a copy would work its address out anew."""
        request.callback, request.errback, request.priority = callback, self.on_failure, PRIORITY[stage]
        request.meta.update(more, stage=stage)
        return request

    # ----- what becomes of a search page

    async def read_search(self, response: Response) -> AsyncIterator[Any]:
        is_gone = response.status in GONE_STATUSES and not sitemaps.is_robots(response)
        if is_gone and response.request is not None:
            self.failed(response.request, HttpError(response))  # an item may be gone, a search may not
            return
        for results in self._read(response, response.meta["stage"]):
            self.crawler.stats.inc_value("search/result/unreadable", results.unreadable)
            search, walk, parts = _asked(response), Walk.read(response.meta.get("walk")), list(results.searches)
            if response.meta["stage"] == "plan":
                walk = Walk(until=await self._watermark(search, response))
                parts += self._parts(search, results) if walk.until is None else []
                for part in parts:
                    yield self._search_request(part, "plan", part_of=self.paging.key(search))
                await self._note(search, results, response, is_split=bool(parts))
            if parts:
                return  # they show all of it
            for request in self._further_pages(search, results, walk):
                yield request  # before this page's items: they have to be looked up first
            async for each in self._shown(results.found, response):
                yield each

    def _parts(self, search: str, results: Results) -> list[str]:
        """The search in parts, if it finds more than the portal shows of one."""
        reach = self.paging.reach
        if results.total is None or reach is None or results.total <= reach:
            return []
        parts = parts_of(search, self.axes, results.total, reach, results.prices)
        if not parts:
            self.logger.warning("search/capped: %d results, %d can be read: %s", results.total, reach, search)
            self.crawler.stats.inc_value("search/capped")
        return parts

    def _further_pages(self, search: str, results: Results, walk: Walk) -> Iterator[Request]:
        pages = walk.further(self.paging, self.newest_first, search, results)
        one_by_one = self.paging.rest(search, results) is None or walk.until is not None
        told = {"walk": walk.then(results, self.newest_first).told()} if one_by_one else {}
        for page in pages:
            yield self._search_request(page, "discover", **told)

    async def _watermark(self, search: str, response: Response) -> int | None:
        if response.meta.get("mode") != "incremental" or self.newest_first is None or "part_of" in response.meta:
            return None
        key = self.paging.key(search)
        value = await store_of(self.crawler).ask(lambda store: store.watermark(self.name, key))
        return None if value is None else int(value)

    async def _note(self, search: str, results: Results, response: Response, *, is_split: bool) -> None:
        """For the proof that the run looked everywhere, and for the next watermark."""
        part = Part(
            portal=self.name,
            search=self.paging.key(search),
            parent=response.meta.get("part_of"),
            total=results.total,
            is_split=is_split,
            newest=watermark_of(results, self.newest_first, datetime.now(UTC)),
        )
        await store_of(self.crawler).ask(lambda store: store.keep_part(response.meta["job"], part))

    async def _shown(self, shown: Sequence[Result], response: Response) -> AsyncIterator[Any]:
        """What was seen, and requests for the pages that have to be read."""
        for each in self.seen(shown):
            yield each
        links = [each for each in shown if isinstance(each, AnyLink)]
        wanted = await self.wanted(links, response.meta.get("mode"))
        known_by = await self.revisits(wanted)
        for link in wanted:
            yield self._page_request(link.url, link.carried, known_by.get(link.ref))

    # ----- what becomes of a page

    async def read_page(self, response: Response, **hints: Any) -> AsyncIterator[Any]:
        if "unchanged" in response.flags:
            self.was_read(response)
            self.count("extract", "unchanged")
            for each in self.unchanged(response):
                yield each
            return
        made = self._read(response, "extract", **hints)
        if len(made) == 1:
            response.flags.append("alone")  # its version may be kept: see `pipelines.store.page_version`
        for each in made:
            if not isinstance(each, AnyLink):
                yield each
        async for each in self._shown([each for each in made if isinstance(each, AnyLink)], response):
            yield each

    def parsed(self, response: Response, stage: Stage, **hints: Any) -> Iterator[Any]:
        """What the portal's parser makes of a page, fetched now or kept from earlier: Results, or items. Raises
        what the page is instead."""
        if stage != "extract" and sitemaps.is_robots(response):
            yield sitemaps.named(response, self.owns)
        elif stage != "extract" and sitemaps.is_sitemap(response):
            yield sitemaps.read(response, self.mapped)
        elif stage != "extract":
            yield self.parse_search(self._checked(response))
        else:
            page = self._checked(response)
            self._still_there(response)
            yield from self.parse_page(page, **hints)

    def _read(self, response: Response, stage: Stage, **hints: Any) -> list[Any]:
        """What the parser makes of it; nothing it meets ends the worker, and every outcome is counted."""
        try:
            made = list(self.parsed(response, stage, **hints))
        except ItemGone as reason:
            self.count(stage, "gone")
            self.logger.debug("page/gone: %s: %s", response.url, reason)
            return self.gone(response, reason)
        except Blocked as reason:
            self.blocked(stage, reason, response)
            return []
        except Exception as error:
            if self.tries_again(response):
                self.count(stage, "doubted")
                return []
            if "thin" in response.flags:
                self.blocked(stage, Blocked("thin", f"far smaller than others, and unlike: {error}"), response)
                return []
            self.count(stage, "broken")
            response.flags.append("broken")  # SnapshotMiddleware keeps such a page
            told = f"{type(error).__name__}: {error}"
            self.logger.warning("page/broken: %s: %s", response.url, told, exc_info=not isinstance(error, BrokenPage))
            self.give_up("parse", told, response.request)
            return []
        self.was_read(response)
        self.count(stage, "ok")
        return made

    def _checked(self, response: Response) -> TextResponse:
        if response.status in GONE_STATUSES:
            raise ItemGone(f"status {response.status}", "404" if response.status == 404 else "410")
        if not self.owns(response.url):
            raise BrokenPage("redirected to another site")
        if not isinstance(response, TextResponse):
            raise BrokenPage("not a text document")
        return response

    def _still_there(self, response: Response) -> None:
        if "shown_at" not in response.meta and not self.ref_of(response.url):
            evidence: Evidence = "marker" if self.redirects_gone else "absent"
            raise ItemGone(f"redirected to {response.url}", evidence)


def _asked(response: Response) -> str:
    """The search whose page was asked for, wherever the portal sent us."""
    asked: str = response.meta.get("redirect_urls", [response.url])[0]
    return str(response.meta.get("search", asked))
