"""The keys of version 0.1 keep their contents under the new names."""

import asyncio

from redis import Redis

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.migrate_keys import RENAMED_KEYS, migrate_keys
from realestate.queue.request_queue import QueueSettings, RequestQueue


def old_fleet(server: Redis) -> None:
    """What a stopped fleet of version 0.1 leaves behind."""
    server.hset("{bina}:letters", "1", '{"reason": "http", "error": "status 500"}')
    server.zadd("{bina}:dead", {"1": 1_700_000_000_000})
    server.hset("{bina}:pace", "paused", "1")
    server.hset("{bina}:exits", "p", '{"rate": 2.0}')
    server.hset("{bina}:open", "j", '{"mode": "full"}')
    server.sadd("{bina}:departed", "w")


def migrate(redis_url: str) -> int:
    """Returns the number of keys that were renamed."""

    async def inside() -> int:
        client = connect_to(redis_url)
        try:
            return await migrate_keys(RequestQueue(client, "bina", QueueSettings()))
        finally:
            await client.aclose()

    return asyncio.run(inside())


def test_old_keys_are_renamed_once(server: Redis, redis_url: str) -> None:
    old_fleet(server)
    assert migrate(redis_url) == 6
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
    assert migrate(redis_url) == 5
    assert server.hget(keys.rate_limit("bina"), "paused") == b"0"
