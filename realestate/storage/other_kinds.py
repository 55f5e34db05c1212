"""The rule for items of other kinds (products, quotes): a pure function, the same for every store.

Such an item has no price history, no status and no end: it appears, and its fields change. A store reads what is
stored, calls `decide_other`, and writes the result unless another worker has written meanwhile, as with listings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any, NamedTuple

from realestate.items.others import CLOCK, IDENTITY, Other, kind_of, other_record
from realestate.storage.history import Event


@dataclass(frozen=True, slots=True)
class StoredOther:
    """A stored item; `revision` grows with every change, not with every sighting."""

    kind: str
    portal: str
    ref: str
    url: str
    data: dict[str, Any]
    """Its fields except its identity, as `other_record` returns them."""
    revision: int
    first_seen_at: datetime
    last_seen_at: datetime
    last_job: str

    @property
    def record(self) -> dict[str, Any]:
        return {"portal": self.portal, "ref": self.ref, "url": self.url, **self.data}


@dataclass(frozen=True, slots=True)
class Decided:
    """What is to be written. `event` is None if nothing changed."""

    before: StoredOther | None
    after: StoredOther
    event: Event | None
    is_late: bool = False
    """The item was fetched before the stored one: nothing is to be written."""


class SeenOther(NamedTuple):
    """An item with its job."""

    item: Other
    job: str
    sent: float | None = None
    """When its request was sent, by `clock.steady`; None is now."""


def last_of_each(others: Iterable[SeenOther | tuple[Other, str]]) -> dict[tuple[str, str], SeenOther]:
    """The observation of each item that was fetched last. Only that one counts."""
    found: dict[tuple[str, str], SeenOther] = {}
    for each in others:
        seen = each if isinstance(each, SeenOther) else SeenOther(*each)
        key = seen.item.portal, seen.item.ref
        if key not in found or _sent(found[key]) <= _sent(seen):
            found[key] = seen
    return found


def _sent(seen: SeenOther) -> float:
    return inf if seen.sent is None else seen.sent


def decide_other(before: StoredOther | None, other: Other, job: str, now: datetime) -> Decided:
    """Return what is to be written of an item that was fetched `now`. If only the URL or the portal's time changed,
    that is stored without an event."""
    if before is not None and now < before.last_seen_at:
        return Decided(before, before, None, is_late=True)
    data = {name: value for name, value in other_record(other).items() if name not in IDENTITY}
    revision, since = (before.revision, before.first_seen_at) if before else (0, now)
    is_same = before is not None and (before.kind, before.url, before.data) == (kind_of(other), other.url, data)
    revision += not is_same
    after = StoredOther(kind_of(other), other.portal, other.ref, other.url, data, revision, since, now, job)
    if before is None:
        return Decided(before, after, _event(after, "appeared", {"kind": after.kind, **data}))
    fields = _changes(before.data, data)
    return Decided(before, after, _event(after, "updated", {"fields": fields}) if fields else None)


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The old and new value of each field that changed."""
    names = sorted((old.keys() | new.keys()) - CLOCK)
    return {name: [old.get(name), new.get(name)] for name in names if old.get(name) != new.get(name)}


def _event(after: StoredOther, type: Any, data: dict[str, Any]) -> Event:
    return Event(after.portal, after.ref, after.revision, type, after.last_seen_at, after.last_job, data)
