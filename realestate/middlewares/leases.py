"""Ties a page's items and children to the lease of its request; nothing is settled by accident."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from realestate.queue import signals as ours
from realestate.queue.engine import LEASE
from realestate.queue.packing import PARENT
from realestate.queue.scheduler import Scheduler

#: What every request of a job carries; its priority comes on top of its stage's.
INHERITED = ("job", "mode", "job_priority")


class LeaseMiddleware:
    """Counts what a callback yields; when it is over and all of it is durable, the ledger ends the lease."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._waiting: dict[int, Any] = {}
        self._lease_of: dict[int, str] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        for handler, signal in (
            (middleware.item_waits, ours.item_waits),
            (middleware.items_stored, ours.items_stored),
            (middleware.item_scraped, signals.item_scraped),
            (middleware.item_lost, signals.item_dropped),
            (middleware.item_lost, signals.item_error),
        ):
            crawler.signals.connect(handler, signal=signal)
        return middleware

    @property
    def scheduler(self) -> Scheduler:
        assert self.crawler.engine is not None
        scheduler: Any = self.crawler.engine.scheduler
        return scheduler  # type: ignore[no-any-return]

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        key = response.meta.get(LEASE)
        inherited = {name: response.meta[name] for name in INHERITED if name in response.meta}
        try:
            async for each in result:
                if isinstance(each, Request):
                    # A child whose author handed it the page's whole meta must not be taken for the page itself.
                    each.meta.pop(LEASE, None)
                    each.meta.update(inherited, **({PARENT: key} if key else {}))
                    each.priority += inherited.get("job_priority", 0)
                elif key and each is not None:  # Scrapy passes over it too
                    self.scheduler.ledger.item_out(key)
                yield each
        except Exception as error:
            self._gave_up(response, error)
            raise
        # Not in a `finally`: a callback cut short by the end of the worker is not over, and its page goes back.
        if key:
            self.scheduler.ledger.finished(key)

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        """A status that no errback takes, or a callback that raised before it yielded anything."""
        self._gave_up(response, exception)

    def _gave_up(self, response: Response, error: Exception) -> None:
        if response.request is None or not (key := response.meta.get(LEASE)):
            return
        if isinstance(error, CloseSpider):  # not the page's fault: somebody else will read it
            self.scheduler.ledger.end(key, "back")
        else:
            told = f"{type(error).__name__}: {error}"
            self.scheduler.give_up("parse", told, response.request, url=response.url)
            self.scheduler.finished(response.request)

    def item_waits(self, item: Any) -> None:
        self._waiting[id(item)] = item

    def items_stored(self, items: list[Any]) -> None:
        for item in items:
            self._waiting.pop(id(item), None)
            if key := self._lease_of.pop(id(item), None):
                self.scheduler.ledger.item_in(key)

    def item_scraped(self, item: Any, response: Response | None) -> None:
        """Through all pipelines: durable already, unless it waits for the store."""
        key = response.meta.get(LEASE) if response is not None else None
        if key and id(item) in self._waiting:
            self._lease_of[id(item)] = key
        elif key:
            self.scheduler.ledger.item_in(key)

    def item_lost(self, item: Any, response: Response | None) -> None:
        """Dropped on purpose, or its pipeline raised, which Scrapy counts and logs."""
        if response is not None and (key := response.meta.get(LEASE)):
            self.scheduler.ledger.item_in(key)


class ChildrenMiddleware:
    """Outermost: what it counts goes to the engine, dropped by no other middleware.

    Scrapy reads a callback two results ahead of what it has handed on (`_parallel_asyncio`): without this count a page
    would be acknowledged before its last children are known."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware.request_scheduled, signal=signals.request_scheduled)
        return middleware

    @property
    def scheduler(self) -> Scheduler:
        assert self.crawler.engine is not None
        scheduler: Any = self.crawler.engine.scheduler
        return scheduler  # type: ignore[no-any-return]

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        key = response.meta.get(LEASE)
        async for each in result:
            if key and isinstance(each, Request):
                self.scheduler.ledger.child_out(key)
            yield each

    def request_scheduled(self, request: Request) -> None:
        """Just before the scheduler gets it, or another handler drops it: by the loop's next turn either is done."""
        if key := request.meta.get(PARENT):
            asyncio.get_running_loop().call_soon(self.scheduler.ledger.child_in, key)
