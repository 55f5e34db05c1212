"""Leased requests waiting for their moment. Nothing is released before it may be sent."""

import asyncio
from collections import deque
from collections.abc import Iterator

from realestate.queue.request_queue import Lease


class Buffer:
    """Leases in the order they were granted, with Redis' clock as this process knows it.

    The clock is set when an answer arrives, so it is never ahead of Redis' own: late by a moment at worst, early never.
    """

    def __init__(self) -> None:
        self._leases: deque[tuple[str, Lease]] = deque()
        self._ahead = 0.0

    def __len__(self) -> int:
        return len(self._leases)

    def set_clock(self, redis_now: float) -> None:
        self._ahead = redis_now - _monotonic()

    def now(self) -> float:
        """Redis' time, in milliseconds."""
        return _monotonic() + self._ahead

    def add(self, key: str, lease: Lease) -> None:
        self._leases.append((key, lease))

    def pop(self) -> tuple[str, Lease] | None:
        if self._leases and self._leases[0][1].send_at <= self.now():
            return self._leases.popleft()
        return None

    def seconds_to_next(self) -> float | None:
        return max(0.0, (self._leases[0][1].send_at - self.now()) / 1000) if self._leases else None

    def drain(self, exit: str | None = None) -> Iterator[str]:
        """Take everything out unsent, or all that would leave by one exit."""
        leases, self._leases = self._leases, deque()
        for key, lease in leases:
            if exit is None or lease.exit == exit:
                yield key
            else:
                self._leases.append((key, lease))


def _monotonic() -> float:
    return asyncio.get_running_loop().time() * 1000
