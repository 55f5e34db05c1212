"""Keeps redirects on the portal's own site.

Scrapy's offsite middleware lets every request with `dont_filter` pass, and seeds have it: a site could redirect them to
anywhere. It also knows only fixed domains, and `generic` has none.
"""

import logging
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

logger = logging.getLogger(__name__)


class AnotherSite(IgnoreRequest):
    """A page redirected to another site. A retry would change nothing."""

    reason = "address"
    outcome = "forbidden"


class SiteBoundaryMiddleware:
    """Refuses a redirect to a URL that the spider's `may_follow` refuses."""

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        if "redirect_urls" not in request.meta:
            return
        spider: Any = self.crawler.spider
        may_follow = getattr(spider, "may_follow", None)
        first = str(request.meta["redirect_urls"][0])
        if may_follow is None or may_follow(request.url, first):
            return
        self.stats.inc_value("redirect/refused")
        logger.warning("redirect/refused portal=%s url=%s: to another site: %s", spider.name, first, request.url)
        raise AnotherSite(f"redirected to another site: {request.url[:200]}")
