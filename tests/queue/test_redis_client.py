"""The clients of Redis wait for it, and repeat what they asked."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis.exceptions import AuthenticationError, DataError, RedisError

from realestate.queue import redis_client
from realestate.queue.connection import connect_blocking, connect_to
from realestate.queue.redis_client import REDIS_ERRORS, AsyncRedis, Waiting, in_one_step
from tests.redis_process import RedisProcess
from tests.relay import Line


@pytest.fixture
def redis(redis_process: RedisProcess) -> RedisProcess:
    redis_process.start()
    return redis_process


@pytest.fixture
def line(redis: RedisProcess) -> Iterator[Line]:
    with Line(redis.url) as line:
        yield line


COMMANDS: list[Callable[[AsyncRedis], Any]] = [
    lambda client: client.set("key", "value"),
    lambda client: client.eval("return redis.call('SET', KEYS[1], 'value')", 1, "key"),
    lambda client: client.register_script("return redis.call('SET', KEYS[1], 'value')")(keys=["key"]),
    lambda client: client.in_one_step(lambda commands: commands.set("key", "value")),
]


@pytest.mark.parametrize("command", COMMANDS, ids=["command", "eval", "script", "transaction"])
def test_a_command_waits_until_redis_is_back(redis: RedisProcess, command: Callable[[AsyncRedis], Any]) -> None:
    async def act() -> None:
        async with connect_to(redis.url) as client:
            await client.ping()
            redis.stop()
            asked = asyncio.ensure_future(command(client))
            done, _ = await asyncio.wait({asked}, timeout=0.5)
            assert not done
            await asyncio.to_thread(redis.start)
            async with asyncio.timeout(30):
                await asked
                assert await client.get("key") == b"value"

    asyncio.run(act())


def test_a_blocking_client_survives_a_restart(redis: RedisProcess) -> None:
    with connect_blocking(redis.url) as client:
        client.set("key", "value")
        redis.stop()
        starting = threading.Timer(0.5, redis.start)
        starting.start()
        assert client.get("key") == b"value"
        redis.stop()
        starting = threading.Timer(0.5, redis.start)
        starting.start()
        assert in_one_step(client, lambda commands: commands.get("key")) == [b"value"]
        starting.join()


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
def test_a_blocking_client_that_never_reached_redis_fails_soon(redis_process: RedisProcess, scheme: str) -> None:
    began = time.monotonic()
    with pytest.raises(REDIS_ERRORS):
        connect_blocking(f"{scheme}://127.0.0.1:{redis_process.port}").ping()
    assert time.monotonic() - began < 20


def test_a_lost_reply_makes_the_client_ask_again(redis: RedisProcess, line: Line) -> None:
    async def act() -> None:
        async with connect_to(line.url) as client:
            line.lose_reply_to(b"HSETNX")
            await client.hsetnx("hash", "field", "value")
            assert line.lost.is_set()
            assert await client.hget("hash", "field") == b"value"

    asyncio.run(asyncio.wait_for(act(), 30))


def test_a_refused_password_is_not_waited_for_unless_it_was_right_before(redis: RedisProcess) -> None:
    async def act() -> None:
        async with connect_to(redis.url) as first:
            await first.config_set("requirepass", "right")
        async with connect_to(redis.url.replace("redis://", "redis://:wrong@")) as client:
            with pytest.raises(AuthenticationError):
                await client.ping()
        async with connect_to(redis.url.replace("redis://", "redis://:right@")) as client:
            await client.ping()
            await client.config_set("requirepass", "other")
            await client.connection_pool.disconnect()
            asked = asyncio.ensure_future(client.ping())
            done, _ = await asyncio.wait({asked}, timeout=0.5)
            assert not done, "somebody is changing the password"
            asked.cancel()

    asyncio.run(act())


def test_an_error_that_would_come_again_is_raised_at_once(redis: RedisProcess) -> None:
    async def act() -> None:
        async with connect_to(redis.url) as client:
            await client.set("key", "value")
            with pytest.raises(RedisError) as caught:
                await client.llen("key")
            assert redis_client.is_wrong_type(caught.value)
            assert redis_client.error_text(caught.value).startswith("WRONGTYPE ")
            with pytest.raises(DataError):
                await client.get(True)  # type: ignore[arg-type]

    asyncio.run(asyncio.wait_for(act(), 10))


def test_a_patience_of_nothing_is_one_try(redis_process: RedisProcess) -> None:
    async def act() -> None:
        async with connect_to(redis_process.url, Waiting(first_seconds=0)) as client:
            with pytest.raises(REDIS_ERRORS):
                await client.ping()

    asyncio.run(asyncio.wait_for(act(), 10))
