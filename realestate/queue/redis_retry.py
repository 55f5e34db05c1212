"""Repeats a call until Redis is available: after a restart, a failover, a timeout, or when it is out of memory."""

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
    while True:
        try:
            return await act()
        except (RedisError, OSError) as error:
            if not is_temporary(error):
                raise
            stats.inc_value("queue/redis_away")
            logger.warning("queue/redis_away: Redis is unavailable while %s: %s; trying again", what, error)
            await asyncio.sleep(random.uniform(delay / 2, delay))
            delay = min(delay * 2, LONGEST_WAIT)


def is_temporary(error: Exception) -> bool:
    """Whether the same command may succeed later. An error in a script would always come again. redis-py removes the
    code of an error that it knows from the message."""
    if not isinstance(error, ResponseError):
        return True
    text = f"{error.status_code or ''} {error}"
    return any(code in text for code in TEMPORARY_ERRORS)
