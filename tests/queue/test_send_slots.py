"""A request that was delayed on its way to the site gets another send slot. On a real queue."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Redis
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from realestate.queue.engine import LEASE
from realestate.queue.scheduler import Scheduler
from realestate.queue.send_slots import MISSED, MISSED_MAX, SendSlotMiddleware
from realestate.spiders.immoweb import ImmowebSpider

LISTING = "https://www.immoweb.be/en/classified/2100000{}"
Run = Callable[..., Any]


class Worker:
    """A worker with the middleware and without a site."""

    def __init__(self, crawler: Crawler) -> None:
        self.stats = crawler.stats
        spider = crawler.spider = ImmowebSpider.from_crawler(crawler)
        self.scheduler = Scheduler.from_crawler(crawler)
        crawler.engine = SimpleNamespace(scheduler=self.scheduler, _slot=None)  # type: ignore[assignment]
        self.scheduler.open(spider)
        self.middleware = SendSlotMiddleware.from_crawler(crawler)

    async def take(self, count: int) -> list[Request]:
        taken: list[Request] = []
        while len(taken) < count:
            if request := self.scheduler.next_request():
                taken.append(request)
            await asyncio.sleep(0.01)
        return taken

    def send_at(self, request: Request) -> float:
        held = self.scheduler.fleet.ledger.get(request.meta[LEASE])
        assert held is not None
        return held.lease.send_at

    @property
    def missed(self) -> int:
        assert self.stats is not None
        return int(self.stats.get_value("rate_limit/missed", 0))


@pytest.fixture
def run(redis_url: str, server: Redis, make_crawler: Callable[..., Crawler]) -> Run:
    def inside(act: Callable[[Worker], Awaitable[Any]], rate: float, count: int = 1) -> Any:
        async def connected() -> Any:
            worker = Worker(make_crawler(ImmowebSpider, REDIS_URL=redis_url, RATE_LIMIT=rate))
            scheduler = worker.scheduler
            try:
                for number in range(count):
                    asked: Any = scheduler.spider
                    scheduler.enqueue_request(asked.check(LISTING.format(number), "j", "full"))
                scheduler.fleet.serve()
                async with asyncio.timeout(60):
                    return await act(worker)
            finally:
                await scheduler.fleet.close()

        return asyncio.run(connected())

    return inside


def test_a_request_in_time_is_sent(run: Run) -> None:
    async def act(worker: Worker) -> None:
        (request,) = await worker.take(1)
        assert worker.middleware.process_request(request) is None
        assert worker.missed == 0

    run(act, rate=0.01)


def test_requests_that_were_delayed_together_are_spaced_again(run: Run, server: Redis) -> None:
    async def act(worker: Worker) -> None:
        held_up = await worker.take(2)
        time.sleep(0.3)  # the process is suspended
        for request in held_up:
            again = worker.middleware.process_request(request)
            assert again is not None
            assert again is not request
            assert worker.scheduler.enqueue_request(again)
        assert worker.missed == 2
        later = await worker.take(2)
        assert {request.url for request in later} == {request.url for request in held_up}
        assert [request.meta[MISSED] for request in later] == [1, 1]
        assert all("retry_times" not in request.meta for request in later), "the delay does not count as a retry"
        first, second = sorted(map(worker.send_at, later))
        assert second - first >= 100

    run(act, rate=10, count=2)


def test_a_request_that_is_always_late_is_sent_in_the_end(run: Run) -> None:
    """If the middlewares before take longer than an interval, nothing would ever be sent."""

    async def act(worker: Worker) -> None:
        for _ in range(MISSED_MAX):
            (request,) = await worker.take(1)
            time.sleep(0.15)
            again = worker.middleware.process_request(request)
            assert again is not None
            worker.scheduler.enqueue_request(again)
        (request,) = await worker.take(1)
        time.sleep(0.15)
        assert worker.middleware.process_request(request) is None
        assert worker.missed == MISSED_MAX
        assert MISSED not in request.meta

    run(act, rate=10)


def test_a_request_without_a_send_slot_cannot_miss_it(run: Run) -> None:
    async def act(worker: Worker) -> None:
        assert worker.middleware.process_request(Request("https://www.immoweb.be/robots.txt")) is None

    run(act, rate=10, count=0)


def test_without_a_rate_limit_send_slots_are_not_checked(make_crawler: Callable[..., Crawler]) -> None:
    with pytest.raises(NotConfigured):
        SendSlotMiddleware.from_crawler(make_crawler(ImmowebSpider, RATE_LIMIT=0))
