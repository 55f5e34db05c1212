"""Brings a database of MongoDB to the newest form.

A step may be done by two at once, if one of them stalls for longer than its lock lasts, and be cut short by a crash: so
each is such that doing it again does no harm.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

Step = Callable[[Database[Any]], None]

_LOCK = timedelta(seconds=60)
_LOOK_SECONDS = 0.1
_UNLOCKED = datetime.fromtimestamp(0, UTC)

#: collection -> name -> fields: the questions people ask, and ours. With a minus, the greatest comes first.
INDEXES: dict[str, dict[str, tuple[str, ...]]] = {
    "listings": {
        "place": ("country", "city", "district", "operation"),
        "price": ("operation", "currency", "price"),
        "area": ("operation", "area_m2"),
        "map": ("latitude", "longitude"),
        "first_seen": ("first_seen_at",),
        "last_seen": ("portal", "last_seen_at"),
        "unlogged": ("unlogged",),
        "left": ("status", "last_seen_at"),
    },
    "others": {"unlogged": ("unlogged",)},
    "events": {"keys": ("keys",)},
    "departures": {"run": ("run",), "listing": ("portal", "ref")},
    "parts": {"run": ("run",)},
    "runs": {"portal": ("portal", "started_at")},
    "quarantine": {"portal": ("portal",), "listing": ("portal", "ref"), "newest": ("-quarantined_at", "_id")},
    "snapshots": {
        "portal": ("portal", "fetched_at"),
        "listing": ("portal", "ref", "fetched_at"),
        "file": ("file",),
        "kind": ("kind", "fetched_at"),
    },
    "contacts": {"listing": ("portal", "ref"), "lookups": ("lookups",), "expires": ("expires_at",)},
    "erased": {"under_way": ("under_way",)},
}
#: All that is kept; beside them is only `schema`.
COLLECTIONS = (
    "runs",
    "parts",
    "departures",
    "watermarks",
    "quarantine",
    "snapshots",
    "contacts",
    "erased",
    "events",
    "others",
    "listings",
)


def make_indexes(database: Database[Any], prefix: str = "") -> list[str]:
    """Those that are missing; in collections of such names. Which they were."""
    made = []
    for collection, wanted in INDEXES.items():
        existing = set(database[prefix + collection].index_information())
        for name, fields in wanted.items():
            if name not in existing:
                database[prefix + collection].create_index([_direction(field) for field in fields], name=name)
                made.append(f"{collection}.{name}")
    return made


def _direction(field: str) -> tuple[str, int]:
    return (field[1:], -1) if field.startswith("-") else (field, 1)


def _indexes(database: Database[Any]) -> None:
    make_indexes(database)


#: The second adds those of keeping house, the third those of parts, the fourth those of what is no home.
STEPS: tuple[Step, ...] = (_indexes, _indexes, _indexes, _indexes)


def migrate(database: Database[Any]) -> None:
    """Do what is missing, one process at a time; whoever comes second waits for the first."""
    while _version(database) < len(STEPS):
        with locked(database):
            done = _version(database)
            for number, step in enumerate(STEPS[done:], done + 1):
                step(database)
                database["schema"].update_one({"_id": "schema"}, {"$max": {"version": number}})


@contextmanager
def locked(database: Database[Any]) -> Iterator[None]:
    """As soon as nobody else has the lock, or whoever had it is dead."""
    while not _lock(database):
        time.sleep(_LOOK_SECONDS)
    try:
        yield
    finally:
        database["schema"].update_one({"_id": "schema"}, {"$set": {"locked_until": _UNLOCKED}})


def _version(database: Database[Any]) -> int:
    found = database["schema"].find_one({"_id": "schema"})
    return int(found["version"]) if found else 0


def _lock(database: Database[Any]) -> bool:
    """By the server's clock."""
    schema = database["schema"]
    with suppress(DuplicateKeyError):
        schema.insert_one({"_id": "schema", "version": 0, "locked_until": _UNLOCKED})
    now = database.command("hello")["localTime"]
    free = {"_id": "schema", "locked_until": {"$lt": now}}
    return schema.update_one(free, {"$set": {"locked_until": now + _LOCK}}).modified_count == 1
