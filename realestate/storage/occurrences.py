"""The record of the timetable's occurrences: one decision for each, whoever makes it first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

#: `begins`: the entry was seen for the first time, and its occurrences count from then on. `start`: its work is
#: started. `skipped`: it is not; the reason says why.
Decision = Literal["begins", "start", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One time at which an entry of the timetable is due."""

    entry: str
    due_at: datetime
    decision: Decision
    reason: str | None = None
    """Why it was skipped, or why it is late."""
    decided_at: datetime | None = None
    """Set by the database."""
    claimed_until: datetime | None = None
    """Until then, one process does its work."""
    done_at: datetime | None = None
    """When its job was submitted, or its work was done."""
    job: str | None = None
    error: str | None = None
    """Why its work failed."""

    @property
    def outcome(self) -> str:
        """What became of it, in words."""
        at = f"{self.due_at:%m-%d %H:%M} UTC"
        if self.error:
            return f"{at} failed: {self.error}"
        if self.decision == "skipped":
            return f"{at} skipped: {self.reason}"
        late = f", {self.reason}" if self.reason else ""
        if self.done_at is None:
            return f"{at} is being started{late}"
        return f"{at} job {self.job}{late}" if self.job else f"{at} done{late}"


class Occurrences(Protocol):
    """The part of a store that keeps occurrences. Every call is safe to repeat."""

    def add_occurrences(self, occurrences: Sequence[Occurrence]) -> None:
        """Record the decisions, except for occurrences about which one was made before."""

    def last_occurrences(self) -> Mapping[str, datetime]:
        """The last time of each entry about which a decision was made."""

    def occurrences(
        self, entry: str | None = None, limit: int = 20, *, undone: bool = False, before: datetime | None = None
    ) -> Sequence[Occurrence]:
        """The newest first. `undone`: only those that are to be started and were not. `before`: only those that were
        started and due before this time."""

    def claim_occurrence(self, entry: str, due_at: datetime, seconds: float) -> bool:
        """Whether the caller may do the work of this occurrence for this many seconds: nobody else does."""

    def occurrence_done(self, entry: str, due_at: datetime, job: str | None = None, error: str | None = None) -> None:
        """Record that its job was submitted, or that its work was done or failed."""


def last_of(store: Occurrences, entry: str) -> Occurrence | None:
    """The last occurrence of an entry about which somebody decided whether it starts."""
    return next((each for each in store.occurrences(entry, 20) if each.decision != "begins"), None)
