"""The whole store as records, and records loaded into an empty store."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, fields
from itertools import groupby
from operator import itemgetter
from typing import Any

from pymongo import InsertOne, UpdateOne
from pymongo.database import Database
from pymongo.errors import PyMongoError

from realestate.items import as_record
from realestate.storage.errors import StoreError
from realestate.storage.history import Event, PriceSeen, State
from realestate.storage.mongo.change import derived_fields, is_tombstone, mark_name, tombstone
from realestate.storage.mongo.connection import REFUSED, Connection, Document, Refused, bulk, pages, pieces, server_time
from realestate.storage.mongo.documents import (
    entry_document,
    entry_of,
    event_document,
    id_of,
    page_document,
    page_of,
    price_document,
    price_of,
    screened,
    state_document,
    state_of,
    stored_time,
)
from realestate.storage.mongo.event_log import SOURCES, Log, entries, last_entry
from realestate.storage.mongo.jobs import job_document, job_of, order_document, order_of
from realestate.storage.mongo.maintenance import contacts_document, contacts_of
from realestate.storage.mongo.schema import (
    demand_empty,
    drop_loaded,
    finish_restore,
    make_indexes,
    new_prefix,
    part_name,
    take_over,
)
from realestate.storage.mongo.write import OTHERS, departure_name, other_document, other_of
from realestate.storage.other_kinds import StoredOther
from realestate.storage.records import (
    Departure,
    ErasedMark,
    Numbering,
    PlannedPart,
    StoredJob,
    StoredListing,
    Watermark,
    listing_of,
)
from realestate.storage.store import Numbered

#: Events that are read at a time.
_EVENTS = 1000


def everything(database: Database[Document]) -> Iterator[tuple[str, Any]]:
    yield "numbering", Numbering(Log(database).end() - 1)
    with closing(_Exported()) as exported:
        for part, of in _HISTORY.items():
            yield from ((part, record) for record in of(database, exported))
        weighing: dict[tuple[str, str], str] = {}
        yield from (("jobs", record) for record in _jobs(database, weighing))
        yield from (("departures", record) for record in _departures(database, weighing))
        for part, read in _PLAIN.items():
            yield from ((part, read(document)) for page in pages(database[part]) for document in page)
        yield from (("erased", record) for record in _erased(database, exported))


class _Exported:
    """The revision at which each item was exported. On disk, as there may be millions."""

    def __init__(self) -> None:
        self._kept = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._kept.execute("CREATE TABLE exported (id TEXT PRIMARY KEY, revision INTEGER) WITHOUT ROWID")

    def add(self, listings: Iterable[Document]) -> None:
        values = [(each["_id"], each["revision"]) for each in listings]
        self._kept.execute("BEGIN")
        self._kept.executemany("INSERT OR REPLACE INTO exported VALUES (?, ?)", values)
        self._kept.execute("COMMIT")

    def has(self, id: str, revision: int = 0) -> bool:
        """Whether the listing was exported at this revision or a later one."""
        found = self._kept.execute("SELECT revision FROM exported WHERE id = ?", (id,)).fetchone()
        return found is not None and revision <= found[0]

    def close(self) -> None:
        self._kept.close()


def _listings(database: Database[Document], exported: _Exported) -> Iterator[StoredListing]:
    """Yield the listings. Their events are all copied to the log first, because they are read from there later."""
    for page in pages(database["listings"], {"events": 0, "prices": 0}):
        stored = [each for each in page if not is_tombstone(each)]
        if waiting := [each["_id"] for each in stored if each["unlogged"]]:
            Log(database).recover(waiting)
        exported.add(stored)
        yield from map(_stored, stored)


def _others(database: Database[Document], exported: _Exported) -> Iterator[StoredOther]:
    """Yield the items of other kinds. Their events are copied to the log first, too."""
    for page in pages(database[OTHERS], {"events": 0}):
        stored = [each for each in page if not is_tombstone(each)]
        if waiting := [each["_id"] for each in stored if each["unlogged"]]:
            Log(database, OTHERS).recover(waiting)
        exported.add(stored)
        yield from map(other_of, stored)


def _stored(document: Document) -> StoredListing:
    state = state_of(document)
    last_job = document.get("last_job", "")
    return StoredListing(as_record(state.listing), state.revision, last_job, state.suspect, state.price_sighted_at)


def _events(database: Database[Document], exported: _Exported) -> Iterator[Any]:
    log = Log(database)
    after = 0
    end = log.end()
    while after < end - 1 and (some := log.read(after, _EVENTS)):
        for each in some:
            if each.seq < end and exported.has(id_of(each.event.portal, each.event.ref), each.event.revision):
                yield each
        after = some[-1].seq


def _prices(database: Database[Document], exported: _Exported) -> Iterator[Any]:
    for page in pages(database["listings"], {"portal": 1, "ref": 1, "prices": 1, "erased_at": 1}):
        for each in page:
            prices = () if is_tombstone(each) else each["prices"]
            yield from (
                price_of(each["portal"], each["ref"], seen)
                for seen in prices
                if exported.has(each["_id"], seen["revision"])
            )


def _jobs(database: Database[Document], weighing: dict[tuple[str, str], str]) -> Iterator[StoredJob]:
    """The jobs. Fills `weighing`: portal and job -> the mark of the evidence of its verdict."""
    for page in pages(database["jobs"]):
        for each in page:
            weighing[each["portal"], each["job"]] = each.get("weighing", "")
            yield StoredJob(job_of(each), each["offered"])


def _departures(database: Database[Document], weighing: Mapping[tuple[str, str], str]) -> Iterator[Departure]:
    for page in pages(database["departures"]):
        for each in page:
            weighed = weighing.get((each["portal"], each["job"]), "") in each["weighed"]
            yield _plain(Departure)({**each, "weighed": weighed})


def _erased(database: Database[Document], exported: _Exported) -> Iterator[ErasedMark]:
    """A listing that was erased after it was exported must not stay in any file: then this raises StoreError."""
    for page in pages(database["erased"]):
        for each in page:
            if each["kind"] == "listing" and exported.has(id_of(*each["what"].split("/", 1))):
                raise StoreError(f"{each['what']} was erased during the backup: start the backup again")
            yield _plain(ErasedMark)(each)


def _plain(kind: Any) -> Callable[[Document], Any]:
    names = [each.name for each in fields(kind)]
    return lambda document: kind(*(document[name] for name in names))


_HISTORY: Mapping[str, Callable[[Database[Document], _Exported], Iterator[Any]]] = {
    "listings": _listings,
    "others": _others,
    "events": _events,
    "prices": _prices,
}
_PLAIN: Mapping[str, Callable[[Document], Any]] = {
    "job_orders": order_of,
    "parts": _plain(PlannedPart),
    "watermarks": _plain(Watermark),
    "quarantine": entry_of,
    "snapshots": page_of,
    "contacts": contacts_of,
}


#: Records that are loaded at a time.
_TOGETHER = 1000
#: The mark of evidence that belongs to the verdict of a restored job.
_WEIGHED = "restored"


class Loading:
    """Loads records into collections whose names begin with a prefix."""

    def __init__(self, database: Database[Document], prefix: str) -> None:
        self._database = database
        self._prefix = prefix
        self._last_seq = self._numbered = 0

    def load(self, records: Iterable[tuple[str, Any]]) -> None:
        """Raises Refused if a record cannot be stored, or comes twice."""
        special = {
            "numbering": self._load_numbering,
            "events": self._load_events,
            "prices": self._load_prices,
            "erased": self._load_erased,
        }
        for part, of_part in groupby(records, itemgetter(0)):
            for some in pieces((record for _, record in of_part), _TOGETHER):
                if part in special:
                    special[part](some)
                else:
                    self._insert(part, map(_DOCUMENTS[part], some))
        if self._numbered > self._last_seq:
            self._insert("events", [last_entry(self._numbered)])

    def _load_numbering(self, some: Sequence[Any]) -> None:
        """Continue after the highest number that was ever used, also if its event was erased."""
        self._numbered = max(each.last_seq for each in some)

    def _load_events(self, some: Sequence[Numbered]) -> None:
        for each in some:
            if each.seq <= self._last_seq:
                raise Refused(f"event {each.seq} follows event {self._last_seq}")
            self._last_seq = each.seq
        self._insert("events", entries(some))
        self._push("events", event_document, [each.event for each in some])

    def _load_prices(self, some: Sequence[PriceSeen]) -> None:
        self._push("prices", price_document, some)

    def _load_erased(self, some: Sequence[ErasedMark]) -> None:
        self._insert("erased", map(_mark_document, some))
        listings = (each for each in some if each.kind == "listing")
        tombstones = [{"_id": _id_of_mark(each), **tombstone(stored_time(each.at))} for each in listings]
        for collection in SOURCES:
            self._insert(collection, tombstones)

    def _insert(self, collection: str, documents: Iterable[Document]) -> None:
        names = []
        made = []
        try:
            for document in documents:
                names.append(document["_id"])
                made.append(InsertOne(screened(document)))
        except REFUSED as error:
            raise Refused(f"{collection}: {error}") from error
        done = bulk(self._database[self._prefix + collection], made)
        for place in done.existing:
            raise Refused(f"{names[place]} is twice in {collection}")
        for place, reason in done.refused.items():
            raise Refused(f"{names[place]} in {collection}: {reason}")

    def _push(
        self, what: str, document: Callable[[Any], Document], some: Sequence[Event] | Sequence[PriceSeen]
    ) -> None:
        """Add them to the documents of their listings. Items of other kinds do not keep events."""
        more: dict[str, list[Any]] = {}
        for each in some:
            more.setdefault(id_of(each.portal, each.ref), []).append(each)
        pushes = []
        for id, found in more.items():
            update: Document = {"$push": {what: {"$each": list(map(document, found))}}}
            if what == "events":
                update["$set"] = derived_fields(found)
            pushes.append(UpdateOne({"_id": id}, update))
        listings = self._database[self._prefix + "listings"]
        done = bulk(listings, pushes)
        for place, reason in done.refused.items():
            raise Refused(f"{what} of {list(more)[place]}: {reason}")
        if done.matched < len(more):
            self._demand_known(what, list(more))

    def _demand_known(self, what: str, ids: Sequence[str]) -> None:
        unknown = set(ids)
        for collection in SOURCES:
            found = self._database[self._prefix + collection].find({"_id": {"$in": ids}}, {"_id": 1})
            unknown -= {each["_id"] for each in found}
        if unknown:
            raise Refused(f"{what} of {', '.join(sorted(unknown)[:3])}, which is not an item of the file")


def _listing_document(stored: StoredListing) -> Document:
    state = State(listing_of(stored.listing), stored.revision, stored.suspect)
    kept = {name: value for name, value in state_document(state).items() if value is not None}
    if stored.price_sighted_at is not None:
        kept["price_sighted_at"] = stored_time(stored.price_sighted_at)
    history: Document = {"events": [], "prices": [], "unlogged": []}
    return {"_id": id_of(state.listing.portal, state.listing.ref), **kept, "last_job": stored.last_job, **history}


def _other_document(stored: StoredOther) -> Document:
    return {**other_document(stored), "events": [], "unlogged": []}


def _job_document(stored: StoredJob) -> Document:
    weighing = {} if stored.job.verdict is None else {"weighing": _WEIGHED}
    return {**job_document(stored.job), "offered": stored.offered, **weighing}


def _departure_document(record: Departure) -> Document:
    name = departure_name(record.job, record.portal, record.ref, record.evidence)
    return {
        "_id": name,
        **asdict(record),
        "at": stored_time(record.at),
        "weighed": [_WEIGHED] if record.weighed else [],
    }


def _part_document(record: PlannedPart) -> Document:
    return {"_id": part_name(record.portal, record.job, record.search), **asdict(record)}


def _watermark_document(record: Watermark) -> Document:
    return {"_id": id_of(record.portal, record.scope), **asdict(record), "set_at": stored_time(record.set_at)}


def _mark_document(record: ErasedMark) -> Document:
    return {"_id": mark_name(record.kind, record.what), **asdict(record), "at": stored_time(record.at)}


def _id_of_mark(record: ErasedMark) -> str:
    portal, _, ref = record.what.partition("/")
    return id_of(portal, ref)


_DOCUMENTS: Mapping[str, Callable[[Any], Document]] = {
    "job_orders": order_document,
    "listings": _listing_document,
    "others": _other_document,
    "jobs": _job_document,
    "departures": _departure_document,
    "parts": _part_document,
    "watermarks": _watermark_document,
    "quarantine": entry_document,
    "snapshots": page_document,
    "contacts": contacts_document,
}


class BackupCollections:
    """Backup and restore."""

    connection: Connection

    def everything(self) -> Iterator[tuple[str, Any]]:
        """Each listing with its events and prices is as of one point in time."""
        with self.connection.database() as database:
            yield from everything(database)

    def restore(self, records: Iterable[tuple[str, Any]]) -> None:
        with self.connection.database() as database:
            demand_empty(database)
            prefix = new_prefix(server_time(database))
            try:
                Loading(database, prefix).load(records)
                make_indexes(database, prefix)
                take_over(database, prefix)
            except BaseException:
                with suppress(PyMongoError):  # then the next upkeep drops it
                    drop_loaded(database, prefix)
                raise
            finish_restore(database)
