"""Seeds are moved, enqueued, then removed: a crash in between loses none and doubles none."""

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
    """One portal's `start_urls`, as one worker takes from it."""

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
        """The name of a request -> the seed, for seeds that make several requests."""
        self._missing_parts: Counter[str] = Counter()
        self._enqueued: set[str] = set()

    async def next(self, seconds: float) -> tuple[bytes, str] | None:
        """The next seed and a name for it, waiting so long. It stays in the worker's own list until it is removed."""
        seed = await retry_until_available(partial(self._take, seconds), self.stats, "looking for seeds")
        if seed is None:
            return None
        name = await retry_until_available(partial(self._name, seed), self.stats, "naming a seed")
        # The same seed twice is two seeds, named in their order: who takes them over gives them the same names.
        same = sum(each == seed for each in self._open.values())
        nonce = f"{name}-{same}" if same else name
        self._open[nonce] = seed
        return seed, nonce

    def parts(self, nonce: str, count: int) -> list[str]:
        """Names for the requests that one seed makes. The seed is removed when the last of them is."""
        if count == 1:
            return [nonce]
        names = [f"{nonce}.{number}" for number in range(count)]
        self._parts.update(dict.fromkeys(names, nonce))
        self._missing_parts[nonce] = count
        return names

    def enqueued(self, nonce: str) -> None:
        """The request of this seed is on its way into the queue."""
        self._enqueued.add(nonce)

    def is_enqueued(self, nonce: str) -> bool:
        return nonce in self._enqueued or (nonce not in self._open and nonce not in self._parts)

    async def remove(self, nonce: str) -> None:
        """It is enqueued, or refused."""
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
        # Looked at before: what is open now may be removed by the time the answer is here, and is not forgotten.
        known = Counter(self._open.values())
        moved = await self.source.taken(self.server, self.taken)
        # There and not open: moved in an answer that never arrived, or removed with a master that failed.
        for forgotten in Counter(moved) - known:
            return forgotten
        return await self.source.take(self.server, self.taken, seconds)

    async def _name(self, seed: bytes) -> str:
        """The same, should another worker have to take it over."""
        field = _field(seed)
        async with self.server.pipeline(transaction=True) as both:
            both.hsetnx(keys.seed_names(self.portal), field, uuid4().hex[:12])
            both.hget(keys.seed_names(self.portal), field)
            _, name = await both.execute()
        return str(name.decode())

    async def _remove(self, seed: bytes) -> None:
        # The name first: a seed without one is crawled once more, but a name left behind would swallow its next push.
        if sum(each == seed for each in self._open.values()) == 1:
            await self.server.hdel(keys.seed_names(self.portal), _field(seed))
        await self.source.remove(self.server, self.taken, seed)

    async def give_back(self) -> None:
        """This worker stops: what it has not enqueued is a seed again."""
        await self.source.give_back(self.server, self.taken)

    async def recover(self) -> None:
        """What dead workers had not enqueued is a seed again."""
        dead_workers = keys.dead_workers(self.portal)
        workers: Any = await self.server.smembers(dead_workers)
        for worker in workers:
            await self.source.give_back(self.server, self.source.taken_by(worker.decode()))
            await self.server.srem(dead_workers, worker)


def _field(seed: bytes) -> str:
    return blake2b(seed, digest_size=10).hexdigest()
