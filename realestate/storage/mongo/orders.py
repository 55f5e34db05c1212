"""Submitted jobs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from pymongo.errors import DuplicateKeyError

from realestate.storage.mongo.connection import Connection, Document, server_time
from realestate.storage.mongo.documents import stored_time
from realestate.storage.mongo.event_log import Log
from realestate.storage.orders import Outcome, StoredOrder

_NAMES = tuple(each.name for each in fields(StoredOrder))
_COLLECTION = "job_orders"


class StoredOrders:
    """See `storage.orders.Orders`."""

    connection: Connection

    def add_order(self, order: StoredOrder, deadline_seconds: float | None = None) -> StoredOrder:
        with self.connection.database() as database:
            now = server_time(database)
            document = order_document(order)
            document["submitted_at"] = now
            document["deadline_at"] = None if deadline_seconds is None else now + timedelta(seconds=deadline_seconds)
            document["events_after"] = Log(database).end() - 1
            with suppress(DuplicateKeyError):
                database[_COLLECTION].insert_one(document)
            found = database[_COLLECTION].find_one({"_id": order.job})
        assert found is not None
        return order_of(found)

    def orders(
        self,
        portal: str | None = None,
        limit: int = 20,
        *,
        jobs: Sequence[str] | None = None,
        key: str | None = None,
        unended: bool = False,
    ) -> Sequence[StoredOrder]:
        conditions: dict[str, tuple[bool, Any]] = {
            "portal": (portal is not None, portal),
            "_id": (jobs is not None, {"$in": list(jobs or ())}),
            "key": (key is not None, key),
            "ended_at": (unended, None),
        }
        wanted = {name: value for name, (is_asked, value) in conditions.items() if is_asked}
        with self.connection.database() as database:
            newest = database[_COLLECTION].find(wanted).sort([("submitted_at", -1), ("_id", -1)]).limit(limit)
            return [order_of(each) for each in newest]

    def order_pushed(self, job: str) -> None:
        with self.connection.database() as database:
            pushed = {"$set": {"pushed_at": server_time(database)}}
            database[_COLLECTION].update_one({"_id": job, "pushed_at": None}, pushed)

    def order_paused(self, job: str, *, paused: bool) -> None:
        with self.connection.database() as database:
            if paused:
                now = {"$set": {"paused_at": server_time(database)}}
                database[_COLLECTION].update_one({"_id": job, "paused_at": None}, now)
            else:
                database[_COLLECTION].update_one({"_id": job}, {"$set": {"paused_at": None}})

    def order_cancelled(self, job: str, reason: str) -> bool:
        with self.connection.database() as database:
            cancelled = {"$set": {"cancelled_at": server_time(database), "reason": reason}}
            database[_COLLECTION].update_one({"_id": job, "ended_at": None, "cancelled_at": None}, cancelled)
            found = database[_COLLECTION].find_one({"_id": job, "ended_at": None}, {"cancelled_at": 1})
            return found is not None

    def order_ended(self, job: str, outcome: Outcome, reason: str | None, summary: Mapping[str, Any]) -> bool:
        with self.connection.database() as database:
            ended: Document = {"ended_at": server_time(database), "outcome": outcome, "summary": dict(summary)}
            if reason is not None:
                database[_COLLECTION].update_one(
                    {"_id": job, "ended_at": None, "reason": None}, {"$set": {"reason": reason}}
                )
            result = database[_COLLECTION].update_one({"_id": job, "ended_at": None}, {"$set": ended})
            return result.modified_count == 1


def order_of(document: Document) -> StoredOrder:
    return StoredOrder(**{name: document["_id"] if name == "job" else document[name] for name in _NAMES})


def order_document(order: StoredOrder) -> Document:
    document = {name: getattr(order, name) for name in _NAMES if name != "job"}
    for name, value in document.items():
        if isinstance(value, datetime):
            document[name] = stored_time(value)
    return {"_id": order.job, **document, "seeds": list(order.seeds)}
