"""One conversation with Redis for all portals of a process: their heartbeats are one command.

Only with one Redis server, or sentinels: in a cluster, portals are in different slots.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from realestate.queue.redis_client import AsyncRedis, AsyncRedisCluster

#: How long to wait at most for the other portals: their heartbeats are due at the same moment, but a busy process needs
#: a while for all of them.
GATHER_SECONDS = 0.3
#: The most portals in one command, so that it does not block Redis for long.
MAXIMUM = 256

#: Runs the script of each portal by itself: one portal whose keys have a wrong type must not hold up the others.
_OF_MANY = """
local function run(KEYS, ARGV)
%s
end
local results = {}
for index = 1, #KEYS do
  local is_done, result = pcall(run, {KEYS[index]}, {ARGV[index]})
  results[index] = is_done and {1, result} or {0}
end
return results
"""


class _Call(NamedTuple):
    prefix: str
    packed: bytes
    result: "asyncio.Future[Any]"


class ScriptBatch:
    """Calls of one script for several portals, gathered into one command."""

    def __init__(self, connect: Callable[[], AsyncRedis], text: str) -> None:
        self.users = 0
        """Portals of this process that serve."""
        self._connect = connect
        self._text = _of_many(text)
        self._server: AsyncRedis | None = None
        self._waiting: list[_Call] = []
        self._is_full = asyncio.Event()
        """All portals have called."""
        self._flushing: asyncio.Task[None] | None = None

    def add_user(self) -> None:
        self.users += 1

    async def remove_user(self) -> None:
        """The last one closes the connection."""
        self.users -= 1
        if self.users == 0 and self._server is not None:
            server = self._server
            self._server = None
            await server.aclose()

    async def run(self, prefix: str, packed: bytes) -> Any:
        """The script's result for this portal; None if it failed for this portal alone."""
        call = _Call(prefix, packed, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        if self._flushing is None:
            self._is_full.clear()
            self._flushing = asyncio.create_task(self._flush_soon())
        if len(self._waiting) >= self.users:
            self._is_full.set()
        return await call.result

    async def _flush_soon(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_full.wait(), GATHER_SECONDS)
        self._flushing = None
        waiting = self._waiting
        self._waiting = []
        for begin in range(0, len(waiting), MAXIMUM):
            await self._send(waiting[begin : begin + MAXIMUM])

    async def _send(self, calls: list[_Call]) -> None:
        if self._server is None:
            self._server = self._connect()
        script = self._server.register_script(self._text)
        try:
            results = await script(keys=[each.prefix for each in calls], args=[each.packed for each in calls])
        except BaseException as error:
            for call in calls:
                if not call.result.done():
                    call.result.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for call, result in zip(calls, results, strict=True):
            if not call.result.done():
                call.result.set_result(result[1] if result[0] else None)


@cache
def _of_many(text: str) -> str:
    return _OF_MANY % text


_BATCHES: dict[tuple[int, str], ScriptBatch] = {}


def batch_of(url: str, server: AsyncRedis, connect: Callable[[], AsyncRedis], text: str) -> ScriptBatch | None:
    """The batch of this process for this Redis and the event loop that runs; None for a cluster."""
    if isinstance(server, AsyncRedisCluster):
        return None
    key = (id(asyncio.get_running_loop()), url)
    return _BATCHES.setdefault(key, ScriptBatch(connect, text))
