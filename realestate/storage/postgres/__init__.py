"""The store in PostgreSQL."""

from realestate.storage.postgres.backup import BackupTables
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.coverage import Coverage
from realestate.storage.postgres.export import ExportedTables, LakeReader
from realestate.storage.postgres.homes import Homes
from realestate.storage.postgres.jobs import Jobs, Planning, StoredOccurrences, StoredOrders
from realestate.storage.postgres.maintenance import ContactsKeeper, Maintenance, Retention
from realestate.storage.postgres.notifications import Outbox, SavedSearches, States
from realestate.storage.postgres.query import Places
from realestate.storage.postgres.read import PageValidators
from realestate.storage.postgres.write import OtherKinds, Releases


class PostgresStore(
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
    BackupTables,
    ExportedTables,
    LakeReader,
    SavedSearches,
):
    """See `FullStore`. Connects at the first call, and again after an outage of the database. Each connection checks
    the version of the schema, and migrates only if it is too old."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection = Connection(url)

    def migrate(self) -> None:
        with self.connection.cursor():
            pass

    def schema_version(self) -> int:
        return self.connection.schema_version()

    def close(self) -> None:
        self.connection.close()
