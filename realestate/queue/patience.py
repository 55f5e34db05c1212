"""Waiting for Redis: refused, timed out, restarted, failed over, read-only, out of memory."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.exceptions import RedisError, ResponseError
from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)
T = TypeVar("T")

LONGEST_WAIT = 5.0
#: What Redis says while it cannot, but will again.
PASSING = (
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


async def patiently(act: Callable[[], Awaitable[T]], stats: StatsCollector, what: str) -> T:
    """Try until Redis answers: refused, restarted, failed over, read-only, out of memory."""
    delay = 0.1
    while True:
        try:
            return await act()
        except (RedisError, OSError) as error:
            if not is_passing(error):
                raise
            stats.inc_value("queue/redis_away")
            logger.warning("queue/redis_away: %s: %s; the worker waits and goes on", what, error)
            await asyncio.sleep(random.uniform(delay / 2, delay))
            delay = min(delay * 2, LONGEST_WAIT)


def is_passing(error: Exception) -> bool:
    """Whether the same command may succeed later; an error of a script itself would be the same for ever.
    redis-py cuts the code of an error it knows off the text."""
    if not isinstance(error, ResponseError):
        return True
    told = f"{error.status_code or ''} {error}"
    return any(word in told for word in PASSING)
