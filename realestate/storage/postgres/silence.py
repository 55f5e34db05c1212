"""A server that says nothing, over a line that seems whole: a proxy holds it, or its machine is stuck.

Keepalives do not notice, for somebody answers them; and libpq would wait for ever, although the database may long have
been moved to another address. So every connection has a watch beside it that cuts the line.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from psycopg2.extensions import connection, cursor

#: The server ends a statement of ours after two minutes by itself; a string of them may take twice as long.
LONGEST_SILENCE_SECONDS = 300.0
#: A thread that looks now and then costs nothing; one started for every statement would cost more than many statements.
LOOK_SECONDS = 5.0


class WatchedConnection(connection):
    """A connection whose `WatchedCursor`s raise OperationalError when there is no answer for too long."""

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
    def asking(self) -> Iterator[None]:
        self._due = monotonic() + LONGEST_SILENCE_SECONDS
        try:
            yield
        finally:
            with self._lock:  # from here on the line's number may be another line's: it must not be cut
                self._due = None

    def _watch(self) -> None:
        while not self._is_closed.wait(LOOK_SECONDS):
            with self._lock:
                if self._due is not None and self._due < monotonic():
                    self._cut()

    def _cut(self) -> None:
        with suppress(OSError), socket.socket(fileno=os.dup(self.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)


class WatchedCursor(cursor):
    connection: WatchedConnection

    def execute(self, *asked: Any) -> None:
        with self.connection.asking():
            super().execute(*asked)

    def copy_expert(self, *asked: Any) -> None:
        with self.connection.asking():
            super().copy_expert(*asked)
