"""The collections: their indexes, their migrations, and how restored collections take their names."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
from pymongo import ReplaceOne, UpdateOne
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError, OperationFailure

from realestate.storage.errors import StoreError, too_new
from realestate.storage.maintenance import NotEmpty
from realestate.storage.query.listing_query import SORTS


def job_name(portal: str, job: str) -> str:
    """Return the `_id` of a job. A portal's name has no colon, so the first colon ends it."""
    return f"{portal}:{job}"


def part_name(portal: str, job: str, search: str) -> str:
    """Return the `_id` of a part. It is JSON, because a job's name may contain any character."""
    return msgspec.json.encode([portal, job, search]).decode()


Step = Callable[[Database[Any]], None]

_LOCK = timedelta(seconds=60)
#: The code of the error if the user may not do something.
_UNAUTHORIZED = 13
_LOOK_SECONDS = 0.1
_UNLOCKED = datetime.fromtimestamp(0, UTC)

#: collection -> name of the index -> fields. A minus means descending order.
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
        **{f"by_{name}": (name, "portal", "ref") for name in SORTS},
    },
    "others": {"unlogged": ("unlogged",)},
    "events": {"keys": ("keys",)},
    "departures": {"job": ("job",), "listing": ("portal", "ref")},
    "parts": {"job": ("job",)},
    "jobs": {"portal": ("portal", "started_at")},
    "job_orders": {
        "portal": ("portal", "submitted_at"),
        "newest": ("-submitted_at", "-_id"),
        "key": ("key",),
        "unended": ("ended_at", "submitted_at"),
    },
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
#: Collections that no backup contains.
NOT_IN_BACKUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "states": {},
    "occurrences": {"newest": ("due_at",), "entry": ("entry", "due_at")},
    "notifications": {"waiting": ("state", "number"), "target": ("target", "state"), "id": ("id",)},
    "searches": {},
    "cursors": {},
    "homes": {
        "id": ("home",),
        "in_place": ("country", "city", "operation", "property_type", "home"),
        "upto": ("upto",),
    },
    "home_listings": {"listing": ("portal", "ref"), "in_home": ("home",), "name": ("name",), "upto": ("upto",)},
    "home_links": {"in_home": ("home",), "a": ("a",), "b": ("b",), "upto": ("upto",)},
    "home_states": {"name": ("name",), "keys": ("keys",), "listing": ("portal", "ref"), "upto": ("upto",)},
    "photo_hashes": {"listing": ("portal", "ref"), "hashed_at": ("hashed_at",)},
    "home_pins": {"a": ("a",), "b": ("b",)},
    "market_weekly": {"place": ("run", "country", "city", "district", "operation", "property_type", "week")},
}
#: All collections of a backup: all except NOT_IN_BACKUPS and `schema`.
COLLECTIONS = (
    "jobs",
    "job_orders",
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
    """Create the missing indexes of collections whose names have this prefix. Return their names."""
    made = []
    for collection, wanted in (INDEXES if prefix else INDEXES | NOT_IN_BACKUPS).items():
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


#: Documents that are rewritten at a time.
_REWRITTEN_TOGETHER = 500
#: Collections whose documents name a job, in a field or in lists of events and prices.
_NAME_A_JOB = ("listings", "others", "events", "departures", "parts", "watermarks", "snapshots")
_JOB_NAMES = {"run": "job", "last_run": "last_job"}


def _runs_are_jobs(database: Database[Any]) -> None:
    """Rename runs to jobs. Safe to repeat."""
    if "runs" in database.list_collection_names():
        if database["jobs"].find_one({}, {"_id": 1}) is None:  # an earlier migration created it for its index
            database.drop_collection("jobs")
        _rename(database, "runs", "jobs")
    for name in _NAME_A_JOB:
        _rename_runs(database[name])
    for name in ("departures", "parts"):
        if "run" in database[name].index_information():
            database[name].drop_index("run")
    make_indexes(database)


def _rename_runs(documents: Collection[Any]) -> None:
    """Rename in every document of the collection."""
    last: Any = None
    while found := _next_documents(documents, last):
        last = found[-1]["_id"]
        replaced = []
        for old in found:
            new = _with_job(old)
            if new != old:
                as_read = {name: old[name] for name in ("_id", "revision") if name in old}
                replaced.append(ReplaceOne(as_read, new))
        if replaced and documents.bulk_write(replaced, ordered=False).matched_count < len(replaced):
            raise StoreError("MongoDB: a worker of an older version is still writing: stop it, then start again")


def _next_documents(documents: Collection[Any], last: Any) -> list[Any]:
    wanted = {} if last is None else {"_id": {"$gt": last}}
    return list(documents.find(wanted).sort("_id", 1).limit(_REWRITTEN_TOGETHER))


def _with_job(document: dict[str, Any]) -> dict[str, Any]:
    new = {_JOB_NAMES.get(name, name): value for name, value in document.items()}
    if isinstance(new.get("suspect"), dict):
        new["suspect"] = {_JOB_NAMES.get(name, name): value for name, value in new["suspect"].items()}
    for name in ("events", "prices"):
        if name in new:  # an erased event is None
            new[name] = [entry and _with_job(entry) for entry in new[name]]
    return new


_LOST_JOB = "its record was lost: another portal had a job of the same name"


def _jobs_by_portal(database: Database[Any]) -> None:
    """Identify jobs and their parts by portal and name. Safe to repeat."""
    for old in list(database["jobs"].find({"job": None})):
        new = {**old, "_id": job_name(old["portal"], old["_id"]), "job": old["_id"]}
        _renamed(database["jobs"], old, new)
    last: Any = None
    while found := _next_documents(database["parts"], last):
        last = found[-1]["_id"]
        for old in found:
            _renamed(database["parts"], old, {**old, "_id": part_name(old["portal"], old["job"], old["search"])})
    _restore_lost_jobs(database)


def _renamed(documents: Collection[Any], old: dict[str, Any], new: dict[str, Any]) -> None:
    """Store the document under its new `_id`, then delete the old one."""
    if old["_id"] != new["_id"]:
        documents.replace_one({"_id": new["_id"]}, new, upsert=True)
        documents.delete_one({"_id": old["_id"]})


def _restore_lost_jobs(database: Database[Any]) -> None:
    """Evidence may belong to a job without a record, because another portal had a job of the same name. Give it a
    record, so that `realestate jobs apply` can apply it. It never counts as a complete sweep."""
    times: dict[tuple[str, str], list[datetime]] = {}
    for each in database["departures"].find({}, {"portal": 1, "job": 1, "at": 1}):
        times.setdefault((each["portal"], each["job"]), []).append(each["at"])
    for (portal, job), found in times.items():
        if database["jobs"].find_one({"_id": job_name(portal, job)}, {"_id": 1}) is None:
            other = database["jobs"].find_one({"job": job}, {"mode": 1, "scope": 1}) or {}
            database["jobs"].insert_one(
                {
                    "_id": job_name(portal, job),
                    "job": job,
                    "portal": portal,
                    "mode": other.get("mode", "full"),
                    "scope": other.get("scope", ""),
                    "started_at": min(found),
                    "swept_at": max(found),
                    "complete": False,
                    "reason": _LOST_JOB,
                    "verdict": None,
                    "departures": 0,
                    "offered": 0,
                    "concluded_at": None,
                }
            )


def _derived_fields(database: Database[Any]) -> None:
    """Give each listing the fields that follow from its events. Safe to repeat."""
    from realestate.storage.mongo.change import derived_fields, is_tombstone
    from realestate.storage.mongo.documents import event_of

    make_indexes(database)
    last: Any = None
    while found := _next_documents(database["listings"], last):
        last = found[-1]["_id"]
        changes = []
        for each in found:
            kept = [event for event in each.get("events", ()) if event]  # an erased event is None
            if kept and not is_tombstone(each):
                events = [event_of(each["portal"], each["ref"], event) for event in kept]
                changes.append(UpdateOne({"_id": each["_id"]}, {"$set": derived_fields(events)}))
        if changes:
            database["listings"].bulk_write(changes, ordered=False)


#: The first four add missing indexes: the second for maintenance, the third for parts, the fourth for other kinds of
#: items. The fifth renames runs to jobs, the sixth identifies jobs by portal and name. The seventh adds the indexes of
#: the outbox, the eighth those of submitted jobs. The ninth adds what searches compare, the tenth the indexes of the
#: timetable, the eleventh those of homes, the twelfth those of homes that change in part, the last those of photos.
STEPS: tuple[Step, ...] = (
    _indexes,
    _indexes,
    _indexes,
    _indexes,
    _runs_are_jobs,
    _jobs_by_portal,
    _indexes,
    _indexes,
    _derived_fields,
    _indexes,
    _indexes,
    _indexes,
    _indexes,
)


def migrate(database: Database[Any]) -> None:
    """Apply the missing migrations. Only one process does so at a time, the others wait. A database that is up to date
    is only read. Raises StoreError if it is newer than this program."""
    if (version := schema_version(database)) > len(STEPS):
        raise too_new(version, len(STEPS))
    try:
        _apply_missing(database)
    except OperationFailure as error:
        if error.code != _UNAUTHORIZED:
            raise
        raise StoreError(
            f"MongoDB: the database has schema {version}, and {len(STEPS)} is needed, but its user may not change it:"
            " run `realestate migrate` with a user that may"
        ) from error


def _apply_missing(database: Database[Any]) -> None:
    while schema_version(database) < len(STEPS):
        with locked(database):
            done = schema_version(database)
            for number, step in enumerate(STEPS[done:], done + 1):
                step(database)
                database["schema"].update_one({"_id": "schema"}, {"$max": {"version": number}})


@contextmanager
def locked(database: Database[Any]) -> Iterator[None]:
    """Hold the lock. Waits until it is free, or its holder has died."""
    while not _lock(database):
        time.sleep(_LOOK_SECONDS)
    try:
        yield
    finally:
        database["schema"].update_one({"_id": "schema"}, {"$set": {"locked_until": _UNLOCKED}})


def schema_version(database: Database[Any]) -> int:
    """The version of the database; 0 if it has no collections of ours."""
    found = database["schema"].find_one({"_id": "schema"})
    return int(found["version"]) if found else 0


def _lock(database: Database[Any]) -> bool:
    """Take the lock if it is free or expired, by the server's clock. Return whether that succeeded."""
    schema = database["schema"]
    with suppress(DuplicateKeyError):
        schema.insert_one({"_id": "schema", "version": 0, "locked_until": _UNLOCKED})
    now = database.command("hello")["localTime"]
    free = {"_id": "schema", "locked_until": {"$lt": now}}
    return schema.update_one(free, {"$set": {"locked_until": now + _LOCK}}).modified_count == 1


_BESIDE = "restoring_"
_MARKER = "restore"
_WHEN = "%Y%m%dT%H%M%S"
_NOT_FOUND = 26
_TAKEN = 48
#: An incomplete restore of this age is taken for dead.
DEAD_AFTER = timedelta(days=1)


def new_prefix(now: datetime) -> str:
    """Return a new prefix for names of collections to load into."""
    return f"{_BESIDE}{now:{_WHEN}}_{uuid4().hex[:8]}_"


def demand_empty(database: Database[Any]) -> None:
    if full := [name for name in COLLECTIONS if database[name].find_one({}, {"_id": 1}) is not None]:
        raise NotEmpty(f"the store is not empty: it has {', '.join(full)}; restore into an empty database")


def drop_loaded(database: Database[Any], prefix: str) -> None:
    for name in COLLECTIONS:
        database.drop_collection(prefix + name)


def take_over(database: Database[Any], prefix: str) -> None:
    """Make the loaded collections the store. Raises NotEmpty if the store was written to meanwhile."""
    with locked(database):
        if database["schema"].find_one({"_id": _MARKER}) is not None:
            raise NotEmpty("the store is being restored already")
        demand_empty(database)
        for name in COLLECTIONS:
            database.drop_collection(name)
        database["schema"].insert_one({"_id": _MARKER, "prefix": prefix})


def finish_restore(database: Database[Any]) -> bool:
    """Rename the collections of a completely loaded restore that was interrupted. Return whether there was one."""
    marker = database["schema"].find_one({"_id": _MARKER})
    if marker is None:
        return False
    loaded = set(database.list_collection_names())
    for name in (*COLLECTIONS, "runs"):  # `runs`: an older version loaded them under this name
        if marker["prefix"] + name in loaded:
            _rename(database, marker["prefix"] + name, name)
    database["schema"].delete_one({"_id": _MARKER, "prefix": marker["prefix"]})
    return True


def left_behind(database: Database[Any], before: datetime) -> list[str]:
    """Return the collections of restores that began before this time and never finished."""
    names = database.list_collection_names()
    return sorted(name for name in names if name.startswith(_BESIDE) and _since(name, before) < before)


def _since(name: str, otherwise: datetime) -> datetime:
    begun = name.removeprefix(_BESIDE).partition("_")[0]
    with suppress(ValueError):
        return datetime.strptime(begun, _WHEN).replace(tzinfo=otherwise.tzinfo)
    return otherwise


def _rename(database: Database[Any], old: str, new: str) -> None:
    try:
        database[old].rename(new)
    except OperationFailure as error:
        if error.code == _TAKEN:
            raise StoreError(
                f"MongoDB: a worker wrote to {new} while a backup was being restored: stop all workers, "
                f"drop the collection {new}, and the next command finishes the restore"
            ) from error
        if error.code != _NOT_FOUND:  # otherwise another process has renamed it just now
            raise
