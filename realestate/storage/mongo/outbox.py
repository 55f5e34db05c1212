"""The outbox of notifications. Each step is one write of one document, so a sender may die between any two."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

from pymongo.errors import DuplicateKeyError

from realestate.storage.mongo.connection import Connection, Document, Documents, server_time
from realestate.storage.outbox import (
    GIVE_UP_AFTER,
    KEEP_DAYS,
    LEASE_SECONDS,
    LeasedNotification,
    Notification,
    State,
)

COLLECTION = "notifications"
_FIELDS = [each.name for each in fields(Notification)]


class Outbox:
    """See `OutboxStore`."""

    connection: Connection

    def enqueue(
        self,
        *,
        topic: str,
        dedupe_key: str,
        target: str,
        title: str,
        body: str,
        data: Mapping[str, Any] | None = None,
    ) -> bool:
        with self.connection.database() as database:
            now = server_time(database)
            document = {
                "_id": _name(target, dedupe_key),
                "id": str(uuid4()),
                "number": _next_number(database["schema"]),
                "topic": topic,
                "dedupe_key": dedupe_key,
                "target": target,
                "title": title,
                "body": body,
                "data": dict(data or {}),
                "created_at": now,
                "state": "waiting",
                "attempts": 0,
                "next_at": now,
                "leased_until": None,
                "token": None,
                "settled_at": None,
                "error": None,
            }
            try:
                database[COLLECTION].insert_one(document)
            except DuplicateKeyError:
                return False
            return True

    def lease_notifications(self, limit: int = 20) -> Sequence[LeasedNotification]:
        with self.connection.database() as database:
            now = server_time(database)
            leased: list[LeasedNotification] = []
            for each in _first_of_each_topic(database[COLLECTION]):
                if len(leased) == limit:
                    break
                if each["next_at"] <= now and (each["leased_until"] or now) <= now:
                    leased += _lease(database[COLLECTION], each, now)
            return leased

    def notification_sent(self, leased: LeasedNotification) -> bool:
        return self._settle(leased, "sent", None)

    def notification_failed(self, leased: LeasedNotification, error: str) -> bool:
        return self._settle(leased, "failed", error)

    def notification_postponed(
        self, leased: LeasedNotification, error: str, seconds: float, *, whole_target: bool = False
    ) -> bool:
        with self.connection.database() as database:
            now = server_time(database)
            later = now + timedelta(seconds=seconds)
            is_over = leased.notification.created_at < now - GIVE_UP_AFTER
            changes = {
                "error": error,
                "leased_until": None,
                "token": None,
                "next_at": later,
                "state": "failed" if is_over else "waiting",
                "settled_at": now if is_over else None,
            }
            done = database[COLLECTION].update_one(_held(leased), {"$set": changes})
            if done.matched_count and whole_target:
                sooner = {"target": leased.notification.target, "state": "waiting", "next_at": {"$lt": later}}
                database[COLLECTION].update_many(sooner, {"$set": {"next_at": later}})
            return bool(done.matched_count)

    def notifications(
        self,
        *,
        state: State | None = None,
        topic: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int = 20,
    ) -> Sequence[Notification]:
        wanted: Document = {}
        if state is not None:
            wanted["state"] = state
        if topic is not None:
            wanted["topic"] = {"$regex": f"^{re.escape(topic)}"}
        if ids is not None:
            wanted["id"] = {"$in": list(ids)}
        with self.connection.database() as database:
            newest = database[COLLECTION].find(wanted).sort("number", -1).limit(limit)
            return [_notification(each) for each in newest]

    def retry_notifications(self, ids: Sequence[str]) -> int:
        with self.connection.database() as database:
            now = server_time(database)
            failed = {"id": {"$in": list(ids)}, "state": "failed"}
            again = {"state": "waiting", "settled_at": None, "next_at": now, "created_at": now}
            return int(database[COLLECTION].update_many(failed, {"$set": again}).modified_count)

    def drop_notifications(self, days: float = KEEP_DAYS) -> int:
        with self.connection.database() as database:
            before = server_time(database) - timedelta(days=days)
            old = {"state": {"$in": ["sent", "failed"]}, "settled_at": {"$lt": before}}
            return int(database[COLLECTION].delete_many(old).deleted_count)

    def _settle(self, leased: LeasedNotification, state: State, error: str | None) -> bool:
        with self.connection.database() as database:
            settled = {"state": state, "error": error, "leased_until": None, "token": None}
            done = database[COLLECTION].update_one(
                _held(leased), {"$set": {**settled, "settled_at": server_time(database)}}
            )
            return bool(done.matched_count)


def _name(target: str, dedupe_key: str) -> str:
    """The `_id`: the database itself keeps a second message of the same key out."""
    return sha256(f"{len(target)}:{target}{dedupe_key}".encode()).hexdigest()


def _next_number(schema: Documents) -> int:
    counted = schema.find_one_and_update(
        {"_id": COLLECTION}, {"$inc": {"number": 1}}, upsert=True, return_document=True
    )
    assert counted is not None, "it was just inserted"
    return int(counted["number"])


def _first_of_each_topic(documents: Documents) -> list[Document]:
    first: dict[tuple[str, str], Document] = {}
    shown = {"target": 1, "topic": 1, "next_at": 1, "leased_until": 1, "token": 1}
    for each in documents.find({"state": "waiting"}, shown).sort("number", 1):
        first.setdefault((each["target"], each["topic"]), each)
    return list(first.values())


def _lease(documents: Documents, seen: Document, now: datetime) -> list[LeasedNotification]:
    """Lease the message, if nobody else did since it was seen."""
    token = uuid4().hex
    leased = documents.find_one_and_update(
        {"_id": seen["_id"], "state": "waiting", "token": seen["token"], "next_at": {"$lte": now}},
        {"$set": {"token": token, "leased_until": now + timedelta(seconds=LEASE_SECONDS)}, "$inc": {"attempts": 1}},
        return_document=True,
    )
    return [LeasedNotification(_notification(leased), token)] if leased else []


def _held(leased: LeasedNotification) -> Document:
    return {"id": leased.notification.id, "token": leased.token, "state": "waiting"}


def _notification(document: Document) -> Notification:
    return Notification(**{name: document[name] for name in _FIELDS})
