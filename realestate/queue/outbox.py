"""Settlements and new requests that are sent to Redis in batches. They are kept here until Redis has them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from redis.exceptions import ResponseError
from scrapy.statscollectors import StatsCollector

from realestate.queue.redis_retry import retry_until_available
from realestate.queue.request_queue import Pushed, RequestQueue, Settlement

logger = logging.getLogger(__name__)

#: How long to collect entries for one round trip: long enough for a batch, too short to delay a crawl.
GATHER_SECONDS = 0.02
#: The most entries for one script, so that it does not block Redis for long.
MAXIMUM = 256


class Outbox:
    """Settlements and early children, sent in batches by one task. Sending one twice does no harm."""

    def __init__(self, queue: RequestQueue, stats: StatsCollector) -> None:
        self.queue = queue
        self.stats = stats
        self._settlements: list[Settlement] = []
        self._early: list[tuple[Pushed, Callable[[], Awaitable[None]] | None]] = []
        self._sending: list[Settlement] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._stopped = asyncio.Event()

    def __len__(self) -> int:
        return len(self._settlements) + len(self._early) + len(self._sending)

    def leases(self) -> list[bytes]:
        """Return the ids of requests whose settlement Redis may not have yet."""
        return [settlement.id for settlement in (*self._sending, *self._settlements)]

    def end(self, settlement: Settlement) -> None:
        self._settlements.append(settlement)
        self._wake.set()

    def push(self, request: Pushed, then: Callable[[], Awaitable[None]] | None = None) -> None:
        """Send a child before its page is settled, so that the next page of a search does not wait for the items of
        this one. `then` is called when Redis has it."""
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
        """Wait for the batch that is being sent, then send the rest. Pages that are not settled are fetched again."""
        self._closing = True
        self._wake.set()
        await self._stopped.wait()
        await self.flush()

    async def flush(self) -> None:
        while self._settlements or self._early:
            self._wake.clear()
            settlements, self._settlements = self._settlements[:MAXIMUM], self._settlements[MAXIMUM:]
            early, self._early = self._early[:MAXIMUM], self._early[MAXIMUM:]
            self._sending = settlements
            ours = await self._send(settlements, [request for request, _ in early])
            for then in [then for _, then in early if then]:
                await retry_until_available(then, self.stats, "removing a seed")
            self._sending = []
            self.stats.inc_value("queue/round_trips")
            self._count(settlements, ours)

    async def _send(self, settlements: list[Settlement], early: list[Pushed]) -> list[bool]:
        """Send a batch. If Redis refuses it for good, it is halved until the refused entry is alone. That one is
        dropped, so that it does not hold up the others. Return for each settlement whether the lease was still ours."""
        try:
            return await retry_until_available(partial(self.queue.settle, settlements, early), self.stats, "settling")
        except ResponseError as error:
            if len(settlements) + len(early) <= 1:
                logger.error("queue/refused: %s: %r", error, (*settlements, *early))
                self.stats.inc_value("queue/refused")
                return [False] * len(settlements)
        if settlements and early:
            await self._send([], early)
            return await self._send(settlements, [])
        first = await self._send(settlements[: len(settlements) // 2], early[: len(early) // 2])
        return first + await self._send(settlements[len(settlements) // 2 :], early[len(early) // 2 :])

    def _count(self, settlements: list[Settlement], ours: list[bool]) -> None:
        for settlement, was_ours in zip(settlements, ours, strict=True):
            self.stats.inc_value(f"queue/{settlement.outcome if was_ours else 'stale'}")
