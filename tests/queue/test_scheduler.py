"""How leases are settled for every outcome of a request. The engine does not run; Redis is real."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest
from redis import Redis
from scrapy import Request
from scrapy.crawler import Crawler

from realestate.queue import keys
from realestate.queue.buffer import monotonic_ms
from realestate.queue.dead_letters import DeadLetters
from realestate.queue.engine import LEASE
from realestate.queue.fleet import SWALLOWED_HEARTBEATS
from realestate.queue.packing import PARENT
from realestate.queue.scheduler import Scheduler
from realestate.spiders.immoweb import ImmowebSpider
from tests.redis_process import RedisProcess

Run = Callable[..., Any]
LISTING = "https://www.immoweb.be/en/classified/21000001"


async def until(true: Callable[[], Any]) -> Any:
    for _ in range(1000):
        if value := true():
            return value
        await asyncio.sleep(0.01)
    raise AssertionError("still waiting")


async def next_request(scheduler: Scheduler) -> Request:
    request: Request = await until(scheduler.next_request)
    return request


@pytest.fixture
def run(redis_url: str, server: Redis, make_crawler: Callable[..., Crawler]) -> Run:
    def with_scheduler(act: Callable[[Scheduler], Awaitable[Any]], **changes: Any) -> Any:
        async def inside() -> Any:
            crawler = make_crawler(ImmowebSpider, **{"REDIS_URL": redis_url, "ROBOTSTXT_OBEY": False, **changes})
            spider = crawler.spider = ImmowebSpider.from_crawler(crawler)
            scheduler = Scheduler.from_crawler(crawler)
            downloader, scraper = SimpleNamespace(active=set()), SimpleNamespace(slot=None)
            crawler.engine = SimpleNamespace(  # type: ignore[assignment]
                scheduler=scheduler, downloader=downloader, scraper=scraper, _slot=None
            )
            scheduler.open(spider)
            try:
                return await act(scheduler)
            finally:
                await scheduler.fleet.close()

        return asyncio.run(inside())

    return with_scheduler


def listing(scheduler: Scheduler, **parts: Any) -> Request:
    spider: Any = scheduler.spider
    request: Request = spider.check(LISTING, "j", "full")
    changed: Request = request.replace(**parts)
    return changed


def where(server: Redis) -> dict[str, int]:
    """How many requests are in each place."""
    places = {"ready": keys.ready, "delayed": keys.delayed, "in flight": keys.inflight, "dead": keys.dead_letter_times}
    counted: dict[str, Any] = {name: server.zcard(key("immoweb")) for name, key in places.items()}
    return {name: count for name, count in counted.items() if count}


async def taken(scheduler: Scheduler) -> Request:
    scheduler.enqueue_request(listing(scheduler))
    scheduler.fleet.serve()
    return await next_request(scheduler)


def test_nothing_is_leased_before_the_worker_serves(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        scheduler.enqueue_request(listing(scheduler))
        await scheduler.fleet.outbox.flush()
        assert scheduler.next_request() is None
        await asyncio.sleep(0.05)
        assert scheduler.next_request() is None

    run(act)
    assert where(server) == {"ready": 1}


def test_a_request_of_the_shell_stays_in_its_process(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        own = Request(LISTING, callback=print)
        assert scheduler.enqueue_request(own)
        assert scheduler.next_request() is own

    run(act)
    assert where(server) == {}


def test_a_request_may_ask_to_be_sent_later(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> dict[str, int]:
        scheduler.fleet.serve()
        await scheduler.fleet.queue.heartbeat("other", b"{}", [])
        asked_at = monotonic_ms()
        scheduler.fleet.buffer.set_clock((await scheduler.fleet.queue.take("other", 0)).now, asked_at)
        scheduler.enqueue_request(listing(scheduler, meta={"stage": "extract", "job": "j", "delay_seconds": 600}))
        await until(lambda: where(server))
        return where(server)

    assert run(act) == {"delayed": 1}


def test_a_page_is_done_when_its_callback_has_finished(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        request = await taken(scheduler)
        assert where(server) == {"in flight": 1}
        scheduler.fleet.finished(request)
        await until(lambda: where(server) == {})

    run(act)


def test_a_page_is_not_done_before_its_items_are_durable(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        request = await taken(scheduler)
        key = request.meta[LEASE]
        first, second = scheduler.fleet.ledger.hold(key), scheduler.fleet.ledger.hold(key)
        scheduler.fleet.ledger.finished(key)
        first.release()
        await scheduler.fleet.outbox.flush()
        assert where(server) == {"in flight": 1}
        second.release()
        await until(lambda: where(server) == {})

    run(act)


def test_children_are_sent_before_their_page_is_done(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        request = await taken(scheduler)
        scheduler.fleet.stop_serving()
        for dont_filter in (False, True, True):
            child = listing(scheduler, url=LISTING + "2", dont_filter=dont_filter)
            child.meta[PARENT] = request.meta[LEASE]
            assert scheduler.enqueue_request(child)
        await until(lambda: where(server) == {"ready": 3, "in flight": 1})
        scheduler.fleet.finished(request)
        await until(lambda: where(server) == {"ready": 3})

    run(act)


def test_a_redirect_keeps_its_lease(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        request = await taken(scheduler)
        redirected = request.replace(url=LISTING + "?redirected")
        assert scheduler.enqueue_request(redirected)
        assert scheduler.next_request() is redirected
        assert where(server) == {"in flight": 1}
        scheduler.fleet.finished(redirected)
        await until(lambda: where(server) == {})

    run(act, RATE_LIMIT=0)


def test_a_redirect_at_a_site_with_a_rate_limit_gets_its_own_send_slot(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        request = await taken(scheduler)
        scheduler.enqueue_request(request.replace(url=LISTING + "?redirected"))
        again = await next_request(scheduler)
        assert again.url == LISTING + "?redirected"
        assert again.meta[LEASE] != request.meta[LEASE]
        held = scheduler.fleet.ledger.get(again.meta[LEASE])
        assert held is not None
        assert held.lease.tries == 0, "a redirect is not a failure"
        scheduler.fleet.finished(again)
        await until(lambda: where(server) == {})

    run(act, RATE_LIMIT=50)


def test_a_retry_waits_in_the_queue_for_any_worker(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        request = await taken(scheduler)
        again = request.replace(meta={**request.meta, "retry_times": 1})
        assert scheduler.enqueue_request(again)
        await scheduler.fleet.outbox.flush()
        assert where(server) in ({"delayed": 1}, {"in flight": 1})
        second = await next_request(scheduler)
        assert second.meta["retry_times"] == 1
        assert second.meta[LEASE] != request.meta[LEASE]
        scheduler.fleet.finished(second)
        await until(lambda: where(server) == {})

    run(act, RETRY_DELAY_SECONDS=0.2)


def test_a_request_that_is_given_up_becomes_a_dead_letter_after_its_callback(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> dict[str, Any]:
        request = await taken(scheduler)
        scheduler.fleet.give_up("http", "status 403", request, url=request.url, status=403)
        scheduler.fleet.finished(request)
        await until(lambda: where(server) == {"dead": 1})
        (letter,) = await DeadLetters(scheduler.fleet.queue).newest()
        return letter.details

    details = run(act)
    assert (details["reason"], details["error"], details["url"], details["job"], details["tries"]) == (
        "http",
        "status 403",
        LISTING,
        "j",
        1,
    )


def test_a_malformed_value_is_a_dead_letter_and_the_next_is_taken(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> str:
        head = b"".join(msgpack.packb(part) for part in (0, 0, "j", "extract"))
        server.hset(keys.requests("immoweb"), "bad", head + b"garbage")
        server.zadd(keys.ready("immoweb"), {"bad": -(2.0**60), "no body": -(2.0**61)})
        request = await taken(scheduler)
        scheduler.fleet.finished(request)
        await until(lambda: where(server) == {"dead": 1})
        (letter,) = await DeadLetters(scheduler.fleet.queue).newest()
        return str(letter.details["reason"])

    assert run(act) == "malformed"


def test_a_request_that_a_middleware_swallows_is_not_held_forever(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> str:
        await taken(scheduler)
        for _ in range(SWALLOWED_HEARTBEATS):
            assert where(server) == {"in flight": 1}
            await scheduler.fleet.heartbeat(b"{}")
        await until(lambda: where(server) == {"dead": 1})
        (letter,) = await DeadLetters(scheduler.fleet.queue).newest()
        return str(letter.details["reason"])

    assert run(act) == "swallowed"


def test_a_request_in_download_is_not_taken_for_swallowed(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        request = await taken(scheduler)
        assert scheduler.crawler.engine is not None
        scheduler.crawler.engine.downloader.active.add(request)
        for _ in range(2 * SWALLOWED_HEARTBEATS):
            await scheduler.fleet.heartbeat(b"{}")
        assert where(server) == {"in flight": 1}
        scheduler.fleet.finished(request)

    run(act)


def test_a_worker_that_stops_hands_back_requests_that_were_not_sent(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        request = await taken(scheduler)
        for number in range(5):
            scheduler.enqueue_request(listing(scheduler, url=f"{LISTING}{number}"))
        await until(lambda: where(server).get("in flight") == 6)
        scheduler.fleet.stop_serving()
        await until(lambda: where(server) == {"ready": 5, "in flight": 1})
        scheduler.fleet.finished(request)

    run(act, RATE_LIMIT=0.001, RATE_LIMIT_BURST=100)
    assert where(server) == {"ready": 5}


def test_a_paused_portal_gets_its_buffer_back(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> None:
        for number in range(6):
            scheduler.enqueue_request(listing(scheduler, url=f"{LISTING}{number}"))
        scheduler.fleet.serve()
        await next_request(scheduler)
        await until(lambda: where(server) == {"in flight": 6})
        await scheduler.fleet.queue.pause("a test", "somebody")
        await scheduler.fleet.heartbeat(b"{}")
        await until(lambda: where(server) == {"ready": 5, "in flight": 1})
        assert len(scheduler.fleet.buffer) == 0

    run(act)


def test_while_redis_is_away_nothing_is_raised_and_nothing_is_lost(run: Run, redis_process: RedisProcess) -> None:
    async def act(scheduler: Scheduler) -> set[str]:
        scheduler.fleet.serve()
        assert scheduler.enqueue_request(listing(scheduler, url=f"{LISTING}1"))
        assert scheduler.next_request() is None
        await asyncio.sleep(0.2)
        redis_process.start()
        first = await next_request(scheduler)
        redis_process.stop()
        assert scheduler.enqueue_request(listing(scheduler, url=f"{LISTING}2"))
        scheduler.fleet.finished(first)
        await asyncio.sleep(0.2)
        redis_process.start()
        second = await next_request(scheduler)
        scheduler.fleet.finished(second)
        await until(lambda: len(scheduler.fleet.outbox) == 0)
        return {first.url, second.url}

    assert run(act, REDIS_URL=redis_process.url) == {f"{LISTING}1", f"{LISTING}2"}
