"""Takes seeds from a portal's list. A seed is moved to the worker's list, enqueued, then removed: so a crash in between
loses no seed and crawls none twice."""

from collections import Counter
from functools import partial
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from redis.asyncio import Redis
from scrapy.statscollectors import StatsCollector

from realestate.queue import keys
from realestate.queue.redis_retry import retry_until_available
from realestate.queue.seed_source import SeedSource


class SeedList:
    """The seeds of one portal, for one worker."""

    def __init__(
        self, server: "Redis", portal: str, worker: str, stats: StatsCollector, source: SeedSource | None = None
    ) -> None:
        self.server = server
        self.stats = stats
        self.portal = portal
        self.source = source or SeedSource(keys.start_urls(portal))
        self.taken = self.source.taken_by(worker)
        self._open: dict[str, bytes] = {}
        self._parts: dict[str, str] = {}
        """name of a request -> name of its seed, for seeds that make several requests."""
        self._missing_parts: Counter[str] = Counter()
        self._enqueued: set[str] = set()

    async def next(self, seconds: float) -> tuple[bytes, str] | None:
        """Return the next seed and its name, or None after so many seconds. The seed stays in the worker's list until
        `remove`."""
        seed = await retry_until_available(partial(self._take, seconds), self.stats, "looking for seeds")
        if seed is None:
            return None
        name = await retry_until_available(partial(self._name, seed), self.stats, "naming a seed")
        # The same seed twice is two seeds. They are numbered in order, so that a worker that takes them over gives them
        # the same names.
        same = sum(each == seed for each in self._open.values())
        nonce = f"{name}-{same}" if same else name
        self._open[nonce] = seed
        return seed, nonce

    def parts(self, nonce: str, count: int) -> list[str]:
        """Return names for the requests of one seed. The seed is removed when the last of them is removed."""
        if count == 1:
            return [nonce]
        names = [f"{nonce}.{number}" for number in range(count)]
        self._parts.update(dict.fromkeys(names, nonce))
        self._missing_parts[nonce] = count
        return names

    def enqueued(self, nonce: str) -> None:
        """Record that the request of this seed is being enqueued."""
        self._enqueued.add(nonce)

    def is_enqueued(self, nonce: str) -> bool:
        return nonce in self._enqueued or (nonce not in self._open and nonce not in self._parts)

    async def remove(self, nonce: str) -> None:
        """Remove the seed from Redis. It is enqueued, or was refused."""
        self._enqueued.discard(nonce)
        if (whole := self._parts.pop(nonce, None)) is not None:
            self._missing_parts[whole] -= 1
            if self._missing_parts[whole]:
                return
            del self._missing_parts[whole]
            nonce = whole
        if (seed := self._open.get(nonce)) is not None:
            await retry_until_available(partial(self._remove, seed), self.stats, "removing a seed")
            del self._open[nonce]

    async def _take(self, seconds: float) -> bytes | None:
        # Read before the request: a seed that is open now may be removed until the response comes. It must not count as
        # unknown.
        known = Counter(self._open.values())
        moved = await self.source.taken(self.server, self.taken)
        # Seeds in the worker's list that are not open: the response that moved them was lost, or their removal was lost
        # in a failover.
        for unknown in Counter(moved) - known:
            return unknown
        return await self.source.take(self.server, self.taken, seconds)

    async def _name(self, seed: bytes) -> str:
        """Return the name of the seed. It stays the same if another worker takes the seed over."""
        field = _field(seed)
        async with self.server.pipeline(transaction=True) as both:
            both.hsetnx(keys.seed_names(self.portal), field, uuid4().hex[:12])
            both.hget(keys.seed_names(self.portal), field)
            _, name = await both.execute()
        return str(name.decode())

    async def _remove(self, seed: bytes) -> None:
        # Remove the name first. A crash in between then crawls the seed once more. In the other order it would leave
        # the name, and the next push of the same seed would count as a duplicate.
        if sum(each == seed for each in self._open.values()) == 1:
            await self.server.hdel(keys.seed_names(self.portal), _field(seed))
        await self.source.remove(self.server, self.taken, seed)

    async def give_back(self) -> None:
        """Return the seeds that this worker has not enqueued to the portal's list, because it stops."""
        await self.source.give_back(self.server, self.taken)

    async def recover(self) -> None:
        """Return the seeds that dead workers had not enqueued to the portal's list."""
        dead_workers = keys.dead_workers(self.portal)
        workers: Any = await self.server.smembers(dead_workers)
        for worker in workers:
            await self.source.give_back(self.server, self.source.taken_by(worker.decode()))
            await self.server.srem(dead_workers, worker)


def _field(seed: bytes) -> str:
    return blake2b(seed, digest_size=10).hexdigest()
