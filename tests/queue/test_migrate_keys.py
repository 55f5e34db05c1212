"""The keys of version 0.1 keep their contents under the new names."""

import asyncio
from typing import Any

from redis import Redis

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.migrate_keys import RENAMED_KEYS, migrate_keys
from realestate.queue.proxy_health import ProxyHealth, ProxyHealthStore, ProxyRef
from realestate.queue.rate_limit import RateLimit
from realestate.queue.request_queue import QueueSettings, RequestQueue


def old_fleet(server: Redis) -> None:
    """What a stopped fleet of version 0.1 leaves behind."""
    server.hset("{bina}:letters", "1", '{"reason": "http", "error": "status 500"}')
    server.zadd("{bina}:dead", {"1": 1_700_000_000_000})
    server.hset("{bina}:pace", mapping={"paused": "1", "floor": "3000", "reason": "status 429"})
    server.hset("{bina}:floors", "https://www.example.com", "3000")
    server.hset("{bina}:exits", "p", '{"condition": "cooling", "rate": 2.0, "alone": false, "answers": 40}')
    server.hset("{bina}:exits:free", "p", "1000")
    server.hset("{bina}:exits:asked", "p", "900")
    server.hset("{bina}:open", "j", '{"mode": "full"}')
    server.sadd("{bina}:departed", "w")


def with_queue(redis_url: str, act: Any) -> Any:
    """The result of `act(queue)`."""

    async def inside() -> Any:
        client = connect_to(redis_url)
        try:
            return await act(RequestQueue(client, "bina", QueueSettings()))
        finally:
            await client.aclose()

    return asyncio.run(inside())


def migrate(redis_url: str) -> int:
    """Returns the number of keys that were renamed."""

    return int(with_queue(redis_url, migrate_keys))


def test_old_keys_are_renamed_once(server: Redis, redis_url: str) -> None:
    old_fleet(server)
    assert migrate(redis_url) == 10
    assert migrate(redis_url) == 0
    assert server.hkeys(keys.dead_letters("bina")) == [b"1"]
    assert server.zcard(keys.dead_letter_times("bina")) == 1
    assert server.hget(keys.rate_limit("bina"), "paused") == b"1"
    assert server.hlen(keys.proxies("bina")) == 1
    assert server.hlen(keys.open_jobs("bina")) == 1
    assert server.smembers(keys.dead_workers("bina")) == {b"w"}
    assert not any(server.exists(f"{{bina}}:{old}") for old in RENAMED_KEYS)


def test_a_new_key_is_not_overwritten(server: Redis, redis_url: str) -> None:
    old_fleet(server)
    server.hset(keys.rate_limit("bina"), "paused", "0")
    assert migrate(redis_url) == 8
    assert server.hgetall(keys.rate_limit("bina")) == {b"paused": b"0"}


def test_what_was_learned_about_sites_and_proxies_is_kept(server: Redis, redis_url: str) -> None:
    async def proxy_health(queue: RequestQueue) -> ProxyHealth:
        queue.proxies = [ProxyRef("p")]
        return (await ProxyHealthStore(queue, lambda: 0.0).all())["p"]

    old_fleet(server)
    migrate(redis_url)
    stored: Any = server.hgetall(keys.rate_limit("bina"))
    limit = RateLimit.read(stored, 0.0)
    assert (limit.paused, limit.crawl_delay_seconds, limit.reason) == (True, 3.0, "status 429")
    health = with_queue(redis_url, proxy_health)
    assert (health.condition, health.rate, health.one_at_a_time, health.responses) == ("cooling", 2.0, False, 40)
    assert server.hgetall("{bina}:proxies:free_at") == {b"p": b"1000"}
    assert server.hgetall("{bina}:proxies:used_at") == {b"p": b"900"}
    assert server.hgetall("{bina}:crawl_delays") == {b"https://www.example.com": b"3000"}


def test_a_portal_that_the_old_version_paused_can_be_resumed_before_a_worker_starts(
    server: Redis, redis_url: str
) -> None:
    old_fleet(server)
    with_queue(redis_url, lambda queue: queue.resume())
    migrate(redis_url)
    assert server.hget(keys.rate_limit("bina"), "paused") is None


def test_without_old_keys_nothing_is_written(server: Redis, redis_url: str) -> None:
    assert migrate(redis_url) == 0
    assert server.keys("*") == []
