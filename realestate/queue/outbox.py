"""Settlements and new requests that are sent to Redis in batches. They are kept here until Redis has them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from redis.exceptions import ResponseError
from scrapy.statscollectors import StatsCollector

from realestate.queue.request_queue import Pushed, RequestQueue, Settlement

logger = logging.getLogger(__name__)

#: How long to collect entries for one round trip: long enough for a batch, too short to delay a crawl.
GATHER_SECONDS = 0.02
#: The most entries for one script, so that it does not block Redis for long.
MAXIMUM = 256


class Outbox:
    """Settlements and early children, sent in batches by one task. Sending one twice does no harm."""

    def __init__(self, queue: RequestQueue, stats: StatsCollector, pushed: Callable[[], object] = lambda: None) -> None:
        """`pushed` is called when Redis has got new requests."""
        self.queue = queue
        self.stats = stats
        self._pushed = pushed
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
                await self._flush_again_and_again()
        finally:
            self._stopped.set()

    async def _flush_again_and_again(self) -> None:
        """If this task ended, the worker would never settle a request again."""
        while True:
            try:
                await self.flush()
                return
            except Exception:
                logger.exception("queue/not_sent: could not send settlements; trying again in 1 s")
                await asyncio.sleep(1.0)

    async def close(self) -> None:
        """Wait for the batch that is being sent, then send the rest. Pages that are not settled are fetched again."""
        self._closing = True
        self._wake.set()
        await self._stopped.wait()
        await self.flush()

    async def flush(self) -> None:
        while self._settlements or self._early:
            self._wake.clear()
            settlements = self._settlements[:MAXIMUM]
            self._settlements = self._settlements[MAXIMUM:]
            early = self._early[:MAXIMUM]
            self._early = self._early[MAXIMUM:]
            self._sending = settlements
            try:
                ours = await self._send(settlements, [request for request, _ in early])
            except Exception:
                self._settlements[:0] = settlements
                self._early[:0] = early
                self._sending = []
                raise
            await self._call([then for _, then in early if then])
            self._sending = []
            self._pushed()
            self.stats.inc_value("queue/round_trips")
            self._count(settlements, ours)

    async def _call(self, callbacks: list[Callable[[], Awaitable[None]]]) -> None:
        for callback in callbacks:
            try:
                await callback()
            except ResponseError as error:
                logger.error("queue/refused: a seed was not removed: %s", error)

    async def _send(self, settlements: list[Settlement], early: list[Pushed]) -> list[bool]:
        """Send a batch. If Redis refuses it for good, it is halved until the refused entry is alone. That one is
        dropped, so that it does not hold up the others. Return for each settlement whether the lease was still ours."""
        try:
            return await self.queue.settle(settlements, early)
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
