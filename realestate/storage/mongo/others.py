"""What is no home, in MongoDB: a document each, changed only where nobody else has written since it was read.

Its events are born in its document, as a listing's are, and leave it once they are in the log: a quote may change every
minute for years. See `change` and `log`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pymongo import InsertOne, UpdateOne
from pymongo.database import Database

from realestate.items.others import Other
from realestate.storage.history import Event
from realestate.storage.mongo.change import apply
from realestate.storage.mongo.connection import REFUSED, Connection, Document, server_time
from realestate.storage.mongo.documents import event_document, id_of, ids_of_portal, moment, packed, screened, unpacked
from realestate.storage.mongo.erased import is_tombstone
from realestate.storage.mongo.known import found_of
from realestate.storage.others import Decided, StoredOther, decide, last_of_each
from realestate.storage.tally import Tally

COLLECTION = "others"
#: Documents of one answer, where all are asked for.
_PAGE = 1000


class OthersKept:
    """The part of the store that is asked for what is no home."""

    connection: Connection

    def others(self, portal: str) -> Iterator[StoredOther]:
        """In pages: who reads slowly holds up nobody."""
        wanted = ids_of_portal(portal)
        while page := self._page_of_others(wanted):
            yield from (other_of(document) for document in page if not is_tombstone(document))
            wanted["$gt"] = page[-1]["_id"]

    def _page_of_others(self, wanted: Document) -> list[Document]:
        with self.connection.database() as database:
            return list(database[COLLECTION].find({"_id": wanted}, {"events": 0}).sort("_id", 1).limit(_PAGE))


@dataclass(frozen=True, slots=True)
class _Change:
    """See `change.Change`."""

    decided: Decided

    @property
    def id(self) -> str:
        return id_of(self.decided.after.portal, self.decided.after.ref)

    @property
    def revision(self) -> int:
        return self.decided.after.revision

    @property
    def events(self) -> Sequence[Event]:
        return [self.decided.event] if self.decided.event else []

    def statement(self) -> InsertOne[Any] | UpdateOne:
        before, after = self.decided.before, other_document(self.decided.after)
        born = {"events": list(map(event_document, self.events)), "unlogged": [each.revision for each in self.events]}
        if before is None:
            return InsertOne(screened({**after, **born}))
        told = {name: after[name] for name in ("kind", "url", "data", "revision", "last_run")}
        update = {"$set": told, "$max": {"last_seen_at": after["last_seen_at"]}}
        if self.events:
            update["$push"] = {name: {"$each": more} for name, more in born.items()}
        screened(update)
        return UpdateOne({"_id": self.id, "revision": before.revision}, update, upsert=True)


def write_others(database: Database[Document], others: Iterable[tuple[Other, str]], tally: Tally) -> None:
    """Again for what somebody else has written meanwhile."""
    waiting: dict[str, tuple[Other, str]] = {}
    for key, told in last_of_each(others).items():
        try:
            name = id_of(*key)
            name.encode()
            waiting[name] = told
        except REFUSED as error:
            tally.refuse_other(told, error)
    while waiting:
        waiting = _observe(database, waiting, tally)


def _observe(
    database: Database[Document], waiting: Mapping[str, tuple[Other, str]], tally: Tally
) -> dict[str, tuple[Other, str]]:
    now, found = server_time(database), found_of(database, list(waiting), {"events": 0}, COLLECTION)
    changes = []
    for id, told in waiting.items():
        if id in found and is_tombstone(found[id]):
            continue
        try:
            changes.append(_Change(decide(other_of(found[id]) if id in found else None, *told, now)))
        except REFUSED as error:
            tally.refuse_other(told, error)
    applied = apply(database, changes, COLLECTION)
    for change, reason in applied.refused:
        tally.refuse_other(waiting[change.id], reason)
    tally.others += len(applied.done)
    tally.events += Counter(event.type for change in applied.done for event in change.events)
    return {change.id: waiting[change.id] for change in applied.lost}


def other_document(other: StoredOther) -> Document:
    told = asdict(other) | {"data": packed(other.data)}
    moments = {name: moment(told[name]) for name in ("first_seen_at", "last_seen_at")}
    return {"_id": id_of(other.portal, other.ref), **told, **moments}


def other_of(document: Document) -> StoredOther:
    told = {name: document[name] for name in StoredOther.__dataclass_fields__}
    return StoredOther(**{**told, "data": unpacked(told["data"])})
