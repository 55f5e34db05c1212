"""Sends the heartbeat of this worker, with what it holds and has done."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec
from scrapy import Spider, signals
from scrapy.crawler import Crawler

from realestate.queue.engine import work_count
from realestate.queue.fleet import fleet_of
from realestate.queue.workers import HeartbeatData

logger = logging.getLogger(__name__)


#: The rate in a heartbeat is the mean of this many seconds.
RATE_SECONDS = 60.0


class Rate:
    """How much a number grew per second over the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._seen: deque[tuple[float, float]] = deque([(clock(), 0.0)])

    def update(self, total: float) -> float:
        """The rate, now that the number is this."""
        now = self.clock()
        self._seen.append((now, total))
        while len(self._seen) > 2 and now - self._seen[1][0] >= RATE_SECONDS:
            self._seen.popleft()
        began, before = self._seen[0]
        return round((total - before) / max(now - began, 1.0), 3)


class Heartbeat:
    """Sends heartbeats while the spider takes requests from the queue: never in `scrapy shell`."""

    def __init__(self, crawler: Crawler, seconds: float) -> None:
        self.crawler = crawler
        self.seconds = seconds
        self._sending: asyncio.Task[None] | None = None
        self._rate = Rate()
        self._cpu = Rate()
        self._pages = 0
        self._active_at = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler, crawler.settings.getfloat("HEARTBEAT_SECONDS"))
        crawler.signals.connect(extension.opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.closed, signal=signals.spider_closed)
        return extension

    def opened(self, spider: Spider) -> None:
        self._sending = asyncio.ensure_future(self._send_regularly())

    def closed(self, spider: Spider) -> None:
        if self._sending is not None:
            self._sending.cancel()

    async def _send_regularly(self) -> None:
        while True:
            fleet = fleet_of(self.crawler)
            if fleet is not None and fleet.at_work:
                try:
                    await fleet.heartbeat(msgspec.json.encode(self._now(fleet.now() / 1000)))
                except Exception as error:  # if this task ended, the worker would count as dead
                    portal = self.crawler.spidercls.name
                    logger.warning("heartbeat/missed: portal=%s: %s: %s", portal, type(error).__name__, error)
            # All portals of a process at the same moment: then their heartbeats are one command.
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(self.seconds - now % self.seconds)

    def _now(self, now: float) -> HeartbeatData:
        engine = self.crawler.engine
        stats = self.crawler.stats
        assert engine is not None
        assert stats is not None
        pages = stats.get_value("response_received_count", 0)
        if pages != self._pages:
            self._pages = pages
            self._active_at = now
        return HeartbeatData(
            in_work=work_count(engine),
            unstored=stats.get_value("store/waiting", 0),
            pages=pages,
            stored=stats.get_value("listing/stored", 0) + stats.get_value("other/stored", 0),
            quarantined=stats.get_value("listing/quarantined", 0),
            dead=sum(value for name, value in stats.get_stats().items() if name.startswith("queue/dead/")),
            outcomes=_outcomes(stats.get_stats()),
            new=stats.get_value("listing/new", 0),
            pages_per_second=self._rate.update(pages),
            cpu_share=self._cpu.update(time.process_time()),
            active_at=self._active_at,
        )


def _outcomes(stats: Mapping[str, Any]) -> dict[str, int]:
    """Pages of all stages by outcome: from the statistics `page/<stage>/<outcome>`."""
    found: dict[str, int] = {}
    for name, value in stats.items():
        if name.startswith("page/"):
            outcome = name.rpartition("/")[2]
            found[outcome] = found.get(outcome, 0) + value
    return found
