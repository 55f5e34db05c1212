"""A worker says every second that it lives, and what it holds."""

import asyncio
import logging
import os
import socket
from typing import Self
from uuid import uuid4

from redis.exceptions import RedisError
from scrapy import Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler

from realestate.queue.workers import Beat, Workers

logger = logging.getLogger(__name__)


class Heartbeat:
    """Beats while the spider serves the fleet's queue: never in `scrapy shell`."""

    def __init__(self, crawler: Crawler, seconds: float) -> None:
        self.crawler = crawler
        self.seconds = seconds
        self.worker = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"
        self._beating: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler, crawler.settings.getfloat("HEARTBEAT_SECONDS"))
        crawler.signals.connect(extension.opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.closed, signal=signals.spider_closed)
        return extension

    def opened(self, spider: Spider) -> None:
        self._beating = asyncio.ensure_future(self._beat_on(spider))

    async def closed(self, spider: Spider) -> None:
        if self._beating is not None:
            self._beating.cancel()
        if self._serving():
            try:
                self._workers(spider).leave(self.worker)
            except RedisError as error:
                logger.warning("heartbeat: no farewell: %s", error)

    async def _beat_on(self, spider: Spider) -> None:
        while True:
            if self._serving():
                try:
                    self._workers(spider).beat(self.worker, self._now())
                except RedisError as error:
                    logger.warning("heartbeat: missed: %s", error)
            await asyncio.sleep(self.seconds)

    def _serving(self) -> bool:
        # A scheduler has a length, so it must be compared with None: an empty queue would make it false.
        scheduler = self.crawler.engine.scheduler if self.crawler.engine is not None else None
        return scheduler is not None and getattr(scheduler, "serving", False)

    def _workers(self, spider: Spider) -> Workers:
        return Workers(spider.server, spider.name)  # type: ignore[attr-defined]

    def _now(self) -> Beat:
        engine, stats = self.crawler.engine, self.crawler.stats
        assert engine is not None
        assert stats is not None
        return Beat(
            in_work=len(engine.downloader.active) + _in_scraper(engine) + engine.scheduler.held,  # type: ignore[union-attr]
            unstored=stats.get_value("store/waiting", 0),
            taken=stats.get_value("queue/taken", 0) + stats.get_value("seed/taken", 0),
            pages=stats.get_value("response_received_count", 0),
            stored=stats.get_value("listing/stored", 0),
            quarantined=stats.get_value("listing/quarantined", 0),
            dead=sum(value for name, value in stats.get_stats().items() if name.startswith("queue/dead/")),
        )


def _in_scraper(engine: ExecutionEngine) -> int:
    slot = engine.scraper.slot
    return 0 if slot is None or slot.is_idle() else len(slot.queue) + len(slot.active) + slot.itemproc_size
