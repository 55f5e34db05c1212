"""A seed is taken once, also when a reply of Redis is lost or late."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from redis import Redis
from scrapy.statscollectors import DummyStatsCollector, StatsCollector

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.seeds import SeedList

PORTAL = "immoweb"


def taking(redis_url: str, act: Callable[[SeedList, Any], Awaitable[None]]) -> None:
    async def inside() -> None:
        async with connect_to(redis_url) as client:
            stats = cast(StatsCollector, DummyStatsCollector.__new__(DummyStatsCollector))
            await act(SeedList(client, PORTAL, "w", stats), client)

    asyncio.run(asyncio.wait_for(inside(), 30))


def test_a_seed_that_is_removed_while_the_list_is_read_is_not_taken_again(
    redis_url: str, server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.rpush(keys.start_urls(PORTAL), "https://x.example/1")

    async def act(seeds: SeedList, client: Any) -> None:
        first = await seeds.next(1)
        assert first is not None
        asked = client.lrange

        async def answered_late(*args: Any) -> Any:
            answer = await asked(*args)
            await seeds.remove(first[1])
            return answer

        monkeypatch.setattr(client, "lrange", answered_late)
        assert await seeds.next(1) is None

    taking(redis_url, act)
    assert server.llen(keys.taken_seeds(PORTAL, "w")) == 0


def test_a_seed_that_was_moved_in_a_lost_reply_is_taken(redis_url: str, server: Redis) -> None:
    server.rpush(keys.taken_seeds(PORTAL, "w"), "https://x.example/1", "https://x.example/1")

    async def act(seeds: SeedList, client: Any) -> None:
        first, second = await seeds.next(1), await seeds.next(1)
        assert first is not None
        assert second is not None
        assert first[0] == second[0] == b"https://x.example/1"
        assert first[1] != second[1], "two seeds, though they are the same"
        assert await seeds.next(1) is None

    taking(redis_url, act)
