"""The engine: one task per request, from the queue to the last item of its page.

Scrapy passes a request through four tasks and a dozen Deferreds. It has no setting for its engine and its scraper:
`take_over` changes their classes when the spider opens.
"""

import asyncio
import logging
from collections.abc import Awaitable

from scrapy import Request, signals
from scrapy.core import engine
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.log import logformatter_adapter
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from realestate.accelerate.downloader import Downloader
from realestate.accelerate.scraper import Scraper, SpiderMiddlewares

#: The name of Scrapy's own logger, so that log filters keep working.
logger = logging.getLogger(engine.__name__)


def take_over(crawler: Crawler) -> None:
    """Replace the classes of the crawler's engine and scraper. No request may be in flight yet."""
    own = crawler.engine
    assert own is not None
    if isinstance(own, Engine):
        return
    own.scraper.spidermw.__class__ = SpiderMiddlewares
    own.scraper.__class__ = Scraper
    own.__class__ = Engine
    assert isinstance(own, Engine)
    own.tasks = set()


class Engine(engine.ExecutionEngine):
    scraper: Scraper
    tasks: set[asyncio.Task[None]]
    """Of requests in flight: the event loop itself keeps only weak references."""

    def _start_scheduled_request(self) -> bool:
        assert self._slot is not None
        request = self._slot.scheduler.next_request()
        if request is None:
            self.signals.send_catch_log(signals.scheduler_empty)
            return False
        task = asyncio.get_running_loop().create_task(self._serve(request, self._begin(request)))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return True

    async def _serve(self, request: Request, fetching: Awaitable[Response | Request]) -> None:
        slot = self._slot
        assert slot is not None
        try:
            result: Response | Request | Failure
            try:
                result = await self._respond(request, fetching)
            except Exception:
                result = Failure()  # type: ignore[no-untyped-call]
            if isinstance(result, Request):
                self.crawl(result)
            else:
                await self.scraper.scraped(result, request)
        except Exception:
            logger.exception("Scraper bug processing %s", request, extra={"spider": self.spider})
        finally:
            slot.remove_request(request)
            slot.nextcall.schedule()

    def _download(self, request: Request) -> "Deferred[Response | Request]":
        """For `engine.download_async`: a request that does not come from the queue."""
        return deferred_from_coro(self._respond(request, self._begin(request)))

    def _begin(self, request: Request) -> Awaitable[Response | Request]:
        """Start at once, not in the task: the number of active requests decides whether another may start."""
        assert self._slot is not None
        self._slot.add_request(request)
        if isinstance(self.downloader, Downloader):
            return self.downloader.fetching(request)
        return maybe_deferred_to_future(self.downloader.fetch(request))

    async def _respond(self, request: Request, fetching: Awaitable[Response | Request]) -> Response | Request:
        assert self._slot is not None
        assert self.spider is not None
        try:
            result = await fetching
            if isinstance(result, Response):
                result.request = result.request or request
                message = self.logformatter.crawled(result.request, result, self.spider)
                if message is not None:
                    logger.log(*logformatter_adapter(message), extra={"spider": self.spider})
                self.signals.send_catch_log(
                    signals.response_received, response=result, request=result.request, spider=self.spider
                )
            return result
        finally:
            self._slot.nextcall.schedule()
