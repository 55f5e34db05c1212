"""When a page was fetched, by the database's clock, although only the worker knows how long ago that was.

A worker notes the time of a request by a steady clock: one that is never set and that also counts while the machine
sleeps. When the page is stored, its age by that clock is subtracted from the database's time. So the clocks of workers
need not be right, and setting one has no effect.
"""

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from realestate.storage.history import Observed

#: `request.meta` key: when the request was sent, by `steady`. It means nothing in another process.
SENT_STEADY = "sent_steady"
#: The clock that also counts while the machine sleeps. Linux has a name for it; on macOS CLOCK_MONOTONIC does.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def steady() -> float:
    """The time in seconds since some point in the past. It only grows."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class Seen(NamedTuple):
    """An observation with its job."""

    item: Observed
    job: str
    sent: float | None = None
    """When its request was sent, by `steady`; None is now."""


class Dated(NamedTuple):
    """An observation with its job and the time of its fetch, by the database's clock."""

    item: Observed
    job: str
    at: datetime


class Now(NamedTuple):
    """The same moment by two clocks. Take `steady` after `database`: if the process is stopped between them, a page
    seems older than it is, and never newer."""

    database: datetime
    steady: float

    def when(self, sent: float | None) -> datetime:
        """The database's time at the moment `sent`."""
        if sent is None or sent >= self.steady:
            return self.database
        return self.database - timedelta(seconds=self.steady - sent)

    def dated(self, observed: Iterable[Seen]) -> list[Dated]:
        """The observations in the order of their fetches."""
        found = [Dated(item, job, self.when(sent)) for item, job, sent in observed]
        if len(found) > 1:
            found.sort(key=_at)
        return found


def _at(dated: Dated) -> datetime:
    return dated.at
