"""Reads the seeds of ordinary spiders: those of scrapy-redis, and those that have only `start_urls`.

scrapy-redis pops a batch of seeds and keeps it in memory, so a worker that is killed loses it. Here a seed stays in
Redis until its requests are in the queue.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy_redis.spiders import RedisMixin

from realestate.queue.credentials import without_credentials
from realestate.queue.engine import in_work
from realestate.queue.fleet import Fleet, fleet_of
from realestate.queue.intake import WAKE_UP_SECONDS
from realestate.queue.packing import SEED
from realestate.queue.seeds import ReaderRestarts

logger = logging.getLogger(__name__)

#: The job of requests that name none. Without SCHEDULER_PERSIST its fingerprints are deleted at the end of the crawl.
NO_JOB = "none"


class SeedMiddleware:
    """A spider middleware that yields the requests of the seeds after those of the spider's `start`.

    It is the one nearest to the spider, so that all other middlewares see these requests as requests of the start.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        spider = self.crawler.spider
        fleet = fleet_of(self.crawler)
        if fleet is None:
            raise RuntimeError("QueueAddon needs SCHEDULER = 'realestate.queue.scheduler.Scheduler'")
        assert spider is not None
        if getattr(spider, "reads_its_seeds", False) or is_started_by_a_command(spider):
            async for each in start:
                yield each
            return
        fleet.serve()
        if isinstance(spider, RedisMixin):
            stop_reading_seeds(spider, self.crawler)
        try:
            async for each in start:
                yield each
            idle = Idle(fleet, self._longest_idle(spider))
            if isinstance(spider, RedisMixin):
                async for request in self._requests_of_seeds(spider, fleet, idle):
                    yield request
            else:
                await idle.wait()
            await self._drop_fingerprints(fleet)
        finally:
            fleet.stop_serving()

    async def _requests_of_seeds(self, spider: Spider, fleet: Fleet, idle: "Idle") -> AsyncIterator[Request]:
        """Until there has been nothing to do for long enough."""
        restarts = ReaderRestarts(spider.name)
        while not fleet.is_closed:
            try:
                found = await fleet.next_seed(idle.wait_seconds)
                if found is None and await idle.is_over():
                    return
            except Exception as error:  # otherwise nobody would read the seeds any more
                await restarts.wait_after(error)
                continue
            if found is None:
                continue
            restarts.succeeded(found[0])
            idle.restart()
            seed, nonce = found
            requests = self._requests_of(spider, fleet, seed)
            if not requests:
                await fleet.remove_seed(nonce)
            for request, name in zip(requests, fleet.seeds.parts(nonce, len(requests)), strict=True):
                request.meta[SEED] = name
                yield request
                if not fleet.seeds.is_enqueued(name):  # a middleware dropped it
                    await fleet.remove_seed(name)

    def _requests_of(self, spider: Any, fleet: Fleet, seed: bytes) -> list[Request]:
        """What the spider makes of a seed. A seed that makes it raise becomes a dead letter."""
        data: Any = seed
        if self.crawler.settings.getbool("REDIS_DECODE_RESPONSES"):
            data = seed.decode(spider.redis_encoding)
        try:
            made = spider.make_request_from_data(data)
            if made is None:
                return []
            requests = list(made) if isinstance(made, Iterable) else [made]
            for request in requests:
                fleet.schemes.check(request.url)
            return requests
        except Exception as error:
            shown = without_credentials(seed[:200].decode("utf-8", "backslashreplace"))
            reason = without_credentials(str(error))
            logger.warning("seed/refused: spider=%s seed=%r: %s", spider.name, shown, reason)
            fleet.give_up_seed(seed, reason)
            return []

    def _longest_idle(self, spider: Spider) -> float | None:
        """Seconds without work after which the spider closes; None if it never does."""
        settings = self.crawler.settings
        if settings.getbool("UNTIL_DONE"):
            return 0.0
        before_close = settings.getfloat("SCHEDULER_IDLE_BEFORE_CLOSE")
        if not isinstance(spider, RedisMixin):
            return before_close
        if before_close:
            name = "SCHEDULER_IDLE_BEFORE_CLOSE"
            logger.warning("queue/setting_ignored: %s: a RedisSpider uses MAX_IDLE_TIME_BEFORE_CLOSE", name)
        return float(spider.max_idle_time) or None

    async def _drop_fingerprints(self, fleet: Fleet) -> None:
        """The crawl is over. Without SCHEDULER_PERSIST the next one fetches the same pages again."""
        if not self.crawler.settings.getbool("SCHEDULER_PERSIST"):
            await fleet.queue.drop_fingerprints(NO_JOB)


class Idle:
    """Whether nothing has been left to do for long enough."""

    def __init__(self, fleet: Fleet, longest: float | None) -> None:
        self.fleet = fleet
        self.longest = longest
        self._since: float | None = None

    @property
    def wait_seconds(self) -> float:
        """How long to wait for a seed before the next look."""
        return WAKE_UP_SECONDS if self.longest is None else min(WAKE_UP_SECONDS, max(self.longest / 2, 0.5))

    def restart(self) -> None:
        self._since = None

    async def wait(self) -> None:
        """Return when nothing has been left to do for long enough."""
        while not self.fleet.is_closed and not await self.is_over():
            await asyncio.sleep(self.wait_seconds)

    async def is_over(self) -> bool:
        if self.longest is None:
            return False
        if not await self._nothing_left():
            self.restart()
            return False
        if self._since is None:
            self._since = time.monotonic()
        return time.monotonic() - self._since >= self.longest

    async def _nothing_left(self) -> bool:
        """Neither in this process nor in the queue, which other workers may be working on."""
        fleet = self.fleet
        engine = fleet.crawler.engine
        assert engine is not None
        is_busy = len(fleet.outbox) > 0 or len(fleet.ledger) > 0 or bool(fleet.local)
        if is_busy or in_work(engine):
            return False
        return await fleet.nothing_left()


def is_started_by_a_command(spider: Spider) -> bool:
    """Whether `scrapy fetch`, `parse` or `view` replaced the spider's `start`. They must take no requests."""
    return getattr(type(spider).start, "__module__", "").startswith("scrapy.commands.")


def stop_reading_seeds(spider: Any, crawler: Crawler) -> None:
    """Keep scrapy-redis from popping seeds itself, whenever the spider is idle or its methods are called."""
    spider.fetch_data = _no_seeds
    if type(spider).spider_idle is RedisMixin.spider_idle:
        crawler.signals.disconnect(spider.spider_idle, signal=signals.spider_idle)


def _no_seeds(redis_key: str, batch_size: int) -> list[bytes]:
    return []
