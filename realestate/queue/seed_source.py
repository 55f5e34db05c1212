"""Where the seeds of a spider are: a Redis list, set or sorted set, as in scrapy-redis.

A worker moves a seed to a key for this worker before it enqueues it, so that no seed is lost when the worker dies.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import uuid4

from realestate.queue import keys
from realestate.queue.redis_client import AsyncRedis

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings

Kind = Literal["list", "set", "zset"]

#: Sets and sorted sets have no blocking move: they are looked at this often.
POLL_SECONDS = 0.25
#: Moves the member with the highest score from one sorted set to another, and returns it.
_MOVE_HIGHEST = """
local popped = redis.call('ZPOPMAX', KEYS[1])
if not popped[1] then return false end
redis.call('ZADD', KEYS[2], popped[2], popped[1])
return popped[1]
"""

#: Removes a seed from a list, unless the same call did it before.
_REMOVE_ONCE = """
if redis.call('SET', KEYS[2], 1, 'NX', 'PX', ARGV[2]) then redis.call('LREM', KEYS[1], 1, ARGV[1]) end
return 1
"""
#: Pushes seeds to a list, unless the same call did it before. In pieces that Lua's stack can hold.
PUSH_ONCE = """
if redis.call('SET', KEYS[2], 1, 'NX', 'PX', ARGV[1]) then
  for first = 2, #ARGV, 1000 do
    redis.call('RPUSH', KEYS[1], unpack(ARGV, first, math.min(first + 999, #ARGV)))
  end
end
return 1
"""
#: How long a repeated command can find out that it was executed before.
REMOVED_KEEP_MS = 10 * 60 * 1000
PUSHED_KEEP_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class SeedSource:
    """One key with seeds."""

    key: str
    kind: Kind = "list"

    @classmethod
    def of_spider(cls, spider: "Spider", settings: "BaseSettings") -> Self:
        """The key that the spider reads, as its `redis_key` or scrapy-redis' settings say."""
        form = settings.get("REDIS_START_URLS_KEY") or keys.START_URLS
        key = getattr(spider, "redis_key", None) or form % {"name": spider.name}
        if settings.getbool("REDIS_START_URLS_AS_SET"):
            return cls(key, "set")
        if settings.getbool("REDIS_START_URLS_AS_ZSET"):
            return cls(key, "zset")
        return cls(key)

    def taken_by(self, worker: str) -> str:
        """The key with the seeds that a worker has taken and not enqueued yet. It has the type of the source."""
        return keys.taken_from(self.key, worker)

    async def count(self, server: AsyncRedis, key: str | None = None) -> int:
        """The number of seeds in the source, or in another key of its type."""
        key = key or self.key
        if self.kind == "set":
            return int(await server.scard(key))
        if self.kind == "zset":
            return int(await server.zcard(key))
        return int(await server.llen(key))

    async def taken(self, server: AsyncRedis, key: str) -> list[bytes]:
        """All seeds in a worker's own key."""
        found: Any
        if self.kind == "set":
            found = await server.smembers(key)
        elif self.kind == "zset":
            found = await server.zrange(key, 0, -1)
        else:
            found = await server.lrange(key, 0, -1)
        return [bytes(seed) for seed in found]

    async def take(self, server: AsyncRedis, taken: str, seconds: float) -> bytes | None:
        """Move the next seed into a worker's own key and return it. None if there was none for this long."""
        if self.kind == "list":
            seed: Any = await server.blmove(self.key, taken, seconds, "LEFT", "RIGHT")  # type: ignore[arg-type]
            return None if seed is None else bytes(seed)
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            if (found := await self._move(server, self.key, taken)) is not None:
                return found
            if asyncio.get_running_loop().time() >= deadline:
                return None
            await asyncio.sleep(POLL_SECONDS)

    async def remove(self, server: AsyncRedis, taken: str, seed: bytes) -> None:
        """Remove a seed from a worker's own key. A list may hold the same seed twice: a command that is repeated must
        not remove the other one."""
        value: Any = seed
        if self.kind == "set":
            await server.srem(taken, value)
        elif self.kind == "zset":
            await server.zrem(taken, value)
        else:
            await server.eval(_REMOVE_ONCE, 2, taken, keys.removed(self.key, uuid4().hex), value, REMOVED_KEEP_MS)

    async def give_back(self, server: AsyncRedis, taken: str) -> None:
        """Move all seeds of a worker's own key back to the source."""
        if self.kind == "list":
            while await server.lmove(taken, self.key, "LEFT", "LEFT") is not None:
                pass
            return
        while await self._move(server, taken, self.key) is not None:
            pass

    async def _move(self, server: AsyncRedis, source: str, target: str) -> bytes | None:
        member: Any
        if self.kind == "zset":
            member = await server.eval(_MOVE_HIGHEST, 2, source, target)
            return None if member is None else bytes(member)
        while True:
            member = await server.srandmember(source)
            if member is None:
                return None
            if await server.smove(source, target, member):  # otherwise another worker was faster
                return bytes(member)
