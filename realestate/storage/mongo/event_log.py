"""The log of all events in the order in which readers see them. Each event is in it once, also if workers are killed or
hang. There is no lock.

An event is first written to the document of its listing, by the write that changes the listing. `unlogged` lists the
revisions whose events may not be in the log yet. From there they are copied to the end of the log.

The `_id` of an entry is the number of its first event, and it holds `count` events: so an entry determines the `_id` of
the next one, and of several writers the first gets it. No worker can write an entry before the previous one exists. So
a reader that asks for what follows the last number it saw misses nothing.

No event is logged twice. A writer either knows an end of the log from before the events were first written, or has
searched the whole log for them. It then tries to write at that end. If another writer's entry is there, the writer
removes the events of that entry from its list and tries behind it.

An erased event keeps its number, so that no number is used twice, and its key, so that it is not logged again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import bson
from pymongo import UpdateOne, WriteConcern
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError
from pymongo.read_concern import ReadConcern

from realestate.storage.history import ALL_EVENTS, Event, EventFilter
from realestate.storage.maintenance import without_texts
from realestate.storage.mongo.connection import Document, bulk
from realestate.storage.mongo.documents import event_document, event_of, id_of, packed, unpacked
from realestate.storage.store import JobKey, Numbered

#: An entry stays far below MongoDB's limit, unless the change of a single listing is larger.
_ENTRY_EVENTS = 1000
_ENTRY_BYTES = 4 * 1024 * 1024
#: Listings that are recovered together.
_TOGETHER = 500
#: Collections where events are first written. A listing keeps its events; items of other kinds drop them, as they may
#: change very often.
LISTINGS = "listings"
SOURCES = (LISTINGS, "others")
_KEY = ("portal", "ref")
_WAITING = {"portal": 1, "ref": 1, "events": 1, "unlogged": 1}


@dataclass(frozen=True, slots=True)
class Revision:
    """All events of one revision of a listing. They are logged together."""

    listing: str
    revision: int
    events: Sequence[Document]

    @property
    def key(self) -> str:
        return f"{self.listing}#{self.revision}"

    @classmethod
    def each(cls, portal: str, ref: str, events: Iterable[Document]) -> Iterator[Self]:
        """Group the events of one listing's document by revision."""
        by_revision: dict[int, list[Document]] = {}
        for event in events:
            by_revision.setdefault(event["revision"], []).append({"portal": portal, "ref": ref, **event})
        for revision, some in sorted(by_revision.items()):
            yield cls(id_of(portal, ref), revision, some)


def revisions_of(events: Sequence[Event]) -> Iterator[Revision]:
    """The events of one listing, by revision."""
    if events:
        yield from Revision.each(events[0].portal, events[0].ref, map(event_document, events))


class Log:
    """The collection `events`, and the collection its events come from, mostly `listings`."""

    def __init__(self, database: Database[Document], source: str = LISTINGS) -> None:
        self._keeps_events = source == LISTINGS
        self._entries = database["events"]
        self._listings = database[source]
        self._listings_lightly = self._listings.with_options(write_concern=WriteConcern(w=1))
        self._entries_for_sure = self._entries.with_options(read_concern=ReadConcern("majority"))

    def end(self) -> int:
        """The number of the next event."""
        newest = self._entries.find({}, {"count": 1}).sort("_id", -1).limit(1)
        return next((_after(entry) for entry in newest), 1)

    def append(self, end: int, revisions: Sequence[Revision]) -> None:
        """Append these. `end` is the end of the log before these events were first written."""
        self._append_all(end, revisions)
        self._settle(revisions)

    def recover(self, ids: Sequence[str]) -> None:
        """Append the events of these listings that a killed worker did not append."""
        self._recover(self._listings.find({"_id": {"$in": ids}}, _WAITING))

    def recover_all(self) -> bool:
        """Append all such events. Return whether there were any."""
        some = False
        while self._recover(self._listings.find({"unlogged": {"$gt": 0}}, _WAITING).limit(_TOGETHER)):
            some = True
        return some

    def read(self, after: int, limit: int, wanted: EventFilter = ALL_EVENTS) -> list[Numbered]:
        """Read the next wanted events, only those that the majority of servers has."""
        start = self._start(after)
        entries = self._entries_for_sure.find({"_id": {"$gte": start}}, {"events": 1}).sort("_id", 1)
        entries.batch_size(2 + limit // 100)  # an entry may hold many events: no more than are wanted
        found = (each for each in _numbered(entries) if each.seq > after and wanted.matches(each.event))
        return list(islice(found, limit))

    def counts(self, after: int) -> dict[JobKey, dict[str, int]]:
        """The number of events after a number: by job, then by type. The server counts all but the first entry."""
        start = self._start(after)
        counts: dict[JobKey, dict[str, int]] = {}

        def add(job: JobKey, type: str, count: int) -> None:
            types = counts.setdefault(job, {})
            types[type] = types.get(type, 0) + count

        for each in _numbered(self._entries_for_sure.find({"_id": start}, {"events": 1})):
            if each.seq > after:
                add(JobKey(each.event.portal, each.event.job), each.event.type, 1)
        stages: list[Document] = [
            {"$match": {"_id": {"$gt": start}}},
            {"$unwind": "$events"},
            {"$match": {"events.job": {"$exists": True}}},  # an erased event is null
            {"$group": {"_id": {name: f"$events.{name}" for name in ("portal", "job", "type")}, "count": {"$sum": 1}}},
        ]
        for group in self._entries_for_sure.aggregate(stages):
            key = group["_id"]
            add(JobKey(key["portal"], key["job"]), key["type"], group["count"])
        return counts

    def _start(self, after: int) -> str:
        """The `_id` of the entry that holds the first event after a number."""
        first = self._entries_for_sure.find({"_id": {"$lte": _name(after + 1)}}, {"_id": 1}).sort("_id", -1).limit(1)
        return next((str(entry["_id"]) for entry in first), _name(1))

    def history(self, portal: str, ref: str) -> list[Event]:
        """The events of one item, in their order."""
        entries = self._entries_for_sure.find(_holding(portal, ref), {"events": 1}).sort("_id", 1)
        events = (event for entry in entries for event in entry["events"])
        return [event_of(portal, ref, event) for event in events if _is_of(event, portal, ref)]

    def erase(self, portal: str, ref: str) -> int:
        """Erase all events of a listing that has a tombstone and no unlogged events. Return how many."""
        count = 0
        for entry in self._entries.find(_holding(portal, ref)):
            own = [place for place, event in enumerate(entry["events"]) if _is_of(event, portal, ref)]
            if own:
                self._entries.update_one({"_id": entry["_id"]}, {"$set": {f"events.{place}": None for place in own}})
            count += len(own)
        return count

    def remove_texts(self, portal: str, ref: str) -> None:
        """Remove the texts from all events of a listing: see `maintenance.without_texts`."""
        for entry in self._entries.find(_holding(portal, ref)):
            changed = {
                f"events.{place}.data": packed(data)
                for place, event in enumerate(entry["events"])
                if event is not None
                and _is_of(event, portal, ref)
                and (data := without_texts(unpacked(event["data"]))) is not None
            }
            if changed:
                self._entries.update_one({"_id": entry["_id"]}, {"$set": changed})

    def _recover(self, listings: Iterable[Document]) -> bool:
        end = self.end()  # must be read before the listings; the cursor has not read anything yet
        left = sorted(_left_behind(listings), key=lambda each: each.events[0]["at"])
        self._append_all(end, self._missing(left))
        self._settle(left)
        return bool(left)

    def _append_all(self, end: int, revisions: Sequence[Revision]) -> None:
        for part in _parts(revisions):
            end = self._append(end, part)

    def _append(self, at: int, revisions: Sequence[Revision]) -> int:
        """Append behind everything that others append meanwhile. Return the new end."""
        while revisions:
            events = [event for each in revisions for event in each.events]
            entry = {"_id": _name(at), "count": len(events), "keys": [each.key for each in revisions], "events": events}
            try:
                self._entries.insert_one(entry)
                return at + len(events)
            except DuplicateKeyError:
                for first in self._entries.find({"_id": _name(at)}, {"count": 1, "keys": 1}):
                    at = _after(first)
                    logged = set(first["keys"])
                    revisions = [each for each in revisions if each.key not in logged]
        return at

    def _missing(self, revisions: Sequence[Revision]) -> list[Revision]:
        if not revisions:
            return []
        keys = {each.key for each in revisions}
        holding = self._entries.find({"keys": {"$in": sorted(keys)}}, {"keys": 1})
        logged = {key for entry in holding for key in entry["keys"]}
        return [each for each in revisions if each.key not in logged]

    def _settle(self, revisions: Sequence[Revision]) -> None:
        """Record that these are in the log. If this write is lost, they are searched in the log again."""
        logged: dict[str, Document] = {}
        for each in revisions:
            pulled = logged.setdefault(
                each.listing, {"unlogged": []} if self._keeps_events else {"unlogged": [], "events": []}
            )
            pulled["unlogged"].append(each.revision)
            if not self._keeps_events:
                pulled["events"] += ({name: event[name] for name in event if name not in _KEY} for event in each.events)
        bulk(self._listings_lightly, [UpdateOne({"_id": id}, {"$pullAll": pulled}) for id, pulled in logged.items()])


def _name(number: int) -> str:
    """An `_id` that sorts like the number."""
    return f"{number:015}"


def _after(entry: Mapping[str, Any]) -> int:
    return int(entry["_id"]) + int(entry["count"])


def _numbered(entries: Iterable[Document]) -> Iterator[Numbered]:
    for entry in entries:
        for number, event in enumerate(entry["events"], int(entry["_id"])):
            if event is not None:
                yield Numbered(number, event_of(event["portal"], event["ref"], event))


def _left_behind(documents: Iterable[Document]) -> Iterator[Revision]:
    for document in documents:
        if not document.get("unlogged"):  # or it was erased just now
            continue
        revisions = Revision.each(document["portal"], document["ref"], document["events"])
        yield from (each for each in revisions if each.revision in document["unlogged"])


def recover_all(database: Database[Document]) -> bool:
    """Append the unlogged events of all collections. Return whether there were any."""
    found = [Log(database, source).recover_all() for source in SOURCES]
    return any(found)


def _holding(portal: str, ref: str) -> Document:
    """A filter for entries with events of it: their keys begin with its id and a hash sign. The next character is $."""
    start = f"{id_of(portal, ref)}#"
    return {"keys": {"$elemMatch": {"$gt": start, "$lt": f"{start[:-1]}$"}}}


def _is_of(event: Document | None, portal: str, ref: str) -> bool:
    return event is not None and (event["portal"], event["ref"]) == (portal, ref)


def entries(numbered: Iterable[Numbered]) -> Iterator[Document]:
    """Entries for events that have numbers already, in their order."""
    part: list[Document] = []
    first = last = size = 0
    for each in numbered:
        event = {"portal": each.event.portal, "ref": each.event.ref, **event_document(each.event)}
        more = len(bson.encode(event))
        if part and (each.seq != last + 1 or len(part) == _ENTRY_EVENTS or size + more > _ENTRY_BYTES):
            yield _entry(first, part)
            part = []
            size = 0
        first = first if part else each.seq
        part.append(event)
        last = each.seq
        size += more
    if part:
        yield _entry(first, part)


def last_entry(number: int) -> Document:
    """An entry without an event: its number is not used again."""
    return {"_id": _name(number), "count": 1, "keys": [], "events": [None]}


def _entry(first: int, events: list[Document]) -> Document:
    keys = dict.fromkeys(f"{id_of(event['portal'], event['ref'])}#{event['revision']}" for event in events)
    return {"_id": _name(first), "count": len(events), "keys": list(keys), "events": events}


def _parts(revisions: Sequence[Revision]) -> Iterator[list[Revision]]:
    part: list[Revision] = []
    count = size = 0
    for each in revisions:
        more = sum(len(bson.encode(event)) for event in each.events)
        if part and (count + len(each.events) > _ENTRY_EVENTS or size + more > _ENTRY_BYTES):
            yield part
            part = []
            count = 0
            size = 0
        part.append(each)
        count += len(each.events)
        size += more
    if part:
        yield part
