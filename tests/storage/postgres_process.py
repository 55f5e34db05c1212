"""A PostgreSQL of a test's own, to be killed and started again; and a standby of it."""

import signal
from pathlib import Path

import psycopg2

from realestate.embedded.account import give
from realestate.embedded.postgres_server import PostgresServer


class PostgresProcess(PostgresServer):
    """Started with its first `start`."""

    @property
    def address(self) -> str:
        assert self.port is not None
        return self.url(self.port)

    def kill(self) -> None:
        """As a machine does that loses its power; what it started ends with it."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def ask(self, statement: str) -> None:
        connection = psycopg2.connect(self.address)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
        connection.close()


class Standby(PostgresProcess):
    """Has all that its primary has acknowledged, as soon as that waits for it."""

    def __init__(self, folder: Path, primary: PostgresProcess) -> None:
        folder.mkdir()
        super().__init__(folder)
        self._primary = primary

    def prepare(self) -> None:
        self.home.mkdir()
        self.home.chmod(0o711)
        self.data.mkdir(mode=0o700)
        give(self.data)
        (self.home / "password").write_text((self._primary.home / "password").read_text())
        source = f"--dbname={self._primary.address}"
        copy = ["--pgdata", str(self.data), "--checkpoint=fast", "--write-recovery-conf", "--no-sync", source]
        self._finish(self._program("pg_basebackup", *copy))
