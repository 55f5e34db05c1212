"""Seeds are moved, enqueued, then removed: a crash in between loses none and doubles none."""

from hashlib import blake2b
from typing import Any
from uuid import uuid4

from redis.asyncio import Redis

from realestate.queue import keys


class SeedList:
    """One portal's `start_urls`, as one worker takes from it."""

    def __init__(self, server: "Redis", portal: str, worker: str) -> None:
        self.server = server
        self.portal = portal
        self.source = keys.start_urls(portal)
        self.taken = keys.taken_seeds(portal, worker)

    async def take(self, seconds: int) -> bytes | None:
        """The next seed, waiting for it so long; it stays in the worker's own list until `done`."""
        seed: Any = await self.server.blmove(self.source, self.taken, seconds, "LEFT", "RIGHT")
        return None if seed is None else bytes(seed)

    async def name(self, seed: bytes) -> str:
        """A name for this seed that is the same should another worker have to take it over."""
        field = _field(seed)
        async with self.server.pipeline(transaction=True) as both:
            both.hsetnx(keys.seeding(self.portal), field, uuid4().hex[:12])
            both.hget(keys.seeding(self.portal), field)
            _, nonce = await both.execute()
        return str(nonce.decode())

    async def done(self, seed: bytes, *, last: bool) -> None:
        """It is enqueued, or refused; `last` says that no other of the same text is open here."""
        await self.server.lrem(self.taken, 1, seed)  # type: ignore[arg-type]
        if last:
            await self.server.hdel(keys.seeding(self.portal), _field(seed))

    async def give_back(self) -> None:
        """This worker stops: what it has not enqueued is a seed again."""
        await self._give_back(self.taken)

    async def recover(self) -> None:
        """What dead workers had not enqueued is a seed again."""
        departed = keys.departed(self.portal)
        workers: Any = await self.server.smembers(departed)
        for worker in workers:
            await self._give_back(keys.taken_seeds(self.portal, worker.decode()))
            await self.server.srem(departed, worker)

    async def _give_back(self, taken: str) -> None:
        while await self.server.lmove(taken, self.source, "LEFT", "LEFT") is not None:
            pass


def _field(seed: bytes) -> str:
    return blake2b(seed, digest_size=10).hexdigest()
