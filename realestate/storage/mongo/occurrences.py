"""The timetable's occurrences."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from pymongo import InsertOne

from realestate.storage.mongo.connection import Connection, Document, bulk, server_time
from realestate.storage.mongo.documents import stored_time
from realestate.storage.occurrences import Occurrence

_NAMES = tuple(each.name for each in fields(Occurrence))
_COLLECTION = "occurrences"


class StoredOccurrences:
    """See `storage.occurrences.Occurrences`."""

    connection: Connection

    def add_occurrences(self, occurrences: Sequence[Occurrence]) -> None:
        with self.connection.database() as database:
            now = server_time(database)
            documents = [_document(each, now) for each in occurrences]
            bulk(database[_COLLECTION], [InsertOne(each) for each in documents])

    def last_occurrences(self) -> Mapping[str, datetime]:
        with self.connection.database() as database:
            found = {}
            for entry in database[_COLLECTION].distinct("entry"):
                newest = database[_COLLECTION].find({"entry": entry}, {"due_at": 1}).sort("due_at", -1).limit(1)
                for each in newest:
                    found[entry] = each["due_at"]
            return found

    def occurrences(
        self, entry: str | None = None, limit: int = 20, *, undone: bool = False, before: datetime | None = None
    ) -> Sequence[Occurrence]:
        wanted: dict[str, Any] = {} if entry is None else {"entry": entry}
        if undone:
            wanted |= {"decision": "start", "done_at": None}
        if before is not None:
            wanted |= {"decision": "start", "due_at": {"$lt": before}}
        with self.connection.database() as database:
            found = database[_COLLECTION].find(wanted).sort([("due_at", -1), ("entry", 1)]).limit(limit)
            return [Occurrence(**{name: each[name] for name in _NAMES}) for each in found]

    def claim_occurrence(self, entry: str, due_at: datetime, seconds: float) -> bool:
        with self.connection.database() as database:
            now = server_time(database)
            free = {"$or": [{"claimed_until": None}, {"claimed_until": {"$lt": now}}]}
            claimed = {"$set": {"claimed_until": now + timedelta(seconds=seconds)}}
            wanted = {"_id": _name(entry, due_at), "done_at": None, **free}
            return database[_COLLECTION].update_one(wanted, claimed).modified_count == 1

    def occurrence_done(self, entry: str, due_at: datetime, job: str | None = None, error: str | None = None) -> None:
        with self.connection.database() as database:
            done = {"done_at": server_time(database), "job": job, "error": error}
            database[_COLLECTION].update_one({"_id": _name(entry, due_at), "done_at": None}, {"$set": done})


def _document(occurrence: Occurrence, now: datetime) -> Document:
    values = {name: getattr(occurrence, name) for name in _NAMES}
    due_at = stored_time(occurrence.due_at)
    return {"_id": _name(occurrence.entry, due_at), **values, "due_at": due_at, "decided_at": now}


def _name(entry: str, due_at: datetime) -> str:
    return f"{entry}@{stored_time(due_at).isoformat()}"
