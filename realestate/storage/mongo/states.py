"""Small documents of monitoring."""

import re
from collections.abc import Mapping

import msgspec
from pymongo.errors import DuplicateKeyError

from realestate.storage.mongo.connection import Connection, Document, Documents
from realestate.storage.states import Change, State

COLLECTION = "states"


class States:
    """See `StateStore`. The data is JSON text: a key of a document may have any character."""

    connection: Connection

    def states(self, prefix: str = "") -> Mapping[str, State]:
        with self.connection.database() as database:
            found = database[COLLECTION].find({"_id": {"$regex": f"^{re.escape(prefix)}"}}).sort("_id", 1)
            return {each["_id"]: msgspec.json.decode(each["data"]) for each in found}

    def change_state(self, name: str, change: Change) -> State | None:
        with self.connection.database() as database:
            while True:
                old = database[COLLECTION].find_one({"_id": name})
                before = msgspec.json.decode(old["data"]) if old else None
                new = change(before)
                if new == before or _replaced(database[COLLECTION], name, old, new):
                    return new


def _replaced(documents: Documents, name: str, old: Document | None, new: State | None) -> bool:
    """Store the new state, if nobody has changed the old one."""
    if old is None:
        try:
            documents.insert_one({"_id": name, "revision": 1, "data": msgspec.json.encode(new).decode()})
        except DuplicateKeyError:
            return False
        return True
    unchanged = {"_id": name, "revision": old["revision"]}
    if new is None:
        return bool(documents.delete_one(unchanged).deleted_count)
    changes = {"revision": old["revision"] + 1, "data": msgspec.json.encode(new).decode()}
    return bool(documents.update_one(unchanged, {"$set": changes}).matched_count)
