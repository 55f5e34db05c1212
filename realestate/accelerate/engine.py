"""The engine: one task for a request, from the queue to the last of its page's items.

Scrapy hands a request through four tasks and a dozen Deferreds, and has no setting for its engine and its scraper: they
are made ours when the spider opens, by `take_over`.
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

#: Scrapy's own: who filters its log finds everything under the name he knows.
logger = logging.getLogger(engine.__name__)


def take_over(crawler: Crawler) -> None:
    """From now on the crawler's engine and scraper are those of this room; nothing is on its way yet."""
    own = crawler.engine
    assert own is not None
    if isinstance(own, Engine):
        return
    own.scraper.spidermw.__class__ = SpiderMiddlewares
    own.scraper.__class__ = Scraper
    own.__class__ = Engine
    assert isinstance(own, Engine)
    own.scraper.look()
    own.tasks = set()


class Engine(engine.ExecutionEngine):
    scraper: Scraper
    tasks: set[asyncio.Task[None]]
    """Of requests on their way: the loop itself would forget them."""

    def _start_scheduled_request(self) -> bool:
        assert self._slot is not None
        request = self._slot.scheduler.next_request()
        if request is None:
            self.signals.send_catch_log(signals.scheduler_empty)
            return False
        task = asyncio.get_running_loop().create_task(self._served(request, self._begun(request)))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return True

    async def _served(self, request: Request, fetching: Awaitable[Response | Request]) -> None:
        slot = self._slot
        assert slot is not None
        try:
            result: Response | Request | Failure
            try:
                result = await self._answered(request, fetching)
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
        """For who asks for a page beside the queue."""
        return deferred_from_coro(self._answered(request, self._begun(request)))

    def _begun(self, request: Request) -> Awaitable[Response | Request]:
        """At once and not in its task: how many are on their way decides whether another may start."""
        assert self._slot is not None
        self._slot.add_request(request)
        if isinstance(self.downloader, Downloader):
            return self.downloader.fetching(request)
        return maybe_deferred_to_future(self.downloader.fetch(request))

    async def _answered(self, request: Request, fetching: Awaitable[Response | Request]) -> Response | Request:
        assert self._slot is not None
        assert self.spider is not None
        try:
            result = await fetching
            if isinstance(result, Response):
                result.request = result.request or request
                if (told := self.logformatter.crawled(result.request, result, self.spider)) is not None:
                    logger.log(*logformatter_adapter(told), extra={"spider": self.spider})
                heard = {"response": result, "request": result.request, "spider": self.spider}
                self.signals.send_catch_log(signals.response_received, **heard)
            return result
        finally:
            self._slot.nextcall.schedule()
