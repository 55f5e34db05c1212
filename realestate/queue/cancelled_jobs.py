"""Cancelled jobs: their requests are not sent any more, and are removed from the queue."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from realestate.queue.buffer import monotonic_ms
from realestate.queue.job_marks import REMOVED_TOGETHER
from realestate.queue.request_queue import RequestQueue

#: Runs something in the background, at the latest before the worker ends: `Fleet.run_in_background`.
Background = Callable[[Callable[[], Awaitable[None]], str], Any]


class CancelledJobs:
    """The cancelled jobs of a portal, as the last heartbeat named them."""

    def __init__(self, queue: RequestQueue, run_in_background: Background) -> None:
        self._queue = queue
        self._run_in_background = run_in_background
        self._jobs: frozenset[str] = frozenset()
        self._removing: set[str] = set()
        self._is_closed = False

    def __contains__(self, job: str) -> bool:
        return job in self._jobs

    def update(self, jobs: frozenset[str]) -> None:
        """Send nothing of these jobs any more, and remove what is left of them in the queue."""
        self._jobs = jobs
        for job in jobs - self._removing:
            self._removing.add(job)
            self._run_in_background(partial(self._remove, job), f"removing the cancelled job {job}")

    def close(self) -> None:
        """Remove no more: another worker goes on."""
        self._is_closed = True

    async def _remove(self, job: str) -> None:
        """In steps, each followed by a pause of the same length: other commands need Redis too."""
        try:
            while not self._is_closed:
                asked_at = monotonic_ms()
                removed, _ = await self._queue.remove_job(job, REMOVED_TOGETHER)
                if not removed:
                    return  # the rest is leased: the next heartbeat looks again
                await asyncio.sleep((monotonic_ms() - asked_at) / 1000)
        finally:
            self._removing.discard(job)
