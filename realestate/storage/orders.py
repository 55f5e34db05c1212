"""The durable record of a submitted job, from the moment of its submission: what was ordered, and how it ended.

The record in `jobs` (`store.Job`) begins when a worker opens the job. It decides which listings are gone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

#: How a job ended.
Outcome = Literal["finished", "cancelled", "failed"]
#: The reason of a job that was cancelled because its deadline was over.
DEADLINE = "its deadline was over"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOrder:
    """A submitted job. All times are those of the database."""

    job: str
    """The job's id. With a key, it is made of the key, so that the same key is always the same job."""
    portal: str
    key: str | None
    """The name that the submitter gave it; None if none."""
    content: Mapping[str, Any]
    """What was ordered, as JSON: see `jobs.order.JobOrder`."""
    seeds: Sequence[str]
    """The seeds that start it, as they are pushed."""
    events_after: int
    """Number of the last event before the submission: all events of the job come after it."""
    submitted_at: datetime
    deadline_at: datetime | None = None
    """It is cancelled at this time; None: never."""
    pushed_at: datetime | None = None
    """When its seeds were in Redis."""
    paused_at: datetime | None = None
    cancelled_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: Outcome | None = None
    """None until it has ended."""
    reason: str | None = None
    """Why it was cancelled, or why it failed."""
    summary: Mapping[str, Any] | None = None
    """What it did, as JSON: written when it ends."""


class Orders(Protocol):
    """The part of a store that keeps orders. Every call is safe to repeat."""

    def add_order(self, order: StoredOrder, deadline_seconds: float | None = None) -> StoredOrder:
        """Store the order unless one with its id is stored, and return the one that is stored. `submitted_at`,
        `deadline_at` and `events_after` are set by the database."""

    def orders(
        self,
        portal: str | None = None,
        limit: int = 20,
        *,
        jobs: Sequence[str] | None = None,
        key: str | None = None,
        unended: bool = False,
        ended_after: datetime | None = None,
    ) -> Sequence[StoredOrder]:
        """Orders of the portal, or of all; the newest first. `unended`: only those that have not ended; `ended_after`:
        only those that ended after a time."""

    def order_pushed(self, job: str) -> None:
        """Record that its seeds are in Redis."""

    def order_paused(self, job: str, *, paused: bool) -> None:
        """Record that it is paused, or not any more."""

    def order_cancelled(self, job: str, reason: str) -> bool:
        """Record that it is cancelled, unless it has ended or was cancelled before. Return whether it is cancelled."""

    def order_ended(self, job: str, outcome: Outcome, reason: str | None, summary: Mapping[str, Any]) -> bool:
        """Record how it ended, once. Return whether this was the first call."""
