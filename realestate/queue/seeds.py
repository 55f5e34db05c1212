"""Takes seeds from a portal's list. A seed is moved to the worker's list, enqueued, then removed: so a crash in between
loses no seed and crawls none twice."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from redis.exceptions import ResponseError
from scrapy.statscollectors import StatsCollector

from realestate.queue import keys, stored, wrong_types
from realestate.queue.redis_client import AsyncRedis, is_wrong_type
from realestate.queue.seed_source import SeedSource

logger = logging.getLogger(__name__)

#: A reader of seeds that failed starts again after this, and after twice as long each further time ...
FIRST_RESTART_SECONDS = 1.0
#: ... up to this.
LONGEST_RESTART_SECONDS = 60.0
#: A seed that could not be enqueued so often becomes a dead letter.
SEED_TRIES = 3

#: Called with a message if a key had a wrong type and was renamed.
Refused = Callable[[str], None]


class SeedList:
    """The seeds of one portal, for one worker."""

    def __init__(
        self,
        server: AsyncRedis,
        portal: str,
        worker: str,
        stats: StatsCollector,
        source: SeedSource | None = None,
        refused: Refused | None = None,
    ) -> None:
        self.server = server
        self._refused = refused or logger.warning
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
        """Return the next seed and its name, or None after this many seconds. The seed stays in the worker's list until
        `remove`."""
        try:
            seed = await self._take(seconds)
            if seed is None:
                return None
            name = await self._name(seed)
        except ResponseError as error:
            if not is_wrong_type(error) or not await self._set_wrong_types_aside():
                raise
            return None
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

    @property
    def known(self) -> int:
        """The seeds that this worker knows it has taken."""
        return len(self._open)

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
            try:
                await self._remove(seed)
            except ResponseError as error:
                if not is_wrong_type(error) or not await self._set_wrong_types_aside():
                    raise
                await self._remove(seed)
            self._open.pop(nonce, None)

    def take_again(self, nonce: str) -> None:
        """The seed could not be enqueued: `next` returns it again."""
        self._open.pop(nonce, None)

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
        new_name = uuid4().hex[:12]

        def both(commands: Any) -> None:
            commands.hsetnx(keys.seed_names(self.portal), field, new_name)
            commands.hget(keys.seed_names(self.portal), field)

        _, name = await self.server.in_one_step(both)
        return stored.text(name)

    async def _remove(self, seed: bytes) -> None:
        # Remove the name first. A crash in between then crawls the seed once more. In the other order it would leave
        # the name, and the next push of the same seed would count as a duplicate.
        if sum(each == seed for each in self._open.values()) == 1:
            await self.server.hdel(keys.seed_names(self.portal), _field(seed))
        await self.source.remove(self.server, self.taken, seed)

    async def _set_wrong_types_aside(self) -> bool:
        """Returns whether there was any."""
        expected = {
            self.source.key: self.source.kind,
            self.taken: self.source.kind,
            keys.seed_names(self.portal): "hash",
        }
        return await wrong_types.set_aside(self.server, expected, self._refused)

    async def give_back(self) -> None:
        """Return the seeds that this worker has not enqueued to the portal's list, because it stops."""
        await self.source.give_back(self.server, self.taken)

    async def recover(self) -> None:
        """Return the seeds that dead workers had not enqueued to the portal's list."""
        dead_workers = keys.dead_workers(self.portal)
        workers: Any = await self.server.smembers(dead_workers)
        for worker in workers:
            taken = self.source.taken_by(stored.text(worker))
            try:
                await self.source.give_back(self.server, taken)
            except ResponseError as error:
                expected = dict.fromkeys((taken, self.source.key), self.source.kind)
                if not is_wrong_type(error) or not await wrong_types.set_aside(self.server, expected, self._refused):
                    raise
                continue  # at the next heartbeat again
            await self.server.srem(dead_workers, worker)


class ReaderRestarts:
    """Lets a reader of seeds go on after any error, with longer and longer delays."""

    def __init__(self, portal: str) -> None:
        self.portal = portal
        self._delay = FIRST_RESTART_SECONDS
        self._failures: Counter[bytes] = Counter()

    def succeeded(self, seed: bytes) -> None:
        self._delay = FIRST_RESTART_SECONDS
        self._failures.pop(seed, None)

    def has_failed_too_often(self, seed: bytes) -> bool:
        """Count a failure of this seed. Whether it has failed too often to be tried again."""
        self._failures[seed] += 1
        if self._failures[seed] < SEED_TRIES:
            return False
        del self._failures[seed]
        return True

    async def wait_after(self, error: Exception) -> None:
        delay = self._delay
        self._delay = min(2 * delay, LONGEST_RESTART_SECONDS)
        logger.warning(
            "seed/reader_restarted portal=%s: reading seeds failed: %s: %s; starting again in %.0f s",
            self.portal,
            type(error).__name__,
            error,
            delay,
            exc_info=error if self._delay == 2 * FIRST_RESTART_SECONDS else None,
        )
        await asyncio.sleep(delay)


def _field(seed: bytes) -> str:
    return blake2b(seed, digest_size=10).hexdigest()
