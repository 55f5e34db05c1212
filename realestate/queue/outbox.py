"""What is on its way to Redis: kept here until Redis has it, however long it is away."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from redis.exceptions import ResponseError
from scrapy.statscollectors import StatsCollector

from realestate.queue.patience import patiently
from realestate.queue.request_queue import Ending, Pushed, RequestQueue

logger = logging.getLogger(__name__)

#: Acts gathered for one round trip. Long enough for a batch, too short to be noticed.
GATHER_SECONDS = 0.02
#: No script works on more at a time, so that none holds Redis up for long.
MOST = 256


class Outbox:
    """Endings and early children, sent in batches by one task. Sending twice does no harm."""

    def __init__(self, queue: RequestQueue, stats: StatsCollector) -> None:
        self.queue = queue
        self.stats = stats
        self._endings: list[Ending] = []
        self._early: list[tuple[Pushed, Callable[[], Awaitable[None]] | None]] = []
        self._sending: list[Ending] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._stopped = asyncio.Event()

    def __len__(self) -> int:
        return len(self._endings) + len(self._early) + len(self._sending)

    def leases(self) -> list[bytes]:
        """The requests whose end Redis may not know of yet."""
        return [ending.id for ending in (*self._sending, *self._endings)]

    def end(self, ending: Ending) -> None:
        self._endings.append(ending)
        self._wake.set()

    def push(self, request: Pushed, then: Callable[[], Awaitable[None]] | None = None) -> None:
        """A child goes out before its page is settled: the next page of a search need not wait for this one's items.
        `then` is called when Redis has it."""
        self._early.append((request, then))
        self._wake.set()

    async def run(self) -> None:
        try:
            while not self._closing:
                await self._wake.wait()
                await asyncio.sleep(GATHER_SECONDS)
                await self.flush()
        finally:
            self._stopped.set()

    async def close(self) -> None:
        """Let what is being sent arrive, then send the rest; cut short it would be fetched again."""
        self._closing = True
        self._wake.set()
        await self._stopped.wait()
        await self.flush()

    async def flush(self) -> None:
        while self._endings or self._early:
            self._wake.clear()
            endings, self._endings = self._endings[:MOST], self._endings[MOST:]
            early, self._early = self._early[:MOST], self._early[MOST:]
            self._sending = endings
            ours = await self._send(endings, [request for request, _ in early])
            for then in [then for _, then in early if then]:
                await patiently(then, self.stats, "removing a seed")
            self._sending = []
            self.stats.inc_value("queue/round_trips")
            self._count(endings, ours)

    async def _send(self, endings: list[Ending], early: list[Pushed]) -> list[bool]:
        """What Redis refuses for good is found by halves and left out, so that it holds nothing else up."""
        try:
            return await patiently(partial(self.queue.settle, endings, early), self.stats, "settling")
        except ResponseError as error:
            if len(endings) + len(early) <= 1:
                logger.error("queue/refused: %s: %r", error, (*endings, *early))
                self.stats.inc_value("queue/refused")
                return [False] * len(endings)
        if endings and early:
            await self._send([], early)
            return await self._send(endings, [])
        first = await self._send(endings[: len(endings) // 2], early[: len(early) // 2])
        return first + await self._send(endings[len(endings) // 2 :], early[len(early) // 2 :])

    def _count(self, endings: list[Ending], ours: list[bool]) -> None:
        for ending, was_ours in zip(endings, ours, strict=True):
            self.stats.inc_value(f"queue/{ending.outcome if was_ours else 'stale'}")
