"""Brings a database of MongoDB to the newest form.

A step may be done by two at once, if one of them stalls for longer than its lock lasts, and be cut short by a crash: so
each is such that doing it again does no harm.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

Step = Callable[[Database[Any]], None]

_LOCK = timedelta(seconds=60)
_LOOK_SECONDS = 0.1
_UNLOCKED = datetime.fromtimestamp(0, UTC)

#: collection -> name -> fields: the questions people ask, and ours.
INDEXES: dict[str, dict[str, tuple[str, ...]]] = {
    "listings": {
        "place": ("country", "city", "district", "operation"),
        "price": ("operation", "currency", "price"),
        "area": ("operation", "area_m2"),
        "map": ("latitude", "longitude"),
        "first_seen": ("first_seen_at",),
        "last_seen": ("portal", "last_seen_at"),
        "unlogged": ("unlogged",),
    },
    "events": {"keys": ("keys",)},
    "departures": {"run": ("run",)},
    "parts": {"run": ("run",)},
    "runs": {"portal": ("portal", "started_at")},
    "quarantine": {"portal": ("portal",)},
    "snapshots": {"portal": ("portal", "fetched_at"), "listing": ("portal", "ref", "fetched_at")},
}


def _indexes(database: Database[Any]) -> None:
    for collection, wanted in INDEXES.items():
        existing = set(database[collection].index_information())
        for name, fields in wanted.items():
            if name not in existing:
                database[collection].create_index([(field, 1) for field in fields], name=name)


STEPS: tuple[Step, ...] = (_indexes,)


def migrate(database: Database[Any]) -> None:
    """Do what is missing, one process at a time; whoever comes second waits for the first."""
    while (done := _version(database)) < len(STEPS):
        if not _locked(database):
            time.sleep(_LOOK_SECONDS)
            continue
        try:
            for number, step in enumerate(STEPS[done:], done + 1):
                step(database)
                database["schema"].update_one({"_id": "schema"}, {"$max": {"version": number}})
        finally:
            database["schema"].update_one({"_id": "schema"}, {"$set": {"locked_until": _UNLOCKED}})


def _version(database: Database[Any]) -> int:
    found = database["schema"].find_one({"_id": "schema"})
    return int(found["version"]) if found else 0


def _locked(database: Database[Any]) -> bool:
    """By the server's clock."""
    schema = database["schema"]
    with suppress(DuplicateKeyError):
        schema.insert_one({"_id": "schema", "version": 0, "locked_until": _UNLOCKED})
    now = database.command("hello")["localTime"]
    free = {"_id": "schema", "locked_until": {"$lt": now}}
    return schema.update_one(free, {"$set": {"locked_until": now + _LOCK}}).modified_count == 1
