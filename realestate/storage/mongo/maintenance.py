"""Check the database, and repair what can be repaired while workers run."""

from collections.abc import Iterator

from pymongo.database import Database

from realestate.storage.errors import StoreError
from realestate.storage.maintenance import Finding
from realestate.storage.mongo.connection import Connection, Document, server_time
from realestate.storage.mongo.event_log import recover_all
from realestate.storage.mongo.retention import finish_erasures
from realestate.storage.mongo.schema import COLLECTIONS, DEAD_AFTER, INDEXES, finish_restore, left_behind, make_indexes


class Maintenance:
    """Checks and repairs the database."""

    connection: Connection

    def upkeep(self) -> Iterator[Finding]:
        with self.connection.database(migrated=False) as database:
            restored = _restored(database)
        yield restored
        if restored.weight == "fault":
            return
        with self.connection.database() as database:
            yield _indexed(database)
            yield _logged(database)
            yield _erased(database)
            yield from _dropped(database)
            yield _sizes(database)


def _restored(database: Database[Document]) -> Finding:
    try:
        if finish_restore(database):
            return Finding("restore", "an interrupted restore was finished", "", "repaired")
    except StoreError as error:
        return Finding("restore", "an interrupted restore cannot be finished", str(error), "fault")
    return Finding("restore", "no unfinished restore")


def _indexed(database: Database[Document]) -> Finding:
    if made := make_indexes(database):
        return Finding("indexes", f"{', '.join(made)}: missing; built again", "", "repaired")
    return Finding("indexes", f"{sum(map(len, INDEXES.values()))} checked, none missing")


def _logged(database: Database[Document]) -> Finding:
    if recover_all(database):
        return Finding("events", "events left by killed workers were copied to the log", "", "repaired")
    return Finding("events", "all are in the log")


def _erased(database: Database[Document]) -> Finding:
    if count := finish_erasures(database):
        return Finding("erased", f"{count} interrupted erasures were finished", "", "repaired")
    return Finding("erased", "no data of erased listings is left")


def _dropped(database: Database[Document]) -> Iterator[Finding]:
    for name in left_behind(database, server_time(database) - DEAD_AFTER):
        database.drop_collection(name)
        yield Finding("restore", f"{name}: left by an interrupted restore; dropped", "", "repaired")


def _sizes(database: Database[Document]) -> Finding:
    existing = set(database.list_collection_names())
    stats = {name: database.command("collStats", name) for name in COLLECTIONS if name in existing}
    sizes = {name: each.get("storageSize", 0) + each.get("totalIndexSize", 0) for name, each in stats.items()}
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))
    return Finding("sizes", ", ".join(f"{name} {sizes[name] / 1024 / 1024:.1f} MB" for name in largest))
