"""Keys of version 0.1 are renamed once, on a real Redis, and nothing that they hold is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis import Redis

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.migration import RENAMED_FIELDS, RENAMED_KEYS, migrate_keys
from realestate.queue.proxy_health import ProxyHealth, ProxyHealthStore, ProxyRef
from realestate.queue.rate_limit import RateLimit
from realestate.queue.request_queue import QueueSettings, RequestQueue

Run = Callable[[Callable[[RequestQueue], Awaitable[Any]]], Any]
#: A proxy's health as version 0.1 stored it.
OLD_HEALTH = '{"condition":"cooling","rate":1.5,"session":2,"until":99999999999999,"alone":false,"answers":40}'


@pytest.fixture
def run(redis_url: str, server: Redis) -> Run:
    def with_queue(act: Callable[[RequestQueue], Awaitable[Any]]) -> Any:
        async def connected() -> Any:
            client = connect_to(redis_url)
            try:
                return await act(RequestQueue(client, "p", QueueSettings(buckets=64)))
            finally:
                await client.aclose()

        return asyncio.run(connected())

    return with_queue


@pytest.fixture
def old(server: Redis) -> Redis:
    """What version 0.1 left: a paused portal with a Crawl-delay, and a proxy that rests."""
    server.hset("{p}:pace", mapping={"paused": "1", "factor": "0.5", "floor": "3000", "reason": "status 429"})
    server.hset("{p}:floors", "https://www.example.com", "3000")
    server.hset("{p}:exits", "a", OLD_HEALTH)
    server.hset("{p}:exits:free", "a", "1000")
    server.hset("{p}:exits:asked", "a", "900")
    return server


def test_the_old_keys_are_renamed_with_their_values(run: Run, old: Redis) -> None:
    before = {new: old.hgetall(f"{{p}}:{name}") for name, new in RENAMED_KEYS}
    assert run(migrate_keys) == len(RENAMED_KEYS) + len(RENAMED_FIELDS)
    assert [name for name, _ in RENAMED_KEYS if old.exists(f"{{p}}:{name}")] == []
    before["rate_limit"][b"crawl_delay"] = before["rate_limit"].pop(b"floor")
    assert {new: old.hgetall(f"{{p}}:{new}") for _, new in RENAMED_KEYS} == before


def test_the_new_version_reads_what_the_old_one_wrote(run: Run, old: Redis) -> None:
    async def act(queue: RequestQueue) -> dict[str, ProxyHealth]:
        taken = await queue.take("w", 1)
        assert taken.paused, "a portal that was paused stays paused"
        queue.proxies = [ProxyRef("a")]
        return await ProxyHealthStore(queue, lambda: 0.0).all()

    health = run(act)["a"]
    assert (health.condition, health.rate, health.session, health.one_at_a_time, health.responses) == (
        "cooling",
        1.5,
        2,
        False,
        40,
    )
    stored: Any = old.hgetall(keys.rate_limit("p"))
    limit = RateLimit.read(stored, 0.0)
    assert (limit.paused, limit.crawl_delay_seconds, limit.reason) == (True, 3.0, "status 429")


def test_a_second_migration_changes_nothing(run: Run, old: Redis) -> None:
    run(migrate_keys)
    after = {key: old.hgetall(key) for key in old.keys("*")}
    assert run(migrate_keys) == 0
    assert {key: old.hgetall(key) for key in old.keys("*")} == after


def test_a_new_key_is_not_overwritten(run: Run, old: Redis) -> None:
    """A worker of the old version that still runs writes its old keys again. They are ignored."""
    old.hset("{p}:rate_limit", mapping={"factor": "1", "crawl_delay": "1000"})
    run(migrate_keys)
    assert old.hgetall("{p}:rate_limit") == {b"factor": b"1", b"crawl_delay": b"1000"}
    assert old.hget("{p}:pace", "factor") == b"0.5"


def test_resume_of_a_portal_that_the_old_version_paused(run: Run, old: Redis) -> None:
    run(lambda queue: queue.resume())
    assert old.hget("{p}:rate_limit", "paused") is None
    assert old.exists("{p}:pace") == 0


def test_without_old_keys_nothing_is_written(run: Run, server: Redis) -> None:
    assert run(migrate_keys) == 0
    assert server.keys("*") == []


def test_the_table_of_keys_contains_only_new_names() -> None:
    assert keys.__doc__ is not None
    for old_name, new_name in RENAMED_KEYS:
        assert f"`{{<portal>}}:{old_name}`" not in keys.__doc__
        assert f"`{{<portal>}}:{new_name}`" in keys.__doc__
