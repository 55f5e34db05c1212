"""The store in PostgreSQL."""

from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.contacts import ContactsKept
from realestate.storage.postgres.keeping import Keeping
from realestate.storage.postgres.others import OthersKept
from realestate.storage.postgres.planning import Planning
from realestate.storage.postgres.reading import Reading
from realestate.storage.postgres.runs import Runs
from realestate.storage.postgres.validators import ValidatorsKept
from realestate.storage.postgres.writing import Writing


class PostgresStore(Keeping, ContactsKept, ValidatorsKept, Writing, OthersKept, Runs, Planning, Reading):
    """See `Store`. Connects and migrates when first used, and again after the database was away."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection = Connection(url)

    def migrate(self) -> None:
        with self.connection.cursor():
            pass

    def close(self) -> None:
        self.connection.close()
