"""What happened to an item that is no home: one pure rule, the same for every store.

It has no price history of its own, no status and no end: it appears, and what is said of it changes. A store reads what
it knows, asks `decide_other`, and writes the outcome where nobody else has written meanwhile, as with listings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from realestate.items.others import CLOCK, IDENTITY, Other, kind_of, other_record
from realestate.storage.history import Event


@dataclass(frozen=True, slots=True)
class StoredOther:
    """What a store knows of one; `revision` grows with every change, not with every sighting."""

    kind: str
    portal: str
    ref: str
    url: str
    data: dict[str, Any]
    """Its fields but for its identity, as `other_record` writes them."""
    revision: int
    first_seen_at: datetime
    last_seen_at: datetime
    last_job: str

    @property
    def record(self) -> dict[str, Any]:
        return {"portal": self.portal, "ref": self.ref, "url": self.url, **self.data}


@dataclass(frozen=True, slots=True)
class Decided:
    """What is to be written, if only that it was seen."""

    before: StoredOther | None
    after: StoredOther
    event: Event | None


def last_of_each(others: Iterable[tuple[Other, str]]) -> dict[tuple[str, str], tuple[Other, str]]:
    """A batch is one look: what it says last of an item counts. Written again, it changes nothing."""
    return {(other.portal, other.ref): (other, job) for other, job in others}


def decide_other(before: StoredOther | None, other: Other, job: str, now: datetime) -> Decided:
    """That only its address or the portal's clock moved is kept, and is no event."""
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
    """Of each field that says something else, what it said and says."""
    names = sorted((old.keys() | new.keys()) - CLOCK)
    return {name: [old.get(name), new.get(name)] for name in names if old.get(name) != new.get(name)}


def _event(after: StoredOther, type: Any, data: dict[str, Any]) -> Event:
    return Event(after.portal, after.ref, after.revision, type, after.last_seen_at, after.last_job, data)
