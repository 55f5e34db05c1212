"""A connection that comes back after the database was away."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg2
from psycopg2.errorcodes import UNIQUE_VIOLATION
from psycopg2.extensions import TRANSACTION_STATUS_INERROR, TRANSACTION_STATUS_INTRANS, parse_dsn

from realestate.storage.errors import StoreAway, StoreError
from realestate.storage.migrate import migrate
from realestate.storage.postgres.silence import WatchedConnection, WatchedCursor

#: A database that vanished without a word is noticed within half a minute.
_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
#: So that a worker that stalls cannot hold up the others for long, and moments read alike everywhere.
_SESSION = """
    SET statement_timeout = '2min';
    SET idle_in_transaction_session_timeout = '30s';
    SET timezone = 'UTC'
"""
#: Classes of PostgreSQL's errors that are the row's fault: data, constraints, and limits such as an index entry's size.
_ROWS_FAULT = ("22", "23", "54")
#: The transaction may not write, or was ended: another server is the first one now.
_WRONG_STATE = "25"


class Refused(ValueError):
    """PostgreSQL does not take a row of the statement; the text says why."""


class Duplicate(Refused):
    """A row is there already."""


class Connection:
    """Every statement, and every string of statements, is a transaction of its own: none is open while we think."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection: Any = None
        self._is_migrated = False
        self._prepared: set[str] = set()

    @contextmanager
    def cursor(self, *, migrated: bool = True, watched: bool = True) -> Iterator[Any]:
        """Not `watched`, it waits for an answer as long as that takes: an index of a large table is built in hours."""
        try:
            with self._opened(migrated).cursor(cursor_factory=WatchedCursor if watched else None) as cursor:
                try:
                    yield cursor
                except BaseException:
                    self._roll_back()
                    raise
        except psycopg2.Error as error:
            raise self._explained(error) from error

    def once(self, statement: str) -> None:
        """For what lasts as long as the connection."""
        if statement not in self._prepared:
            self._execute(statement)
            self._prepared.add(statement)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection, self._is_migrated = None, False
            self._prepared.clear()

    def _opened(self, migrated: bool) -> Any:
        if self._connection is None:
            self._connection = psycopg2.connect(
                _readable(self.url), connect_timeout=10, connection_factory=WatchedConnection, **_KEEPALIVE
            )
            self._settle()
        if migrated and not self._is_migrated:
            self._migrate()
        return self._connection

    def _migrate(self) -> None:
        self._connection.autocommit = False
        try:
            migrate(self._connection)
        except BaseException:
            self.close()
            raise
        self._is_migrated = True
        self._settle()

    def _roll_back(self) -> None:
        """What a string of statements began, and did not end."""
        if self._connection.info.transaction_status in (TRANSACTION_STATUS_INTRANS, TRANSACTION_STATUS_INERROR):
            self._execute("ROLLBACK")

    def _settle(self) -> None:
        self._connection.autocommit = True
        self._execute(_SESSION)

    def _execute(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def _explained(self, error: psycopg2.Error) -> Exception:
        told, kind = str(error).strip().partition("\n")[0], (error.pgcode or "")[:2]
        if kind in _ROWS_FAULT and self._connection is not None:
            return Duplicate(told) if error.pgcode == UNIQUE_VIOLATION else Refused(told)
        self.close()
        if kind == _WRONG_STATE or isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError):
            return StoreAway(told)
        return StoreError(f"PostgreSQL: {told}")


def _readable(url: str) -> str:
    """Errors about a malformed address would repeat parts of it, perhaps of its password."""
    try:
        ports = parse_dsn(url).get("port", "").split(",")
    except psycopg2.ProgrammingError:
        ports = ["unreadable"]
    if not all(port.isdigit() or not port for port in ports):
        raise StoreError("STORE_URL cannot be read: is a special character in it not %-encoded?")
    return url
