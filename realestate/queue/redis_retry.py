"""Repeats a call until Redis is available: after a restart, a failover, a timeout, or when it is out of memory."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.exceptions import RedisError, ResponseError
from scrapy.statscollectors import StatsCollector

from realestate.queue import outage

T = TypeVar("T")

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


async def retry_until_available(act: Callable[[], Awaitable[T]], stats: StatsCollector, what: str) -> T:
    """Repeat `act` until it succeeds, and return its result. `what` says in the log what was tried."""
    delay = 0.1
    failures = 0
    while True:
        asked_at = outage.REDIS.clock()
        try:
            result = await act()
            outage.REDIS.succeeded(asked_at)
            return result
        except (RedisError, OSError) as error:
            if not is_temporary(error):
                raise
            stats.inc_value("queue/redis_away")
            failures += 1
            outage.REDIS.failed(what, error, failures)
            await asyncio.sleep(random.uniform(delay / 2, delay))
            delay = min(delay * 2, LONGEST_WAIT)


def is_temporary(error: Exception) -> bool:
    """Whether the same command may succeed later. An error in a script would always come again. redis-py removes the
    code of an error that it knows from the message."""
    if not isinstance(error, ResponseError):
        return True
    text = f"{error.status_code or ''} {error}"
    return any(code in text for code in TEMPORARY_ERRORS)
