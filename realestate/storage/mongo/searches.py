"""Saved searches. New events are noticed by asking: a server without replicas cannot tell."""

import time
from collections.abc import Sequence
from uuid import uuid4

from pymongo.errors import DuplicateKeyError

from realestate.storage.history import EventType
from realestate.storage.mongo.connection import Connection, Document, server_time
from realestate.storage.mongo.event_log import Log
from realestate.storage.searches import NameTaken, Search

COLLECTION = "searches"
CURSORS = "cursors"
_CURSOR = {"_id": "searches"}
#: How often the end of the log is read: one small query each time.
LOOK_SECONDS = 0.25


class SavedSearches:
    """See `SearchStore`. The name is the `_id`, so that it is unique."""

    connection: Connection

    def save_search(self, name: str, filter: str, on: Sequence[EventType], notify: Sequence[str]) -> Search:
        self.followed()
        with self.connection.database() as database:
            document = {
                "_id": name,
                "id": uuid4().hex,
                "filter": filter,
                "on": list(on),
                "notify": list(notify),
                "is_paused": False,
                "after": Log(database).end() - 1,
                "created_at": server_time(database),
            }
            try:
                database[COLLECTION].insert_one(document)
            except DuplicateKeyError as error:
                raise NameTaken(
                    f"there is a search {name!r} already: delete it first, or choose another name"
                ) from error
            return _search(document)

    def searches(self) -> Sequence[Search]:
        with self.connection.database() as database:
            return [_search(each) for each in database[COLLECTION].find().sort("_id", 1)]

    def pause_search(self, id: str, *, paused: bool) -> bool:
        with self.connection.database() as database:
            changed: Document = {"is_paused": paused}
            if not paused:
                changed["after"] = Log(database).end() - 1
            return bool(database[COLLECTION].update_one({"id": id}, {"$set": changed}).matched_count)

    def delete_search(self, id: str) -> bool:
        with self.connection.database() as database:
            return bool(database[COLLECTION].delete_one({"id": id}).deleted_count)

    def followed(self) -> int:
        with self.connection.database() as database:
            found = database[CURSORS].find_one(_CURSOR)
            if found is None:
                newest = {"$setOnInsert": {"seq": Log(database).end() - 1}}
                database[CURSORS].update_one(_CURSOR, newest, upsert=True)
                found = database[CURSORS].find_one(_CURSOR)
            assert found is not None
            return int(found["seq"])

    def follow(self, upto: int) -> None:
        with self.connection.database() as database:
            database[CURSORS].update_one({**_CURSOR, "seq": {"$lt": upto}}, {"$set": {"seq": upto}})

    def wait_for_events(self, after: int, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while True:
            with self.connection.database() as database:
                if Log(database).end() - 1 > after:
                    return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, LOOK_SECONDS))


def _search(document: Document) -> Search:
    return Search(
        id=document["id"],
        name=document["_id"],
        filter=document["filter"],
        on=tuple(document["on"]),
        notify=tuple(document["notify"]),
        is_paused=document["is_paused"],
        after=document["after"],
        created_at=document["created_at"],
    )
