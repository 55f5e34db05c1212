"""All there is as records.

MongoDB shows no one moment of all collections. What holds instead: a listing, its events and its prices are of the one
moment at which its document was read, whoever writes meanwhile; what became of it later is not told. Listings are read
in the order of their names: one that is new may be told or not. The other parts are read after them, each document as
it is then.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import fields
from typing import Any

from pymongo.database import Database

from realestate.items import as_record
from realestate.storage.errors import StoreError
from realestate.storage.mongo.connection import Document
from realestate.storage.mongo.contacts import contacts_of
from realestate.storage.mongo.documents import id_of, price_of, state_of
from realestate.storage.mongo.erased import is_tombstone
from realestate.storage.mongo.log import Log
from realestate.storage.mongo.looking import page_of
from realestate.storage.mongo.others import COLLECTION as OTHERS
from realestate.storage.mongo.others import other_of
from realestate.storage.mongo.paging import pages
from realestate.storage.mongo.quarantine import entry_of
from realestate.storage.mongo.runs import run_of
from realestate.storage.others import StoredOther
from realestate.storage.records import (
    Departure,
    ErasedMark,
    Numbering,
    PlannedPart,
    StoredListing,
    StoredRun,
    Watermark,
)

#: Events asked for together.
_EVENTS = 1000


def everything(database: Database[Document]) -> Iterator[tuple[str, Any]]:
    yield "numbering", Numbering(Log(database).end() - 1)
    with closing(_Told()) as told:
        for part, of in _HISTORY.items():
            yield from ((part, record) for record in of(database, told))
        weighing: dict[str, str] = {}
        yield from (("runs", record) for record in _runs(database, weighing))
        yield from (("departures", record) for record in _departures(database, weighing))
        for part, read in _PLAIN.items():
            yield from ((part, read(document)) for page in pages(database[part]) for document in page)
        yield from (("erased", record) for record in _erased(database, told))


class _Told:
    """The revision of each listing, and of what is no home, that was told. On disk, for there may be millions."""

    def __init__(self) -> None:
        self._kept = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._kept.execute("CREATE TABLE told (id TEXT PRIMARY KEY, revision INTEGER) WITHOUT ROWID")

    def add(self, listings: Iterable[Document]) -> None:
        told = [(each["_id"], each["revision"]) for each in listings]
        self._kept.execute("BEGIN")
        self._kept.executemany("INSERT OR REPLACE INTO told VALUES (?, ?)", told)
        self._kept.execute("COMMIT")

    def has(self, id: str, revision: int = 0) -> bool:
        """Whether what happened to the listing then had happened when it was told."""
        found = self._kept.execute("SELECT revision FROM told WHERE id = ?", (id,)).fetchone()
        return found is not None and revision <= found[0]

    def close(self) -> None:
        self._kept.close()


def _listings(database: Database[Document], told: _Told) -> Iterator[StoredListing]:
    """With all its events in the log, where they are looked for later."""
    for page in pages(database["listings"], {"events": 0, "prices": 0}):
        stored = [each for each in page if not is_tombstone(each)]
        if waiting := [each["_id"] for each in stored if each["unlogged"]]:
            Log(database).recover(waiting)
        told.add(stored)
        yield from map(_stored, stored)


def _others(database: Database[Document], told: _Told) -> Iterator[StoredOther]:
    """As with listings."""
    for page in pages(database[OTHERS], {"events": 0}):
        stored = [each for each in page if not is_tombstone(each)]
        if waiting := [each["_id"] for each in stored if each["unlogged"]]:
            Log(database, OTHERS).recover(waiting)
        told.add(stored)
        yield from map(other_of, stored)


def _stored(document: Document) -> StoredListing:
    state = state_of(document)
    return StoredListing(as_record(state.listing), state.revision, document.get("last_run", ""), state.suspect)


def _events(database: Database[Document], told: _Told) -> Iterator[Any]:
    log, after = Log(database), 0
    end = log.end()
    while after < end - 1 and (some := log.read(after, _EVENTS)):
        for each in some:
            if each.seq < end and told.has(id_of(each.event.portal, each.event.ref), each.event.revision):
                yield each
        after = some[-1].seq


def _prices(database: Database[Document], told: _Told) -> Iterator[Any]:
    for page in pages(database["listings"], {"portal": 1, "ref": 1, "prices": 1, "erased_at": 1}):
        for each in page:
            prices = () if is_tombstone(each) else each["prices"]
            yield from (
                price_of(each["portal"], each["ref"], seen)
                for seen in prices
                if told.has(each["_id"], seen["revision"])
            )


def _runs(database: Database[Document], weighing: dict[str, str]) -> Iterator[StoredRun]:
    """`weighing` learns what each run's verdict was about."""
    for page in pages(database["runs"]):
        for each in page:
            weighing[each["_id"]] = each.get("weighing", "")
            yield StoredRun(run_of(each), each["offered"])


def _departures(database: Database[Document], weighing: Mapping[str, str]) -> Iterator[Departure]:
    for page in pages(database["departures"]):
        for each in page:
            weighed = weighing.get(each["run"], "") in each["weighed"]
            yield _plain(Departure)({**each, "weighed": weighed})


def _erased(database: Database[Document], told: _Told) -> Iterator[ErasedMark]:
    """What is remembered now may have been told before: then it is not to be kept in any file."""
    for page in pages(database["erased"]):
        for each in page:
            if each["kind"] == "listing" and told.has(id_of(*each["what"].split("/", 1))):
                raise StoreError(f"{each['what']} was erased while everything was read: begin again")
            yield _plain(ErasedMark)(each)


def _plain(kind: Any) -> Callable[[Document], Any]:
    names = [each.name for each in fields(kind)]
    return lambda document: kind(*(document[name] for name in names))


_HISTORY: Mapping[str, Callable[[Database[Document], _Told], Iterator[Any]]] = {
    "listings": _listings,
    "others": _others,
    "events": _events,
    "prices": _prices,
}
_PLAIN: Mapping[str, Callable[[Document], Any]] = {
    "parts": _plain(PlannedPart),
    "watermarks": _plain(Watermark),
    "quarantine": entry_of,
    "snapshots": page_of,
    "contacts": contacts_of,
}
