"""A connection to PostgreSQL that reconnects after an outage of the database, and what its errors mean."""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

import psycopg2
from psycopg2.errorcodes import UNIQUE_VIOLATION
from psycopg2.extensions import TRANSACTION_STATUS_INERROR, TRANSACTION_STATUS_INTRANS, connection, cursor, parse_dsn

from realestate.storage.errors import StoreAway, StoreError
from realestate.storage.postgres.schema import migrate, stored_version

#: The server ends a statement after two minutes. Several statements sent together may take twice as long.
LONGEST_SILENCE_SECONDS = 300.0
#: One thread that checks from time to time is cheap; a thread for every statement would cost more than the statement.
LOOK_SECONDS = 5.0


class WatchedConnection(connection):
    """A connection whose `WatchedCursor`s raise OperationalError if the server does not respond for too long."""

    def __init__(self, *how: Any, **more: Any) -> None:
        super().__init__(*how, **more)
        self._due: float | None = None
        self._lock = Lock()
        self._is_closed = Event()
        Thread(target=self._watch, name="watch", daemon=True).start()

    def close(self) -> None:
        self._is_closed.set()
        super().close()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._due = monotonic() + LONGEST_SILENCE_SECONDS
        try:
            yield
        finally:
            with self._lock:  # later the file descriptor may belong to another connection
                self._due = None

    def _watch(self) -> None:
        while not self._is_closed.wait(LOOK_SECONDS):
            with self._lock:
                if self._due is not None and self._due < monotonic():
                    self._disconnect()

    def _disconnect(self) -> None:
        with suppress(OSError), socket.socket(fileno=os.dup(self.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)


class WatchedCursor(cursor):
    connection: WatchedConnection

    def execute(self, *asked: Any) -> None:
        with self.connection.waiting():
            super().execute(*asked)

    def copy_expert(self, *asked: Any) -> None:
        with self.connection.waiting():
            super().copy_expert(*asked)


#: A server that is gone without closing the connection is noticed within half a minute.
_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
#: A worker that hangs must not hold up the others for long. Times are read in UTC everywhere.
_SESSION = """
    SET statement_timeout = '2min';
    SET idle_in_transaction_session_timeout = '30s';
    SET timezone = 'UTC'
"""
#: Classes of errors caused by a row: data, constraints, and limits such as the size of an index entry.
_ROWS_FAULT = ("22", "23", "54")
#: The transaction may not write, or was ended: another server is the primary now.
_WRONG_STATE = "25"


class Refused(ValueError):
    """PostgreSQL refuses a row of the statement; the message says why."""


class Duplicate(Refused):
    """A row exists already."""


class Connection:
    """Each call of `execute` is one transaction. None is open between calls."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection: Any = None
        self._is_migrated = False
        self._prepared: set[str] = set()

    @contextmanager
    def cursor(self, *, migrated: bool = True, watched: bool = True) -> Iterator[Any]:
        """A cursor. If it is not `watched`, it waits without limit: to build a large index may take hours."""
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
        """Execute the statement once in each connection: for what lasts as long as the connection."""
        if statement not in self._prepared:
            self._execute(statement)
            self._prepared.add(statement)

    def schema_version(self) -> int:
        """The version of the database's schema; 0 if it has no tables of ours."""
        with self.cursor(migrated=False):
            return stored_version(self._connection)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._is_migrated = False
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
        """Roll back a transaction that was begun and not ended."""
        if self._connection.info.transaction_status in (TRANSACTION_STATUS_INTRANS, TRANSACTION_STATUS_INERROR):
            self._execute("ROLLBACK")

    def _settle(self) -> None:
        self._connection.autocommit = True
        self._execute(_SESSION)

    def _execute(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def _explained(self, error: psycopg2.Error) -> Exception:
        message = str(error).strip().partition("\n")[0]
        kind = (error.pgcode or "")[:2]
        if kind in _ROWS_FAULT and self._connection is not None:
            return Duplicate(message) if error.pgcode == UNIQUE_VIOLATION else Refused(message)
        self.close()
        if reason := _refused_login(str(error)):
            return StoreError(f"PostgreSQL: {reason}; is STORE_URL right?")
        if kind == _WRONG_STATE or isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError):
            return StoreAway(message)
        return StoreError(f"PostgreSQL: {message}")


#: The server does not let this user in, and will not later. psycopg2 gives no error code for a failed connection.
_LOGIN_REFUSED = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|is not permitted to log in"
    r'|(?:role|user|database) ".*" does not exist|permission denied for database'
    r"|does not support SSL, but SSL was required|certificate verify failed|root certificate file"
)


def _refused_login(message: str) -> str | None:
    """Why the server refuses the user, if it does; of several servers, all must refuse it."""
    lines = [line for line in message.splitlines() if line.startswith("connection to server")]
    if not lines or not all(_LOGIN_REFUSED.search(line) for line in lines):
        return None
    return lines[0].partition("failed: ")[2].removeprefix("FATAL:").strip() or lines[0]


def _readable(url: str) -> str:
    """Check the URL. The driver's error message would repeat parts of it, perhaps the password."""
    try:
        ports = parse_dsn(url).get("port", "").split(",")
    except psycopg2.ProgrammingError:
        ports = ["unreadable"]
    if not all(port.isdigit() or not port for port in ports):
        raise StoreError("STORE_URL cannot be read: is a special character in it not %-encoded?")
    return url


class Statements:
    """Executes statements; a base of the parts of the store."""

    connection: Connection

    def _ask(self, statement: str, values: Any = None, *, watched: bool = True) -> list[tuple[Any, ...]]:
        with self.connection.cursor(watched=watched) as cursor:
            cursor.execute(statement, values)
            return list(cursor) if cursor.description else []
