"""A PostgreSQL only for one test: it can be stopped, killed, restarted, and have a standby that takes over."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import psutil
import psycopg2

from realestate.embedded import poll
from realestate.embedded.postgres_server import SETTINGS, PostgresServer, give_to_server
from realestate.embedded.server import HOST
from tests.relay import Line

PATIENCE = 60.0


class PostgresProcess(PostgresServer):
    """The embedded server, started and stopped by the test, always at the same address. Its user is a superuser."""

    def __init__(self, folder: Path, **settings: str | int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder)
        self.change(**settings)

    def change(self, **settings: str | int) -> None:
        """Change settings of `postgresql.conf` for the next start."""
        self.settings = {**SETTINGS, **{name: str(value) for name, value in settings.items()}}

    @property
    def address(self) -> str:
        assert self.port is not None, "not started yet"
        return self.url(self.port)

    def database(self, name: str) -> str:
        """The address of another database of the server."""
        return urlsplit(self.address)._replace(path=f"/{name}").geturl()

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill(self) -> None:
        """Kill every process at once, as a power failure does. None can write before."""
        assert self.process is not None
        postmaster = psutil.Process(self.process.pid)
        postmaster.suspend()  # otherwise it would start new children
        processes = [*postmaster.children(recursive=True), postmaster]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()
        assert poll.until(self._is_gone, PATIENCE), "a process of the server is still alive"
        self.process = None

    @contextmanager
    def session(self, database: str | None = None) -> Iterator[Any]:
        """A cursor with autocommit."""
        connection = psycopg2.connect(self.database(database) if database else self.address)
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                yield cursor
        finally:
            connection.close()

    def ask(self, statement: str, *values: Any, database: str | None = None) -> list[tuple[Any, ...]]:
        with self.session(database) as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []


class Standby(PostgresProcess):
    """A standby that follows another server through a relay until it is promoted."""

    def __init__(self, folder: Path, primary: PostgresProcess, line: Line) -> None:
        super().__init__(folder)
        self.primary = primary
        self.line = line

    def _initialise(self) -> None:
        self.home.mkdir()
        self.home.chmod(0o711)
        self.data.mkdir(mode=0o700)
        give_to_server(self.data)
        shutil.copy(self.primary.home / "password", self.home / "password")
        where = ["--pgdata", str(self.data), "--dbname", self.line.url]
        self._finish(self._program("pg_basebackup", *where, "--write-recovery-conf", "--checkpoint=fast"))

    def promote(self) -> None:
        """Promote the standby: it accepts writes from now on."""
        assert self.ask("SELECT pg_promote()") == [(True,)]


class Pair:
    """A server and its standby. If it is synchronous, a transaction is acknowledged when both have it."""

    def __init__(self, primary: PostgresProcess, standby: Standby) -> None:
        self.primary = primary
        self.standby = standby
        self.line = standby.line

    @classmethod
    @contextmanager
    def running(cls, folder: Path, *, synchronous: bool = True) -> Iterator[Self]:
        primary = PostgresProcess(folder / "primary")
        primary.start()
        with ExitStack() as stack:
            stack.callback(primary.stop)
            line = stack.enter_context(Line(primary.address))
            standby = Standby(folder / "standby", primary, line)
            stack.callback(standby.stop)
            standby.start()
            if synchronous:
                primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
                primary.ask("SELECT pg_reload_conf()")
            pair = cls(primary, standby)
            assert poll.until(lambda: pair.in_step(synchronous), PATIENCE), "the standby does not follow"
            yield pair

    def in_step(self, synchronous: bool) -> bool:
        states = self.primary.ask("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")
        return states == [("sync" if synchronous else "async",)]

    def has_caught_up(self) -> bool:
        ((at,),) = self.primary.ask("SELECT pg_current_wal_lsn()")
        return self.standby.ask("SELECT pg_last_wal_replay_lsn() >= %s", at) == [(True,)]

    @property
    def address(self) -> str:
        """The address of both hosts. A client uses the one that accepts writes."""
        parts = urlsplit(self.primary.address)
        login = parts.netloc.rpartition("@")[0]
        hosts = ",".join(f"{HOST}:{server.port}" for server in (self.primary, self.standby))
        query = f"{parts.query}&target_session_attrs=read-write"
        return parts._replace(netloc=f"{login}@{hosts}", query=query).geturl()
