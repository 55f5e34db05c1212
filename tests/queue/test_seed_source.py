"""Seeds in a list, a set or a sorted set: a worker takes one, and another gets it if the first one dies."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from scrapy import Spider
from scrapy.settings import Settings

from realestate.queue.seed_source import Kind, SeedSource

KEY = "bookshop:start_urls"
PUSH: dict[Kind, Callable[[Any, str, int], Any]] = {
    "list": lambda server, seed, _: server.rpush(KEY, seed),
    "set": lambda server, seed, _: server.sadd(KEY, seed),
    "zset": lambda server, seed, score: server.zadd(KEY, {seed: score}),
}


def with_client(redis_url: str, act: Callable[[Any], Awaitable[None]]) -> None:
    async def inside() -> None:
        async with AsyncRedis.from_url(redis_url) as client:
            await act(client)

    asyncio.run(asyncio.wait_for(inside(), 30))


@pytest.mark.parametrize("kind", ["list", "set", "zset"])
def test_a_seed_is_taken_removed_or_given_back(redis_url: str, server: Redis, kind: Kind) -> None:
    source = SeedSource(KEY, kind)
    for score, seed in enumerate(("https://x.example/low", "https://x.example/high")):
        PUSH[kind](server, seed, score)
    mine, dead = source.taken_by("w"), source.taken_by("dead")

    async def act(client: Any) -> None:
        assert await source.count(client) == 2
        first = await source.take(client, mine, 1)
        second = await source.take(client, dead, 1)
        assert {first, second} == {b"https://x.example/low", b"https://x.example/high"}
        assert await source.take(client, mine, 0.1) is None
        assert first is not None
        await source.remove(client, mine, first)
        assert await source.taken(client, mine) == []
        await source.give_back(client, dead)
        assert await source.count(client) == 1
        assert await source.count(client, dead) == 0
        assert await source.take(client, mine, 1) == second
        if kind == "zset":
            assert first == b"https://x.example/high", "the highest score first, as in scrapy-redis"

    with_client(redis_url, act)


def test_a_seed_of_a_sorted_set_keeps_its_score(redis_url: str, server: Redis) -> None:
    source = SeedSource(KEY, "zset")
    server.zadd(KEY, {"https://x.example/": 7})

    async def act(client: Any) -> None:
        await source.take(client, source.taken_by("dead"), 1)
        await source.give_back(client, source.taken_by("dead"))

    with_client(redis_url, act)
    assert server.zscore(KEY, "https://x.example/") == 7


@pytest.mark.parametrize(
    ("redis_key", "settings", "expected"),
    [
        (None, {}, SeedSource("any:start_urls")),
        ("own", {}, SeedSource("own")),
        ("own", {"REDIS_START_URLS_AS_SET": True}, SeedSource("own", "set")),
        ("own", {"REDIS_START_URLS_AS_ZSET": True}, SeedSource("own", "zset")),
    ],
)
def test_the_spider_and_the_settings_say_where_seeds_are(
    redis_key: str | None, settings: dict[str, Any], expected: SeedSource
) -> None:
    spider = Spider("any", redis_key=redis_key)
    assert SeedSource.of_spider(spider, Settings(settings)) == expected
