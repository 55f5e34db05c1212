"""The outbox of notifications, saved searches, and the small documents of monitoring."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import msgspec
from pymongo.errors import DuplicateKeyError

from realestate.storage.history import EventType
from realestate.storage.mongo.connection import Connection, Document, Documents, server_time
from realestate.storage.mongo.event_log import Log
from realestate.storage.outbox import (
    GIVE_UP_AFTER,
    KEEP_DAYS,
    LEASE_SECONDS,
    DeliveryState,
    LeasedNotification,
    Notification,
)
from realestate.storage.searches import NameTaken, Search
from realestate.storage.states import Change, State

NOTIFICATIONS = "notifications"
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
                database[NOTIFICATIONS].insert_one(document)
            except DuplicateKeyError:
                return False
            return True

    def lease_notifications(self, limit: int = 20) -> Sequence[LeasedNotification]:
        with self.connection.database() as database:
            now = server_time(database)
            leased: list[LeasedNotification] = []
            for each in _first_of_each_topic(database[NOTIFICATIONS]):
                if len(leased) == limit:
                    break
                if each["next_at"] <= now and (each["leased_until"] or now) <= now:
                    leased += _lease(database[NOTIFICATIONS], each, now)
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
            done = database[NOTIFICATIONS].update_one(_held(leased), {"$set": changes})
            if done.matched_count and whole_target:
                sooner = {"target": leased.notification.target, "state": "waiting", "next_at": {"$lt": later}}
                database[NOTIFICATIONS].update_many(sooner, {"$set": {"next_at": later}})
            return bool(done.matched_count)

    def notifications(
        self,
        *,
        state: DeliveryState | None = None,
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
            newest = database[NOTIFICATIONS].find(wanted).sort("number", -1).limit(limit)
            return [_notification(each) for each in newest]

    def retry_notifications(self, ids: Sequence[str]) -> int:
        with self.connection.database() as database:
            now = server_time(database)
            failed = {"id": {"$in": list(ids)}, "state": "failed"}
            again = {"state": "waiting", "settled_at": None, "next_at": now, "created_at": now}
            return int(database[NOTIFICATIONS].update_many(failed, {"$set": again}).modified_count)

    def drop_notifications(self, days: float = KEEP_DAYS) -> int:
        with self.connection.database() as database:
            before = server_time(database) - timedelta(days=days)
            old = {"state": {"$in": ["sent", "failed"]}, "settled_at": {"$lt": before}}
            return int(database[NOTIFICATIONS].delete_many(old).deleted_count)

    def _settle(self, leased: LeasedNotification, state: DeliveryState, error: str | None) -> bool:
        with self.connection.database() as database:
            settled = {"state": state, "error": error, "leased_until": None, "token": None}
            done = database[NOTIFICATIONS].update_one(
                _held(leased), {"$set": {**settled, "settled_at": server_time(database)}}
            )
            return bool(done.matched_count)


def _name(target: str, dedupe_key: str) -> str:
    """The `_id`: the database itself keeps a second message of the same key out."""
    return sha256(f"{len(target)}:{target}{dedupe_key}".encode()).hexdigest()


def _next_number(schema: Documents) -> int:
    counted = schema.find_one_and_update(
        {"_id": NOTIFICATIONS}, {"$inc": {"number": 1}}, upsert=True, return_document=True
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


SEARCHES = "searches"
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
                database[SEARCHES].insert_one(document)
            except DuplicateKeyError as error:
                raise NameTaken(
                    f"there is a search {name!r} already: delete it first, or choose another name"
                ) from error
            return _search(document)

    def searches(self) -> Sequence[Search]:
        with self.connection.database() as database:
            return [_search(each) for each in database[SEARCHES].find().sort("_id", 1)]

    def searches_version(self) -> object:
        return self.searches()

    def pause_search(self, id: str, *, paused: bool) -> bool:
        with self.connection.database() as database:
            changed: Document = {"is_paused": paused}
            if not paused:
                changed["after"] = Log(database).end() - 1
            return bool(database[SEARCHES].update_one({"id": id}, {"$set": changed}).matched_count)

    def delete_search(self, id: str) -> bool:
        with self.connection.database() as database:
            return bool(database[SEARCHES].delete_one({"id": id}).deleted_count)

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


STATES = "states"


class States:
    """See `StateStore`. The data is JSON text: a key of a document may have any character."""

    connection: Connection

    def states(self, prefix: str = "") -> Mapping[str, State]:
        with self.connection.database() as database:
            found = database[STATES].find({"_id": {"$regex": f"^{re.escape(prefix)}"}}).sort("_id", 1)
            return {each["_id"]: msgspec.json.decode(each["data"]) for each in found}

    def change_state(self, name: str, change: Change) -> State | None:
        with self.connection.database() as database:
            while True:
                old = database[STATES].find_one({"_id": name})
                before = msgspec.json.decode(old["data"]) if old else None
                new = change(before)
                if new == before or _replaced(database[STATES], name, old, new):
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
