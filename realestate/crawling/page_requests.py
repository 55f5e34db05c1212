"""Makes a spider's requests: of seeds, of searches, of items' pages and of sitemaps."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from scrapy import Request
from scrapy.http import Response

from realestate.crawling import seeds
from realestate.crawling.page_outcomes import Stage
from realestate.crawling.paging import Numbers, page_range
from realestate.crawling.sitemaps import SitemapBudget
from realestate.parsing.urls import absolute_url

if TYPE_CHECKING:
    from realestate.crawling.search_spider import SearchSpider

#: Plans come first, so that many workers soon find work. Items' pages come before further search pages: then items are
#: stored soon, and the queue stays short. Photos come after all pages.
PRIORITY: dict[Stage, int] = {"plan": 20, "discover": 0, "extract": 10, "photo": -10}


class PageRequests:
    """Requests with the callback, the stage and the priority that belong to their page."""

    def __init__(self, spider: "SearchSpider") -> None:
        self.spider = spider

    def of_seed(self, seed: seeds.Seed) -> Request:
        """The request that a seed asks for: of an item, or of a search that is planned first."""
        request: Request
        if self.spider.ref_of(seed.url):
            request = self.for_item(seed.url)
        else:
            request = self.for_search(self._seed_search(seed), "plan")
        changes: dict[str, Any] = dict(seed.own_method)
        if seed.headers:
            changes["headers"] = seed.headers
        if seed.body:
            changes["body"] = seed.body
        request = request.replace(priority=request.priority + seed.priority, dont_filter=True, **changes)
        request.meta.update(seed.meta)
        request.meta.update(seed.own_priority, **seed.narrowing, mode=seed.mode, scope=seed.scope)
        if seed.job:
            request.meta["job"] = seed.job
        self.spider.crawler.stats.inc_value("seed/taken")
        return request

    def _seed_search(self, seed: seeds.Seed) -> str:
        """The page of a search with which a seed begins. Raises BadSeed if it names pages and the site has none."""
        search = self.spider.search_url(seed.url)
        if not seed.pages:
            return search
        if not isinstance(self.spider.paging, Numbers):
            raise seeds.BadSeed(f"{self.spider.name} has no numbered pages")
        first, _ = page_range(seed.pages)
        return self.spider.paging.page(search, first)

    def for_item(
        self, url: str, hints: dict[str, Any] | None = None, validators: dict[str, Any] | None = None
    ) -> Request:
        """The request for an item's page. `validators` are known if the page was fetched before: see
        `middlewares.conditional`."""
        url = absolute_url(self.spider.site, url)
        request = self.spider.page_request(url)
        if request.url != url:
            request.meta["shown_at"] = url
        if validators:
            request.meta["validators"] = validators
        request.cb_kwargs.update(hints or {})
        return self._prepared(request, "extract", self.spider.read_page)

    def for_search(self, search: str, stage: Stage, **meta: Any) -> Request:
        """The request for a page of a search."""
        search = urljoin(self.spider.site, search)
        request = self.spider.search_request(search)
        request.meta.update(meta)
        if request.url != search or request.body:
            request.meta["search"] = search
        return self._prepared(request, stage, self.spider.read_search)

    def _prepared(self, request: Request, stage: Stage, callback: Any) -> Request:
        """The portal's own request, changed in place: a copy would parse its URL again, which is slow."""
        request.callback = callback
        request.errback = self.spider.on_failure
        request.priority = PRIORITY[stage]
        request.meta["stage"] = stage
        return request

    def for_sitemap(self, url: str, budget: SitemapBudget, **meta: Any) -> Request:
        """Less urgent than the listings of sitemaps that were read: so the queue never holds those of many files."""
        request = self.for_search(url, "plan", **budget.as_meta(), **meta)
        request.priority = PRIORITY["discover"]
        return request


def requested_url(response: Response) -> str:
    """The URL that was requested, wherever the site redirected us."""
    meta = response.request.meta if response.request is not None else {}
    return str(meta.get("redirect_urls", [response.url])[0])


def search_of(response: Response) -> str:
    """The search whose page was requested, wherever the site redirected us."""
    return str(response.meta.get("search", requested_url(response)))
