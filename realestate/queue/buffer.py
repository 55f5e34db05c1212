"""Leased requests waiting for their send slot. Nothing is released before it may be sent."""

import asyncio
import math
from collections import deque
from collections.abc import Iterator

from realestate.queue.request_queue import Lease

#: A request may be this many milliseconds late. At high rates that is longer than an interval.
PROMPT_MS = 100.0
#: A clock that is set back by less than this is not worth a correction.
SMALL_STEP_MS = 1000.0


class Buffer:
    """Leases in the order in which they were granted, and an estimate of Redis' clock."""

    def __init__(self, rate: float = 0.0) -> None:
        """`rate` is the site's rate limit; without one no send slot can be missed."""
        self._leases: deque[tuple[str, Lease]] = deque()
        self._ahead = 0.0
        self._tolerated_ms = max(PROMPT_MS, 1000 / rate) if rate else math.inf

    def __len__(self) -> int:
        return len(self._leases)

    def set_clock(self, redis_now: float, asked_at: float) -> None:
        """Adjust the estimate. Redis read its clock, in whole milliseconds, between `asked_at` and now.

        The estimate assumes that Redis read it just now. So it may be late by the time a response takes, but never
        early. It is changed only if it contradicts the new reading.
        """
        least = redis_now - monotonic_ms()
        most = redis_now + 1 - asked_at
        if not least <= self._ahead <= most:
            step = least - self._ahead
            self._ahead = least
            if step < -SMALL_STEP_MS:
                self._move_slots(step)

    def _move_slots(self, step: float) -> None:
        """Redis' clock was set back: the send slots move with it, otherwise they would come after the whole step."""
        self._leases = deque((key, lease._replace(send_at=lease.send_at + step)) for key, lease in self._leases)

    def now(self) -> float:
        """Return Redis' time in milliseconds, by the estimate."""
        return monotonic_ms() + self._ahead

    def add(self, key: str, lease: Lease) -> None:
        self._leases.append((key, lease))

    def pop(self) -> tuple[str, Lease] | None:
        if self._leases and self._leases[0][1].send_at <= self.now():
            return self._leases.popleft()
        return None

    def is_missed(self, lease: Lease) -> bool:
        """Whether its send slot is over. One interval late is allowed: that is one request more in a second."""
        return self.now() - lease.send_at > self._tolerated_ms

    def seconds_to_next(self) -> float | None:
        return max(0.0, (self._leases[0][1].send_at - self.now()) / 1000) if self._leases else None

    def drain(self, proxy_id: str | None = None) -> Iterator[str]:
        """Remove and yield all leases that are not sent yet, or those of one proxy."""
        leases, self._leases = self._leases, deque()
        for key, lease in leases:
            if proxy_id is None or lease.proxy_id == proxy_id:
                yield key
            else:
                self._leases.append((key, lease))


def monotonic_ms() -> float:
    return asyncio.get_running_loop().time() * 1000
