"""Counts of events: those of a job, and what changed in each portal since a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from realestate.storage.history import EventFilter, EventType
from realestate.storage.store import Job, JobKey, Store

#: Events are numbered in the order in which they were stored, nearly that of their times.
_MARGIN = timedelta(minutes=10)


def counts_of(store: Store, jobs: Sequence[Job]) -> Mapping[JobKey, Mapping[str, int]]:
    """The number of events of each job, by type. Only events since the first of these jobs are read."""
    if not jobs:
        return {}
    counts = store.event_counts(last_before(store, min(job.started_at for job in jobs)))
    return {key: counts.get(key, {}) for key in (JobKey(job.portal, job.job) for job in jobs)}


def last_before(store: Store, at: datetime) -> int:
    """The number of an event shortly before this time, found with a few dozen small reads."""
    first = 0
    last = store.last_event()
    while first < last:
        middle = (first + last) // 2
        (event,) = store.events(middle, 1) or (None,)
        if event is not None and event.event.at < at - _MARGIN:
            first = event.seq
        else:
            last = middle
    return first


#: What lists of jobs and reports count -> the types of events that it has.
EVENT_GROUPS: Mapping[str, Sequence[EventType]] = {
    "new": ("listed", "appeared"),
    "price": ("price_changed", "price_meaning_changed"),
    "updated": ("updated", "reserved"),
    "gone": ("delisted", "sold", "rented"),
    "back": ("relisted",),
}
#: Events that are read at a time.
_PAGE = 2000
#: Type of event -> what it counts as. Price changes are counted by their direction.
COUNTED_AS = {
    "listed": "new",
    "delisted": "gone",
    "sold": "gone",
    "rented": "gone",
    "relisted": "back",
}


@dataclass(slots=True)
class Changes:
    """The number of listings that came, left, or changed their price."""

    new: int = 0
    cheaper: int = 0
    dearer: int = 0
    gone: int = 0
    back: int = 0

    def add(self, type: str, percent: float | None, count: int = 1) -> None:
        """Count events of a type. `percent` says by how much a price changed."""
        if type == "price_changed":
            name = "cheaper" if (percent or 0) < 0 else "dearer"
        elif type in COUNTED_AS:
            name = COUNTED_AS[type]
        else:
            return
        setattr(self, name, getattr(self, name) + count)


def counted(store: Store, after: int, since: datetime) -> Mapping[str, Changes]:
    """The changes by portal. The events are counted by the store; only price changes are read one by one."""
    found: dict[str, Changes] = {}
    for key, types in store.event_counts(after).items():
        changes = found.setdefault(key.portal, Changes())
        for type in types.keys() & COUNTED_AS.keys():
            changes.add(type, None, types[type])
    for portal, percent in _price_changes(store, after, since):
        found.setdefault(portal, Changes()).add("price_changed", percent)
    return found


def _price_changes(store: Store, after: int, since: datetime) -> Iterator[tuple[str, float | None]]:
    wanted = EventFilter(type="price_changed", since=since)
    while events := store.events(after, _PAGE, wanted):
        yield from ((each.event.portal, each.event.data.get("percent")) for each in events)
        after = events[-1].seq
