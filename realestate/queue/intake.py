"""Requests from Redis to the engine: leased in advance, released when their send slots come."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy import Request

from realestate.queue.buffer import monotonic_ms
from realestate.queue.codec import MalformedRequest, decode
from realestate.queue.dead_letters import dead_letter
from realestate.queue.dead_workers import DEAD_WORKERS
from realestate.queue.engine import LEASE
from realestate.queue.pages import LeasedErrback
from realestate.queue.request_queue import Lease, Taken

if TYPE_CHECKING:
    from realestate.queue.fleet import Fleet

logger = logging.getLogger(__name__)

#: An idle worker looks into the queue this often, in case a wake-up was missed.
WAKE_UP_SECONDS = 5


class Intake:
    """Takes leases from the queue in one task, and gives the engine a request whenever one may be sent."""

    def __init__(self, fleet: "Fleet", size: int, wake: Callable[[], None]) -> None:
        """`size` is how many leases wait here at most; `wake` makes the engine ask for requests."""
        self.fleet = fleet
        self.size = size
        self.wake = wake
        self.is_takeable = True
        """Whether the last heartbeat saw anything to take."""
        self.news = asyncio.Event()
        """There may be something to take. Set by heartbeats, if this process serves many portals."""
        self._wants_more = asyncio.Event()

    def __len__(self) -> int:
        """Requests that this process holds and has not started."""
        return len(self.fleet.buffer) + len(self.fleet.local)

    def next_request(self) -> Request | None:
        """The next request whose send slot has come."""
        if self.fleet.local:
            return self.fleet.local.pop()
        self._wants_more.set()
        while (ready := self.fleet.buffer.pop()) is not None:
            if request := self._started(*ready):
                return request
        if (seconds := self.fleet.buffer.seconds_to_next()) is not None:
            asyncio.get_running_loop().call_later(seconds, self.wake)
        return None

    def _started(self, key: str, lease: Lease) -> Request | None:
        if lease.job in self.fleet.cancelled or not self.fleet.feedback.has_proxy(lease.proxy_id):
            self.fleet.ledger.end(key, "back")
            return None
        if (request := self._decoded(key, lease)) is None:
            return None
        held = self.fleet.ledger.get(key)
        assert held is not None
        held.started = True
        held.url = request.url
        request.meta[LEASE] = key
        request.errback = LeasedErrback(self.fleet.pages, request.errback)
        self.fleet.feedback.request_sent(request, lease.proxy_id)
        self.fleet.stats.inc_value("queue/taken")
        return request

    def _decoded(self, key: str, lease: Lease) -> Request | None:
        try:
            return decode(lease.payload, self.fleet.spider, self.fleet.schemes)
        except MalformedRequest as error:
            logger.warning("queue/malformed: %s", error)
            self.fleet.stats.inc_value("queue/dead/malformed")
            value = repr(lease.payload[:500])
            text = dead_letter("malformed", str(error), job=lease.job, stage=lease.stage, value=value)
            self.fleet.ledger.end(key, "dead", text)
            return None

    async def run(self) -> None:
        """Take requests for as long as the worker runs. It is the only task that takes."""
        while True:
            await self._wants_more.wait()
            self._wants_more.clear()
            wanted = self.size - len(self.fleet.buffer)
            if not self.fleet.serving or wanted <= self.size // 4:
                continue
            try:
                taken = await self._take(wanted)
            except Exception:  # if this task ended, the worker would never take requests again
                logger.exception("queue/not_taken: could not take requests; trying again in 1 s")
                await asyncio.sleep(1.0)
                self._wants_more.set()
                continue
            for lease in taken.leases:
                self.fleet.buffer.add(self.fleet.ledger.open(lease), lease)
            if not self.fleet.serving:
                self.hand_back()  # the worker was stopped meanwhile
            elif taken.leases:
                self.wake()
            if len(taken.leases) < wanted:
                again_in = (taken.ask_again_at - self.fleet.buffer.now()) / 1000
                await self._rest(again_in if taken.ask_again_at > 0 else None)
                self._wants_more.set()

    async def _take(self, wanted: int) -> Taken:
        """Called by one task only: all leases of the last call are in the ledger before the next call."""
        mine = [held.lease.id for _, held in self.fleet.ledger] + self.fleet.outbox.leases()
        asked_at = monotonic_ms()
        taken = await self.fleet.queue.take(self.fleet.worker, wanted, mine)
        self.fleet.stats.inc_value("queue/round_trips")
        self.fleet.buffer.set_clock(taken.now, asked_at)
        DEAD_WORKERS.found(self.fleet.spider.name, taken.reclaimed)
        return taken

    async def _rest(self, seconds: float | None) -> None:
        """Wait until there may be more requests to take."""
        longest = WAKE_UP_SECONDS if seconds is None else min(max(seconds, 0.01), WAKE_UP_SECONDS)
        if self.fleet.serves_many:
            await is_set(self.news, longest if self.is_takeable else None)
            self.news.clear()
            return
        await self.fleet.queue.wait_for_wake_up(longest)

    def hand_back(self, proxy_id: str | None = None) -> None:
        """Give back what has not been sent, or that of one proxy."""
        for key in self.fleet.buffer.drain(proxy_id):
            self.fleet.ledger.end(key, "back")


async def is_set(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait until it is set, at most this many seconds. Returns whether it is."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
