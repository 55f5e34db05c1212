"""A pause has a reason, a time and an owner; one that a worker made ends by itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from redis import Redis

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.rate_limit import RateLimit
from realestate.queue.request_queue import QueueSettings, RequestQueue


def on_queue(redis_url: str, act: Callable[[RequestQueue], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        server = connect_to(redis_url)
        try:
            return await act(RequestQueue(server, "emlak", QueueSettings()))
        finally:
            await server.aclose()

    return asyncio.run(run())


def limit_of(server: Redis, seconds_later: float = 0.0) -> RateLimit:
    seconds, micros = server.time()
    return RateLimit.read(server.hgetall(keys.rate_limit("emlak")), (seconds + seconds_later) * 1000 + micros / 1000)  # type: ignore[arg-type]


def test_a_pause_says_who_made_it_and_why(redis_url: str, server: Redis) -> None:
    on_queue(redis_url, lambda queue: queue.pause("they asked us to", "anna@desk"))
    limit = limit_of(server, seconds_later=10**6)
    assert limit.paused
    assert not limit.is_paused_by_worker
    assert (limit.paused_reason, limit.paused_by) == ("they asked us to", "anna@desk")
    assert limit.paused_at > 0


def test_a_pause_that_a_worker_made_ends_by_itself(redis_url: str, server: Redis) -> None:
    async def pause_and_take(queue: RequestQueue) -> tuple[bool, bool]:
        await queue.pause("ban pages", "worker", seconds=0.2)
        taken = await queue.take("w", 1)
        first = taken.paused
        assert taken.ask_again_at > taken.now
        await asyncio.sleep(0.25)
        return first, (await queue.take("w", 1)).paused

    assert on_queue(redis_url, pause_and_take) == (True, False)
    assert not limit_of(server).paused
    assert not server.hexists(keys.rate_limit("emlak"), "paused_reason")


def test_a_worker_never_shortens_the_pause_of_a_person(redis_url: str, server: Redis) -> None:
    async def pauses(queue: RequestQueue) -> bool:
        await queue.pause("they asked us to", "anna@desk")
        await queue.pause("ban pages", "worker", seconds=0.1)
        return await queue.resume(automatic=True)

    assert on_queue(redis_url, pauses) is False
    assert limit_of(server).paused_by == "anna@desk"


def test_a_page_that_is_read_twice_uses_a_limit_once(redis_url: str, server: Redis) -> None:
    async def grants(queue: RequestQueue) -> list[tuple[int, int]]:
        return [
            await queue.grant("j", "page=1", 30, 40),
            await queue.grant("j", "page=1", 30, 40),
            await queue.grant("j", "page=2", 30, 40),
            await queue.grant("j", "page=3", 30, 40),
            await queue.grant("other", "page=1", 30, 40),
        ]

    assert on_queue(redis_url, grants) == [(30, 10), (30, 10), (10, 0), (0, 0), (30, 10)]
    assert server.ttl(keys.limit("emlak", "j")) > 0
