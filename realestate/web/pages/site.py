"""What the pages read: the store, Redis, and figures that are computed at most once every few seconds."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from realestate.storage import FullStore, StoreError
from realestate.storage.coverage import FieldCoverage
from realestate.storage.event_counts import Changes, counted, last_before
from realestate.storage.homes import MarketWeek
from realestate.storage.query import Box
from realestate.storage.query.places import District
from realestate.storage.store import JobKey, MarketRow
from realestate.web.pages.portals import Fleet, first_line, read_fleet
from realestate.web.pages.quality import DAYS
from realestate.web.pages.timetable import Timetable, read_page

if TYPE_CHECKING:
    from redis import Redis

T = TypeVar("T")


class Ask(Protocol):
    """Calls a function with an open store and returns its result."""

    def __call__(self, question: Callable[[FullStore], T], /) -> T: ...


#: What is computed again at most this often: what Redis knows, and what the store has to count.
LIVE_SECONDS = 2.0
COUNT_SECONDS = 15.0
DISTRICT_SECONDS = 600.0
COVERAGE_SECONDS = 600.0
TIMETABLE_SECONDS = 10.0
MARKET_SECONDS = 60.0
#: `today` is the last 24 hours: a page must not be empty just after midnight.
TODAY = timedelta(hours=24)


class Figures(Generic[T]):
    """A result that takes long and is wanted often. One thread computes it; the others get the last one meanwhile."""

    def __init__(self, compute: Callable[[], T], seconds: float) -> None:
        self._compute = compute
        self._seconds = seconds
        self._lock = threading.Lock()
        self._kept: tuple[float, T] | None = None

    def get(self) -> T:
        kept = self._kept
        if kept is None:
            with self._lock:
                return self._computed() if self._kept is None else self._kept[1]
        if time.monotonic() - kept[0] > self._seconds and self._lock.acquire(blocking=False):
            # A reader does not wait for what it can have a few seconds old.
            threading.Thread(target=self._refresh, name="figures", daemon=True).start()
        return kept[1]

    def soon(self) -> T | None:
        """The last result; None while the first one is computed, for which a page does not wait."""
        if self._kept is not None:
            return self.get()
        if self._lock.acquire(blocking=False):
            threading.Thread(target=self._refresh, name="figures", daemon=True).start()
        return None

    def now(self) -> T:
        """Compute it anew: after an act, a page must show what the act changed."""
        with self._lock:
            return self._computed()

    def _refresh(self) -> None:
        try:
            self._computed()
        finally:
            self._lock.release()

    def _computed(self) -> T:
        value = self._compute()
        self._kept = (time.monotonic(), value)
        return value


@dataclass(frozen=True, slots=True)
class Counted:
    """What the store counts for the overview, and why it could not."""

    listings: Mapping[str, tuple[int, int]] | None
    changes: Mapping[str, Changes]
    error: str = ""


class Site:
    """The figures that several pages and their live parts show."""

    def __init__(
        self, ask: Ask, server: "Redis | None", simulator: str | None = None, timetable: Path | None = None
    ) -> None:
        self.ask = ask
        self.server = server
        self.simulator = simulator
        """The control address of `realestate simulate`, if its portals are crawled."""
        self.timetable_file = timetable
        self.job_counts: dict[JobKey, Mapping[str, int]] = {}
        """The events of finished jobs by type, for those that have no summary."""

    @cached_property
    def counted(self) -> Figures[Counted]:
        return Figures(self._count, COUNT_SECONDS)

    @cached_property
    def fleet(self) -> Figures[Fleet]:
        return Figures(self._look, LIVE_SECONDS)

    @cached_property
    def districts(self) -> Figures[Sequence[District]]:
        return Figures(lambda: self.ask(lambda store: store.districts()), DISTRICT_SECONDS)

    @cached_property
    def coverage(self) -> Figures[Sequence[FieldCoverage]]:
        return Figures(self._cover, COVERAGE_SECONDS)

    @cached_property
    def market(self) -> Figures[Sequence[MarketRow]]:
        """Today's medians by place, for a store that has no weekly figures yet."""
        return Figures(lambda: self.ask(lambda store: store.market()), MARKET_SECONDS)

    @cached_property
    def newest_weeks(self) -> Figures[Sequence[MarketWeek]]:
        """The newest weekly figures of each place."""
        return Figures(lambda: self.ask(lambda store: store.newest_market_weeks()), MARKET_SECONDS)

    @cached_property
    def timetable(self) -> Figures[Timetable]:
        return Figures(lambda: read_page(self), TIMETABLE_SECONDS)

    def labels_in(self, box: Box, limit: int) -> list[dict[str, Any]]:
        """The names of districts within the box, those with the most listings."""
        within = (each for each in self.districts.get() if box.contains(each.longitude, each.latitude))
        return [
            {"name": each.name, "longitude": each.longitude, "latitude": each.latitude}
            for each in islice(within, limit)
        ]

    def _cover(self) -> Sequence[FieldCoverage]:
        since = datetime.now(UTC) - timedelta(days=DAYS)
        try:
            return self.ask(lambda store: store.field_coverage(since))
        except StoreError:
            return ()

    def _count(self) -> Counted:
        try:
            return self.ask(_count)
        except StoreError as error:
            return Counted(None, {}, first_line(error))

    def _look(self) -> Fleet:
        counted = self.counted.get()
        return read_fleet(self.server, counted.listings, counted.changes, counted.error)


def _count(store: FullStore) -> Counted:
    since = datetime.now(UTC) - TODAY
    return Counted(store.counts(), counted(store, last_before(store, since), since))
