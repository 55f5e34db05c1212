"""How a store is restored wholly or not at all, without transactions.

All is loaded into collections beside the true ones. When it is whole, a document in `schema` says so, and each is given
its true name. A death before leaves the store empty; a death after is made up for by whoever connects next, as the
names that are left tell what is left to do. Giving a name that is taken fails: nothing is ever overwritten.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from pymongo.database import Database
from pymongo.errors import OperationFailure

from realestate.storage.errors import StoreError
from realestate.storage.keeping import NotEmpty
from realestate.storage.mongo.schema import COLLECTIONS, locked

_BESIDE = "restoring_"
_MARKER = "restore"
_WHEN = "%Y%m%dT%H%M%S"
_NOT_FOUND, _TAKEN = 26, 48
#: A restore of this age that is not whole is no more.
DEAD_AFTER = timedelta(days=1)


def new_prefix(now: datetime) -> str:
    """Of the names of collections that nobody else loads into."""
    return f"{_BESIDE}{now:{_WHEN}}_{uuid4().hex[:8]}_"


def demand_empty(database: Database[Any]) -> None:
    if full := [name for name in COLLECTIONS if database[name].find_one({}, {"_id": 1}) is not None]:
        raise NotEmpty(f"the store is not empty: it has {', '.join(full)}; restore into a database of its own")


def drop_loaded(database: Database[Any], prefix: str) -> None:
    for name in COLLECTIONS:
        database.drop_collection(prefix + name)


def take_over(database: Database[Any], prefix: str) -> None:
    """What was loaded is whole: it is to be the store. Raises NotEmpty if somebody has written meanwhile."""
    with locked(database):
        if database["schema"].find_one({"_id": _MARKER}) is not None:
            raise NotEmpty("the store is being restored already")
        demand_empty(database)
        for name in COLLECTIONS:
            database.drop_collection(name)
        database["schema"].insert_one({"_id": _MARKER, "prefix": prefix})


def finish_restore(database: Database[Any]) -> bool:
    """Whether one was whole and had still to be given its names."""
    marker = database["schema"].find_one({"_id": _MARKER})
    if marker is None:
        return False
    loaded = set(database.list_collection_names())
    for name in COLLECTIONS:
        if marker["prefix"] + name in loaded:
            _rename(database, marker["prefix"] + name, name)
    database["schema"].delete_one({"_id": _MARKER, "prefix": marker["prefix"]})
    return True


def left_behind(database: Database[Any], before: datetime) -> list[str]:
    """Collections that were being loaded since before then: by now whoever did it is dead."""
    names = database.list_collection_names()
    return sorted(name for name in names if name.startswith(_BESIDE) and _since(name, before) < before)


def _since(name: str, otherwise: datetime) -> datetime:
    told = name.removeprefix(_BESIDE).partition("_")[0]
    with suppress(ValueError):
        return datetime.strptime(told, _WHEN).replace(tzinfo=otherwise.tzinfo)
    return otherwise


def _rename(database: Database[Any], old: str, new: str) -> None:
    try:
        database[old].rename(new)
    except OperationFailure as error:
        if error.code == _TAKEN:
            raise StoreError(
                f"MongoDB: somebody wrote into {new} while a backup was being restored: stop all workers, "
                f"drop the collection {new}, and the next command finishes the restore"
            ) from error
        if error.code != _NOT_FOUND:  # another has renamed it just now
            raise
