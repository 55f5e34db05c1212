"""What is in quarantine, and where raw pages are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import timedelta
from itertools import islice

from pymongo import ReplaceOne
from pymongo.database import Database

from realestate.storage.keeping import InQuarantine, fault_of
from realestate.storage.mongo.connection import Connection, Document, bulk, server_time
from realestate.storage.mongo.documents import moment
from realestate.storage.mongo.quarantine import entry_name, entry_of
from realestate.storage.snapshots import Kind, SnapshotRef
from realestate.storage.storable import storable

_PAGE = tuple(each.name for each in fields(SnapshotRef))


class Looking:
    """The part of the store that is looked at when something went wrong."""

    connection: Connection

    def quarantined(
        self,
        *,
        portal: str | None = None,
        ref: str | None = None,
        fault: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int = 20,
    ) -> Sequence[InQuarantine]:
        asked = {"portal": portal, "ref": ref}
        with self.connection.database() as database:
            wanted: Document = {name: value for name, value in asked.items() if value is not None}
            if ids is not None:
                wanted["_id"] = {"$in": _names(database, ids)}
            found = database["quarantine"].find(wanted).sort([("quarantined_at", -1), ("_id", 1)])
            entries = (entry_of(each) for each in found)
            return list(islice((each for each in entries if fault is None or fault in _faults(each.errors)), limit))

    def faults(self, portal: str | None = None) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, Counter[str]] = {}
        with self.connection.database() as database:
            wanted = {} if portal is None else {"portal": portal}
            for each in database["quarantine"].find(wanted, {"portal": 1, "errors": 1}):
                found.setdefault(each["portal"], Counter()).update(_faults(each["errors"]))
        return {name: _the_most_first(counts) for name, counts in sorted(found.items())}

    def drop_quarantined(self, ids: Sequence[str]) -> int:
        with self.connection.database() as database:
            return database["quarantine"].delete_many({"_id": {"$in": _names(database, ids)}}).deleted_count

    def snapshots(self, portal: str, ref: str) -> Sequence[SnapshotRef]:
        with self.connection.database() as database:
            found = database["snapshots"].find({"portal": portal, "ref": ref}).sort("fetched_at", -1)
            return [page_of(each) for each in found]

    def reindex(self, file: str, rows: Sequence[SnapshotRef]) -> None:
        """First what is there now, then away with the rest: no page is without a row meanwhile. Cut short between the
        two, rows of what was erased are left, and the file is written anew once more."""
        documents = {each["_id"]: each for each in map(page_document, rows)}
        with self.connection.database() as database:
            index = database["snapshots"]
            bulk(index, [ReplaceOne({"_id": name}, each, upsert=True) for name, each in documents.items()])
            index.delete_many({"file": file, "_id": {"$nin": list(documents)}})

    def forget_snapshots(self, files: Sequence[str]) -> None:
        with self.connection.database() as database:
            database["snapshots"].delete_many({"file": {"$in": list(files)}})

    def forget_pages(self, kind: Kind, days: float) -> None:
        with self.connection.database() as database:
            old = server_time(database) - timedelta(days=days)
            database["snapshots"].delete_many({"kind": kind, "fetched_at": {"$lt": old}})


def page_document(place: SnapshotRef) -> Document:
    told: Document = storable(asdict(place))
    run, name = told.pop("job"), f"{place.file}:{place.offset}"
    return {"_id": storable(name), **told, "run": run, "fetched_at": moment(place.fetched_at)}


def page_of(document: Document) -> SnapshotRef:
    told = {**document, "job": document["run"]}
    return SnapshotRef(**{name: told[name] for name in _PAGE})


def _names(database: Database[Document], ids: Sequence[str]) -> list[str]:
    """An entry's name begins with its portal's: of whichever they are."""
    return [entry_name(portal, id) for portal in database["quarantine"].distinct("portal") for id in ids] if ids else []


def _faults(errors: Sequence[str]) -> set[str]:
    return {fault_of(error) for error in errors}


def _the_most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda told: (-told[1], told[0])))
