"""One line when a server is away, and one when it is back, for the whole process."""

import asyncio
import logging
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisAway
from scrapy.statscollectors import MemoryStatsCollector

from realestate.queue import outage
from realestate.queue.dead_workers import DeadWorkers
from realestate.queue.outage import REFUSAL_SECONDS, SETTLE_SECONDS, Outage
from realestate.queue.redis_client import _repeat, for_ever


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def redis(clock: Clock) -> Outage:
    return Outage("Redis", "queue/redis_away", "queue/redis_back", clock)


def first_words(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(":")[0] for record in caplog.records]


def test_many_failures_are_one_line_and_the_end_is_one_line_with_the_duration(
    redis: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(15):
        for _ in range(12):
            redis.failed("taking", "refused", second + 1)
        clock.now += 1
    for _ in range(12):
        redis.succeeded(clock.now)
    assert [record.getMessage() for record in caplog.records] == [
        "queue/redis_away: Redis is not available while taking: refused; trying again",
        "queue/redis_back: Redis is available again after 15.0 s; 180 calls failed",
    ]
    assert not redis.is_away


def test_a_reply_to_a_call_from_before_the_outage_does_not_end_it(redis: Outage, clock: Clock) -> None:
    asked_at = clock.now
    clock.now += 0.1
    redis.failed("taking", "refused")
    redis.succeeded(asked_at)
    assert redis.is_away


def test_a_server_that_only_refuses_writes_is_one_outage(
    redis: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(30):
        redis.failed("calling SET", "OOM", second + 1, is_refused=True)
        redis.succeeded(clock.now)  # a call that reads
        clock.now += 1
    assert first_words(caplog) == ["queue/redis_away"]
    redis.succeeded(clock.now, failures=30)
    assert first_words(caplog) == ["queue/redis_away", "queue/redis_back"]


def test_a_refusal_ends_although_nobody_tries_the_refused_call_again(redis: Outage, clock: Clock) -> None:
    redis.failed("calling SET", "OOM", 2, is_refused=True)
    redis.succeeded(clock.now)
    assert redis.is_away
    clock.now += REFUSAL_SECONDS
    redis.succeeded(clock.now)
    assert not redis.is_away


def test_a_connection_from_before_that_breaks_after_the_end_is_no_new_outage(
    redis: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    redis.failed("taking", "refused")
    redis.succeeded(clock.now)
    redis.failed("pushing", "reset")
    assert first_words(caplog) == ["queue/redis_away", "queue/redis_back"]
    redis.failed("pushing", "reset", 2)
    redis.succeeded(clock.now)
    clock.now += SETTLE_SECONDS
    redis.failed("pushing", "reset")
    assert first_words(caplog)[2:] == ["queue/redis_away", "queue/redis_back", "queue/redis_away"]


def test_idle_connections_that_break_long_after_the_end_are_no_new_outage(
    redis: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    redis.failed("taking", "refused", 1)
    clock.now += 1
    redis.failed("taking", "refused", 2)
    redis.succeeded(clock.now)
    clock.now += 3600
    for _ in range(9):
        redis.failed("taking", "Connection closed by server.", 1)
    clock.now += 0.1
    redis.succeeded(clock.now)
    assert first_words(caplog) == ["queue/redis_away", "queue/redis_back"]
    clock.now += 3600
    redis.failed("taking", "refused", 1)
    clock.now += 0.1
    redis.failed("taking", "refused", 2)
    clock.now += 5
    redis.succeeded(clock.now)
    assert caplog.records[-1].getMessage() == (
        "queue/redis_back: Redis is available again after 5.1 s; 2 calls failed"
    ), "it counts from the first failure of this outage"


def test_the_calls_of_a_worker_use_it(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(outage, "REDIS", Outage("Redis", "queue/redis_away", "queue/redis_back"))
    left = 3

    async def act() -> str:
        nonlocal left
        if left:
            left -= 1
            raise RedisAway("refused")
        return "done"

    stats = MemoryStatsCollector.__new__(MemoryStatsCollector)
    stats._stats = {}
    results: Any = asyncio.run(_both(act, stats))
    assert results == ["done", "done"]
    assert first_words(caplog) == ["queue/redis_away", "queue/redis_back"]


async def _both(act: Any, stats: Any) -> list[str]:
    waiting = for_ever(stats)
    return list(await asyncio.gather(*(_repeat(waiting, act, "calling GET") for _ in range(2))))


def test_a_dead_process_is_one_line_for_all_portals(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("realestate.queue.dead_workers.GATHER_SECONDS", 0.0)
    caplog.set_level(logging.INFO)

    async def find() -> None:
        dead = DeadWorkers()
        dead.found("immoweb", {"host:7:aaaaaa": 16})
        dead.found("emlak", {"host:7:bbbbbb": 7})
        dead.found("tap", {"host:7:cccccc": 0})
        dead.found("bina", {})
        await asyncio.sleep(0.01)

    asyncio.run(find())
    assert [record.getMessage() for record in caplog.records] == [
        "worker/dead: host:7 sends no heartbeats; 23 requests are ready again: emlak 7, immoweb 16"
    ]
