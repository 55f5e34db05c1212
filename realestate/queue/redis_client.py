"""The clients of Redis. Every command waits until Redis is available, whoever sends it.

Redis may restart, fail over, load its data, be out of memory or disk space, or not be there yet. A command whose reply
was lost is sent again, so each script and each command of ours must be safe to repeat. No other module of the project
makes a client of redis-py or calls `pipeline`, which does not wait: `in_one_step` does (a test looks for both).

A worker waits as long as it takes (`FOR_EVER`). A command that a person runs waits for a short time (`BRIEFLY`): it
ends with an error soon if Redis was never reached, and survives a restart of Redis in the middle.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import redis
from redis import asyncio as aioredis
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    DataError,
    RedisClusterException,
    RedisError,
    ResponseError,
)

from realestate.queue import outage

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

T = TypeVar("T")

#: All errors of redis-py. Those of a cluster that cannot be reached do not derive from RedisError.
REDIS_ERRORS = (RedisError, RedisClusterException, OSError)

FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
#: Error codes of Redis that pass by themselves.
TEMPORARY_ERRORS = (
    "OOM",
    "READONLY",
    "LOADING",
    "BUSY",
    "MASTERDOWN",
    "NOREPLICAS",
    "MISCONF",
    "TRYAGAIN",
    "CLUSTERDOWN",
    "UNKILL",
    "UNBLOCKED",
    "EXECABORT",
)


def is_temporary(error: Exception) -> bool:
    """Whether the same command may succeed later. An error in a script, or a value that cannot be sent, would always
    come again."""
    if isinstance(error, DataError):
        return False
    if not isinstance(error, ResponseError):
        return True
    return any(code in error_text(error) for code in TEMPORARY_ERRORS)


def error_text(error: Exception) -> str:
    """The message of an error with its code, on one line. redis-py removes a code that it knows from the message."""
    code = getattr(error, "status_code", None) or ""
    message = " ".join(str(error).split())
    return message if message.startswith(code) else f"{code} {message}"


def is_wrong_type(error: Exception) -> bool:
    """Whether a key has another type than the command needs."""
    return isinstance(error, ResponseError) and "WRONGTYPE" in error_text(error)


@dataclass(slots=True)
class Waiting:
    """How long the commands of one client wait for Redis."""

    first_seconds: float | None = None
    """As long as Redis has never replied. None is for ever."""
    seconds: float | None = None
    """After its first reply."""
    stats: "StatsCollector | None" = None
    connected: bool = False
    """Whether Redis has ever replied."""

    def delays(self, what: str) -> "Delays":
        """`what` is what is tried, such as `calling GET`."""
        return Delays(self, what)


def for_ever(stats: "StatsCollector | None" = None) -> Waiting:
    """For a worker: it waits as long as Redis is away."""
    return Waiting(stats=stats)


def briefly() -> Waiting:
    """For a command that a person waits for."""
    return Waiting(first_seconds=2.0, seconds=60.0)


@dataclass(slots=True)
class Delays:
    """The tries of one command, and the delays between them. Says in the log when Redis is away, and when it is back:
    one line each per process (`outage`)."""

    waiting: Waiting
    what: str
    _delay: float = FIRST_WAIT
    _began: float = field(default_factory=time.monotonic)
    _tried_at: float = field(default_factory=lambda: outage.REDIS.clock())
    _failures: int = 0

    def succeeded(self) -> None:
        """Redis replied."""
        self.waiting.connected = True
        outage.REDIS.succeeded(self._tried_at, self._failures)

    def try_again(self) -> None:
        """The wait is over."""
        self._tried_at = outage.REDIS.clock()

    def after(self, error: Exception) -> float:
        """How long to wait after this error. Raises it if waiting does not help, or has lasted long enough."""
        waiting = self.waiting
        if not is_temporary(error) or (is_refused_login(error) and not waiting.connected):
            raise error
        longest = waiting.seconds if waiting.connected else waiting.first_seconds
        if longest is not None and time.monotonic() - self._began >= longest:
            raise error
        if waiting.stats is not None:
            waiting.stats.inc_value("queue/redis_away")
        if waiting.connected or longest is None:
            self._failures += 1
            is_refused = isinstance(error, ResponseError)
            outage.REDIS.failed(self.what, error_text(error), self._failures, is_refused=is_refused)
        seconds = random.uniform(self._delay / 2, self._delay)
        self._delay = min(self._delay * 2, LONGEST_WAIT)
        return seconds


def is_refused_login(error: Exception) -> bool:
    """Whether Redis refuses the user name or the password."""
    return isinstance(error, (AuthenticationError, AuthorizationError))


async def _repeat(waiting: Waiting, act: Callable[[], Awaitable[T]], what: str) -> T:
    delays = waiting.delays(what)
    while True:
        try:
            result = await act()
        except REDIS_ERRORS as error:
            await asyncio.sleep(delays.after(error))
            delays.try_again()
        else:
            delays.succeeded()
            return result


def _repeat_blocking(waiting: Waiting, act: Callable[[], T], what: str) -> T:
    delays = waiting.delays(what)
    while True:
        try:
            result = act()
        except REDIS_ERRORS as error:
            time.sleep(delays.after(error))
            delays.try_again()
        else:
            delays.succeeded()
            return result


# ----- for workers


class AsyncRedis(aioredis.Redis):
    """A client whose commands wait for Redis."""

    waiting = for_ever()
    sentinels: Sequence[aioredis.Redis] = ()
    """The connections to the sentinels that name the master. They are closed with this client."""

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await super().aclose(close_connection_pool)
        for each in self.sentinels:
            await each.aclose()

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        sent: Any = super().execute_command
        return await _repeat(self.waiting, lambda: sent(*args, **options), _name(args))

    async def in_one_step(self, fill: Callable[[Any], object]) -> list[Any]:
        """Run the commands that `fill` adds to a pipeline, in one MULTI, and return their replies."""

        async def act() -> list[Any]:
            async with self.pipeline(transaction=True) as commands:
                fill(commands)
                return list(await commands.execute())

        return await _repeat(self.waiting, act, "calling MULTI")


class AsyncRedisCluster(aioredis.RedisCluster):
    """The same for a cluster. All keys of a transaction must be in one slot."""

    waiting = for_ever()

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        sent: Any = super().execute_command
        return await _repeat(self.waiting, lambda: sent(*args, **options), _name(args))

    async def in_one_step(self, fill: Callable[[Any], object]) -> list[Any]:
        async def act() -> list[Any]:
            async with self.pipeline(transaction=True) as commands:
                fill(commands)
                return list(await commands.execute())

        return await _repeat(self.waiting, act, "calling MULTI")


# ----- for commands


class BlockingRedis(redis.Redis):
    """A blocking client whose commands wait for Redis."""

    waiting = briefly()

    def execute_command(self, *args: Any, **options: Any) -> Any:
        sent: Any = super().execute_command
        return _repeat_blocking(self.waiting, lambda: sent(*args, **options), _name(args))

    def raw_pipeline(self) -> Any:
        """For `in_one_step` only."""
        return super().pipeline(transaction=True)


class BlockingRedisCluster(redis.RedisCluster):
    """The same for a cluster."""

    waiting = briefly()

    def execute_command(self, *args: Any, **options: Any) -> Any:
        sent: Any = super().execute_command
        return _repeat_blocking(self.waiting, lambda: sent(*args, **options), _name(args))


def in_one_step(server: "redis.Redis", fill: Callable[[Any], object]) -> list[Any]:
    """Run the commands that `fill` adds to a pipeline, in one MULTI, and return their replies."""

    def act() -> list[Any]:
        with pipeline(transaction=True) as commands:
            fill(commands)
            return list(commands.execute())

    pipeline: Any = server.pipeline
    if not isinstance(server, (BlockingRedis, BlockingRedisCluster)):  # a plain client, as a test may use
        return act()
    return _repeat_blocking(server.waiting, act, "calling MULTI")


def connect_waiting(connect: Callable[[], T], waiting: Waiting) -> T:
    """Make a client that connects at once, such as a blocking one of a cluster."""
    return _repeat_blocking(waiting, connect, "connecting")


def _name(args: tuple[Any, ...]) -> str:
    """What is tried, for a log line."""
    return f"calling {args[0] if args else 'a command'}"
