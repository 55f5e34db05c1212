"""The store in MongoDB. It is correct without transactions.

A listing is one document that contains its prices and events. So each change is one write, done completely or not at
all, and only if the listing still has the revision that was read (see `change`). Events are then copied to a log for
readers of all events. In the log each event is once, and the order never changes (see `event_log`). A worker may be
killed or hang between any two statements: the next process that finds the unfinished work finishes it. An erased
listing is replaced by a tombstone (see `change.tombstone`).
"""

from realestate.storage.mongo.backup import BackupCollections
from realestate.storage.mongo.connection import Connection
from realestate.storage.mongo.coverage import Coverage
from realestate.storage.mongo.export import ExportedCollections, LakeReader
from realestate.storage.mongo.homes import Homes
from realestate.storage.mongo.jobs import Jobs, Planning, StoredOccurrences, StoredOrders
from realestate.storage.mongo.maintenance import ContactsKeeper, Maintenance, Retention
from realestate.storage.mongo.notifications import Outbox, SavedSearches, States
from realestate.storage.mongo.query import Places
from realestate.storage.mongo.read import PageValidators
from realestate.storage.mongo.schema import schema_version
from realestate.storage.mongo.write import ListingWriter, OtherKinds, Releases


class MongoStore(
    ListingWriter,
    Releases,
    OtherKinds,
    Places,
    Coverage,
    PageValidators,
    Jobs,
    Planning,
    StoredOrders,
    StoredOccurrences,
    ContactsKeeper,
    Retention,
    Outbox,
    Homes,
    States,
    Maintenance,
    BackupCollections,
    ExportedCollections,
    LakeReader,
    SavedSearches,
):
    """See `FullStore`. Connects and migrates when first used."""

    def __init__(self, url: str) -> None:
        self.connection = Connection(url)

    def migrate(self) -> None:
        with self.connection.database():
            pass

    def schema_version(self) -> int:
        with self.connection.database(migrated=False) as database:
            return schema_version(database)

    def close(self) -> None:
        self.connection.close()
