"""The last to see a request that never became a page."""

from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest

from realestate.queue.engine import LEASE
from realestate.queue.fleet import fleet_of


class FailureMiddleware:
    """Gives up a leased request that failed for good and has no errback to say so."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_exception(self, request: Request, exception: Exception) -> None:
        if request.errback is None and request.meta.get(LEASE) and (fleet := fleet_of(self.crawler)):
            told = f"{type(exception).__name__}: {exception}"
            fleet.give_up(_reason(exception), told, request, url=request.url)
            fleet.finished(request)


def _reason(exception: Exception) -> Any:
    """Who ignores a request may say why."""
    if isinstance(exception, IgnoreRequest):
        return getattr(exception, "reason", "ignored")
    return "timeout" if isinstance(exception, DownloadTimeoutError) else "download"
