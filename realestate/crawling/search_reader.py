"""Reads the pages of searches: which items they show, and which requests follow from them."""

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response

from realestate.crawling import sitemaps
from realestate.crawling.page_requests import requested_url, search_of
from realestate.crawling.paging import Numbers, page_range
from realestate.crawling.results import AnyLink, Found, Result, Results
from realestate.crawling.search_splitting import parts_of
from realestate.crawling.sitemaps import SitemapBudget
from realestate.crawling.watermark import SearchProgress, watermark_of
from realestate.items import Part
from realestate.storage.handle import store_of

if TYPE_CHECKING:
    from realestate.crawling.search_spider import SearchSpider

logger = logging.getLogger(__name__)


class SearchReader:
    """What follows from the Results that a portal's `parse_search` returns, and from the links on an item's page."""

    def __init__(self, spider: "SearchSpider") -> None:
        self.spider = spider

    async def read(self, results: Results, response: Response) -> AsyncIterator[Any]:
        """Yield the items that a search page shows, and the requests that follow from it."""
        search = search_of(response)
        progress = SearchProgress.from_meta(response.meta.get("walk"))
        results = replace(results, found=self.followed(results.found, response))
        sitemap_urls, budget = self._sitemaps(results.searches, response)
        if response.meta["stage"] == "plan":
            progress = SearchProgress(until=await self._watermark(search, response))
            parts = self._parts(search, results, response) if progress.until is None else []
            for part in parts:
                yield self.spider.requests.for_search(part, "plan", part_of=self.spider.paging.key(search))
            for url in sitemap_urls:
                yield self.spider.requests.for_sitemap(url, budget, part_of=self.spider.paging.key(search))
            await self._store_part(search, results, response, is_split=bool(parts or sitemap_urls))
            if parts:
                return  # together they show all results of this search
        if results.searches:
            return  # the page is a sitemap index, or a robots.txt
        if "limit" in response.meta:
            async for each in self._limited_results(results, response, progress):
                yield each
            return
        for request in self.further_pages(search, results, progress, response.meta.get("pages", "")):
            yield request  # before this page's items: those have to be looked up in the store first
        async for each in self.items_and_requests(results.found, response):
            yield each

    def followed(self, found: Sequence[Any], response: Response) -> list[Any]:
        """Without the links to other sites. They are neither fetched nor stored."""
        links = [each.url for each in found if isinstance(each, AnyLink)]
        own = set(self._own(links, requested_url(response)))
        return [each for each in found if not isinstance(each, AnyLink) or each.url in own]

    def _own(self, urls: Sequence[str], page: str) -> list[str]:
        """Those of the URLs on a page that may be fetched. The others are counted, with one line in the log."""
        own = [url for url in urls if self._follows(url, page)]
        if len(own) < len(urls):
            first = next(url for url in urls if not self._follows(url, page))
            self.spider.crawler.stats.inc_value("link/refused", len(urls) - len(own))
            logger.warning(
                "link/refused portal=%s url=%s count=%d first=%r: not a URL of this site",
                self.spider.name,
                page,
                len(urls) - len(own),
                first[:200],
            )
        return own

    def _follows(self, url: str, page: str) -> bool:
        try:
            return self.spider.may_follow(url, page)
        except ValueError:  # it is no URL
            return False

    def _sitemaps(self, urls: Sequence[str], response: Response) -> tuple[list[str], SitemapBudget]:
        """The sitemaps that a sitemap index or a robots.txt names, as many as may be read, and the budget of each."""
        if not urls:
            return [], SitemapBudget()
        page = requested_url(response)
        own = self._own(urls, page)
        kept, budget = SitemapBudget.from_meta(response.meta).divided(own)
        if len(kept) < len(own):
            self.spider.crawler.stats.inc_value("sitemap/left_out", len(own) - len(kept))
            logger.warning(
                "sitemap/left_out portal=%s url=%s read=%d left_out=%d: more than %d files or %d levels below a seed",
                self.spider.name,
                page,
                len(kept),
                len(own) - len(kept),
                sitemaps.MAX_FILES,
                sitemaps.MAX_DEPTH,
            )
        return kept, budget

    async def _limited_results(
        self, results: Results, response: Response, progress: SearchProgress
    ) -> AsyncIterator[Any]:
        """In a job with a limit, the pages of a search are read one by one, until the limit is used up."""
        search = search_of(response)
        async for each in self.items_and_requests(await self._granted(results.found, response), response):
            yield each
        following = progress.next_page(self.spider.paging, self.spider.newest_first, search, results)
        if following is not None and not self._is_wanted_page(following, response.meta.get("pages", "")):
            following = None
        if following is not None and await self._left_of_limit(response):
            walk = progress.after(results, self.spider.newest_first).as_meta()
            yield self.spider.requests.for_search(following, "discover", walk=walk)

    def _parts(self, search: str, results: Results, response: Response) -> list[str]:
        """The parts of a search that has more results than the site shows of one search."""
        reach = self.spider.paging.reach
        if results.total is None or reach is None or results.total <= reach:
            return []
        if "pages" in response.meta:
            return []  # a part has other pages
        if 0 < response.meta.get("limit", 0) <= reach:
            return []  # one search shows enough
        parts = parts_of(search, self.spider.axes, results.total, reach, results.prices)
        if not parts:
            assert response.request is not None
            logger.warning(
                "search/capped %s results=%d readable=%d: the search cannot be split",
                self.spider.outcomes.fields(response.request),
                results.total,
                reach,
            )
            self.spider.crawler.stats.inc_value("search/capped")
        return parts

    def _is_wanted_page(self, search: str, pages: str) -> bool:
        """Whether the job wants this page. `pages` is its range, "" for all."""
        paging = self.spider.paging
        if not pages or not isinstance(paging, Numbers):
            return True
        first, last = page_range(pages)
        return first <= paging.number(search) <= last

    def further_pages(
        self, search: str, results: Results, progress: SearchProgress, wanted: str = ""
    ) -> Iterator[Request]:
        """Requests for the other pages of a search, or for the next one if they cannot be listed. `wanted` is the range
        of pages that the job wants, "" for all."""
        paging = self.spider.paging
        one_by_one = paging.rest(search, results) is None or progress.until is not None
        if wanted and isinstance(paging, Numbers) and not one_by_one:
            all_pages = _pages_of_range(paging, search, results, wanted)
        else:
            all_pages = progress.next_pages(paging, self.spider.newest_first, search, results)
        pages = self._own([each for each in all_pages if self._is_wanted_page(each, wanted)], search)
        meta = {"walk": progress.after(results, self.spider.newest_first).as_meta()} if one_by_one else {}
        for page in pages:
            yield self.spider.requests.for_search(page, "discover", **meta)

    async def _watermark(self, search: str, response: Response) -> int | None:
        """The watermark at which an incremental job stops reading this search; None: it reads all."""
        if response.meta.get("mode") != "incremental" or self.spider.newest_first is None or "part_of" in response.meta:
            return None
        key = self.spider.paging.key(search)
        value = await store_of(self.spider.crawler).ask(lambda store: store.watermark(self.spider.name, key))
        return None if value is None else int(value)

    async def _store_part(self, search: str, results: Results, response: Response, *, is_split: bool) -> None:
        """Store what was found, to prove later that the job read everything, and to set the next watermark."""
        part = Part(
            portal=self.spider.name,
            search=self.spider.paging.key(search),
            parent=response.meta.get("part_of"),
            total=results.total,
            is_split=is_split,
            newest=watermark_of(results, self.spider.newest_first, datetime.now(UTC)),
        )
        await store_of(self.spider.crawler).ask(lambda store: store.keep_part(response.meta["job"], part))

    async def items_and_requests(self, results: Sequence[Result], response: Response) -> AsyncIterator[Any]:
        """The items that a page shows, and requests for the pages that have to be fetched."""
        meta = response.meta
        items, links = await self.spider.items_and_links(results, meta.get("mode"), meta.get("filter", ""))
        for item in items:
            yield item
        if "limit" in meta:
            links = list({link.ref: link for link in links}.values())  # a promoted result is on the page twice
            links = await self._within_limit(links, response)
        validators = {} if self.spider.checks_scope_of_pages(meta) else await self.spider.validators_of(links)
        for link in links:
            request = self.spider.requests.for_item(link.url, link.carried, validators.get(link.ref))
            if isinstance(link, Found) and link.card is not None:
                request.meta["card"] = [link.ref, link.card]  # stored with the page: see `pipelines.store`
            yield request

    async def _granted(self, results: Sequence[Result], response: Response) -> list[Result]:
        """The links of a search page, and those of the whole items on it for which the job's limit has room."""
        links = [each for each in results if isinstance(each, AnyLink)]
        items = [each for each in results if not isinstance(each, AnyLink)]
        if items:
            meta = response.meta
            page = f"shown:{search_of(response)}"
            granted, _ = await self.spider.fleet.grant(meta["job"], page, len(items), meta["limit"])
            items = items[:granted]
        return [*items, *links]

    async def _within_limit(self, links: list[Any], response: Response) -> list[Any]:
        """Those of the items that a search page shows whose pages the job may fetch."""
        meta = response.meta
        if self.spider.checks_scope_of_pages(meta):
            return links if await self._left_of_limit(response) else []
        granted, _ = await self.spider.fleet.grant(meta["job"], search_of(response), len(links), meta["limit"])
        return links[:granted]

    async def _left_of_limit(self, response: Response) -> int:
        """How many items the job may still take."""
        meta = response.meta
        _, left = await self.spider.fleet.grant(meta["job"], search_of(response), 0, meta["limit"])
        return left


def _pages_of_range(paging: Numbers, search: str, results: Results, wanted: str) -> list[str]:
    """On the first page of a range, its other pages that the search has."""
    first, last = page_range(wanted)
    if paging.number(search) != first or results.total is None:
        return []
    last = min(last, ceil(results.total / paging.size), paging.most_pages)
    return [paging.page(search, number) for number in range(first + 1, last + 1)]
