"""The store as a whole: out of it, and into an empty one."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from pymongo.errors import PyMongoError

from realestate.storage.mongo.connection import Connection, server_time
from realestate.storage.mongo.dumping import everything
from realestate.storage.mongo.loading import Loading
from realestate.storage.mongo.schema import make_indexes
from realestate.storage.mongo.switching import demand_empty, drop_loaded, finish_restore, new_prefix, take_over


class Moving:
    """The part of the store that hands over the whole."""

    connection: Connection

    def everything(self) -> Iterator[tuple[str, Any]]:
        """What of one moment holds in MongoDB: see `dumping`."""
        with self.connection.database() as database:
            yield from everything(database)

    def restore(self, records: Iterable[tuple[str, Any]]) -> None:
        with self.connection.database() as database:
            demand_empty(database)
            prefix = new_prefix(server_time(database))
            try:
                Loading(database, prefix).load(records)
                make_indexes(database, prefix)
                take_over(database, prefix)
            except BaseException:
                with suppress(PyMongoError):  # else it is dropped by the next upkeep
                    drop_loaded(database, prefix)
                raise
            finish_restore(database)
