"""The store in PostgreSQL."""

from realestate.storage.postgres.backup import BackupTables
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.jobs import Jobs, Planning
from realestate.storage.postgres.maintenance import Maintenance
from realestate.storage.postgres.read import ListingReader, PageValidators, QuarantineAndPageIndex
from realestate.storage.postgres.retention import ContactsKeeper, Retention
from realestate.storage.postgres.write import OtherKinds, Releases


class PostgresStore(
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
    BackupTables,
):
    """See `FullStore`. Connects and migrates at the first call, and again after an outage of the database."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection = Connection(url)

    def migrate(self) -> None:
        with self.connection.cursor():
            pass

    def close(self) -> None:
        self.connection.close()
