"""The middlewares that follow a page: from its response until everything it gave is stored and its lease is settled."""

from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from twisted.python.failure import Failure

from realestate.queue.engine import LEASE
from realestate.queue.fleet import fleet_of
from realestate.queue.page_budget import BUDGET, PAGE
from realestate.queue.pages import lease_of, mark_child


class ResponseMiddleware:
    """Counts the CPU time of a page from its response on, because other middlewares unpack it and look for a ban page;
    and its bytes. It also stops requests whose job was cancelled meanwhile.

    It must be the downloader middleware nearest to the site (the highest number).
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        fleet = fleet_of(self.crawler)
        if fleet is not None and fleet.cancel_unsent(request):
            raise IgnoreRequest(f"its job {request.meta.get('job')} was cancelled")

    def process_response(self, request: Request, response: Response) -> Response:
        if fleet := fleet_of(self.crawler):
            if held := fleet.ledger.get(request.meta.get(LEASE)):
                held.received += len(response.body)
            fleet.enter_page(request.meta.get(LEASE))
        return response


class ItemPipeline:
    """Counts the CPU time of the other pipelines as that of the item's page.

    It must be the first pipeline (the lowest number).
    """

    def process_item(self, item: Any) -> Any:
        if (page := PAGE.get()) is not None:
            held, fleet = page
            BUDGET.enter(held, fleet)
        return item


class LeaseMiddleware:
    """Counts what callbacks yield.

    It must be the spider middleware nearest to the engine (the lowest number): it sees the output that all other
    middlewares have left, and the errors that none of them has handled.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware.request_scheduled, signal=signals.request_scheduled)
        crawler.signals.connect(middleware.item_settled, signal=signals.item_scraped)
        crawler.signals.connect(middleware.item_settled, signal=signals.item_dropped)
        crawler.signals.connect(middleware.item_settled, signal=signals.item_error)
        crawler.signals.connect(middleware.spider_error, signal=signals.spider_error)
        return middleware

    def process_spider_input(self, response: Response) -> None:
        if fleet := fleet_of(self.crawler):
            fleet.pages.begin(response)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        fleet = fleet_of(self.crawler)
        key = lease_of(response)
        if fleet is not None and key is not None and fleet.pages.is_being_read(key):
            async for each in fleet.pages.count(key, result):
                yield each
            return
        async for each in result:  # a page without a lease, or whose lease has ended: `scrapy shell`, a local request
            yield mark_child(each, response.meta) if isinstance(each, Request) else each

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        """No other middleware has handled it: they come first."""
        if fleet := fleet_of(self.crawler):
            fleet.pages.callback_failed(response, exception)

    def request_scheduled(self, request: Request) -> None:
        if fleet := fleet_of(self.crawler):
            fleet.pages.request_scheduled(request)

    def item_settled(self, response: Response | Failure | None) -> None:
        if fleet := fleet_of(self.crawler):
            fleet.pages.item_settled(response)

    def spider_error(self, failure: Failure, response: Response | Failure | None) -> None:
        """Errors that pass no middleware, such as a middleware that returns something invalid."""
        if (fleet := fleet_of(self.crawler)) and failure.value is not None:
            fleet.pages.callback_failed(response, failure.value)
