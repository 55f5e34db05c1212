"""The timetable as Operations shows it: each entry, its next times, and what became of its last occurrence."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from realestate.jobs.timetable.entries import BadTimetable, Entry, read_timetable
from realestate.queue import keys
from realestate.queue.redis_client import REDIS_ERRORS
from realestate.storage import FullStore, StoreError
from realestate.storage.occurrences import last_of

if TYPE_CHECKING:
    from realestate.web.pages.site import Site

#: Next times that are shown of each entry.
NEXT = 3


@dataclass(frozen=True, slots=True)
class Line:
    """An entry, its next times in its own zone, and what became of its last occurrence."""

    entry: Entry
    next: Sequence[datetime]
    last: str


@dataclass(frozen=True, slots=True)
class Timetable:
    """What the page shows. `file` is empty if there is none."""

    file: str = ""
    lines: Sequence[Line] = ()
    error: str = ""
    """Why the file, or its last change, cannot be used."""


NO_TIMETABLE = Timetable()


def read_page(site: "Site") -> Timetable:
    path: Path | None = site.timetable_file
    if path is None or not path.exists():
        return NO_TIMETABLE
    try:
        entries = read_timetable(path, site.simulator)
    except BadTimetable as error:
        return Timetable(path.name, (), str(error))
    now = datetime.now(UTC)

    def last(store: FullStore) -> dict[str, str]:
        found = {each.name: last_of(store, each.name) for each in entries}
        return {name: occurrence.outcome if occurrence else "" for name, occurrence in found.items()}

    try:
        outcomes = site.ask(last)
    except StoreError:
        outcomes = {}
    lines = [Line(each, _next(each, now), outcomes.get(each.name, "")) for each in entries]
    lines.sort(key=lambda line: line.next[0])
    return Timetable(path.name, lines, _running_error(site))


def _next(entry: Entry, now: datetime) -> list[datetime]:
    return [due.astimezone(entry.zone) for due in islice(entry.due_after(now), NEXT)]


def _running_error(site: "Site") -> str:
    """Why `realestate timetable run` goes on with an older file; empty if it does not."""
    try:
        kept: Any = site.server.get(keys.TIMETABLE_ERROR) if site.server else None
    except REDIS_ERRORS:
        return ""
    return kept.decode() if kept else ""
