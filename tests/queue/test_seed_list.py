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


def test_keys_of_a_wrong_type_are_set_aside(redis_url: str, server: Redis) -> None:
    refused: list[str] = []

    async def act(seeds: SeedList, client: Any) -> None:
        seeds._refused = refused.append
        for key in (keys.start_urls(PORTAL), keys.taken_seeds(PORTAL, "w")):
            server.hset(key, "not", "a list")
            assert await seeds.next(0.1) is None
        server.set(keys.seed_names(PORTAL), "not a hash")
        server.rpush(keys.start_urls(PORTAL), "https://x.example/1")
        assert await seeds.next(1) is None
        found = await seeds.next(1)
        assert found is not None
        server.delete(keys.seed_names(PORTAL))
        server.set(keys.seed_names(PORTAL), "not a hash")
        await seeds.remove(found[1])

    taking(redis_url, act)
    assert [text.partition(" is a ")[0] for text in refused] == [
        keys.start_urls(PORTAL),
        keys.taken_seeds(PORTAL, "w"),
        keys.seed_names(PORTAL),
        keys.seed_names(PORTAL),
    ]
    aside = {name.decode().partition(":wrong_type:")[0] for name in server.scan_iter("*:wrong_type:*")}
    assert aside == {f"{{{keys.start_urls(PORTAL)}}}", keys.taken_seeds(PORTAL, "w"), keys.seed_names(PORTAL)}
    assert not server.exists(keys.taken_seeds(PORTAL, "w"), keys.start_urls(PORTAL))
