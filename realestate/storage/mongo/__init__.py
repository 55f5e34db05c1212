"""The store in MongoDB: right without transactions.

A listing is one document, with its prices and its events in it: whatever happens to it is one write, wholly done or
not at all, and done only if the listing is still at the revision that was read (see `change`). Readers who follow all
events find them in a log, where they are copied to, each once and in an order that never changes (see `log`). A worker
may die or stall between any two statements: what it left undone is finished by whoever comes across it. What was erased
has a tombstone in its place (see `erased`).
"""

from realestate.storage.mongo.backup import BackupCollections
from realestate.storage.mongo.connection import Connection
from realestate.storage.mongo.jobs import Jobs, Planning
from realestate.storage.mongo.maintenance import Maintenance
from realestate.storage.mongo.read import ListingReader, PageValidators, QuarantineAndPageIndex
from realestate.storage.mongo.retention import ContactsKeeper, Retention
from realestate.storage.mongo.write import ListingWriter, OtherKinds, Releases


class MongoStore(
    ListingWriter,
    Releases,
    OtherKinds,
    ListingReader,
    QuarantineAndPageIndex,
    PageValidators,
    Jobs,
    Planning,
    ContactsKeeper,
    Retention,
    Maintenance,
    BackupCollections,
):
    """See `FullStore`. Connects and migrates when first used."""

    def __init__(self, url: str) -> None:
        self.connection = Connection(url)

    def migrate(self) -> None:
        with self.connection.database():
            pass

    def close(self) -> None:
        self.connection.close()
