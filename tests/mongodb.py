"""A real MongoDB server for tests: that of ``MONGODB_URI``, else ``mongod``, else a small one built from Go sources.

``python -m tests.mongodb`` builds it ahead of the tests, which would wait for it otherwise: a minute, the first time.
"""

import hashlib
import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from realestate.embedded import children, locks, poll

SOURCES = Path(__file__).with_name("mongo_server")
HOST = "127.0.0.1"
START_SECONDS = 60
STOP_SECONDS = 30
SKIPPED = "no MongoDB"
"""How the reason of every skip for want of a server begins; the summary counts them by it."""


class NoMongoDB(Exception):
    """There is no server for the tests; the message is one line."""


@contextmanager
def skipped_without_server() -> Iterator[None]:
    """Without a server, skip the test, or fail it if ``REALESTATE_DEMAND_MONGODB`` is set."""
    try:
        yield
    except NoMongoDB as absence:
        if os.environ.get("REALESTATE_DEMAND_MONGODB"):
            pytest.fail(f"{SKIPPED}, and REALESTATE_DEMAND_MONGODB is set: {absence}", pytrace=False)
        pytest.skip(f"{SKIPPED}: {absence}")


class MongoProcess:
    """A private server with its data in a folder. It can be stopped and started again under the same URL."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port: int = free.getsockname()[1]
        self.url = f"mongodb://{HOST}:{self.port}/"
        self.log = folder / "mongodb.log"
        data = folder / "mongodb"
        data.mkdir(exist_ok=True)
        self.command = _command(data, self.port)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server. Raise RuntimeError with the end of its log if it does not start."""
        self.process = process = children.spawn(self.command, env=os.environ, log=self.log)
        poll.until(lambda: process.poll() is not None or self._answers(), START_SECONDS)
        if process.poll() is not None or not self._answers():
            self.stop()
            raise RuntimeError(f"MongoDB did not start: {self.log.read_text(errors='replace')[-1000:]}")

    def stop(self) -> None:
        if self.process is not None:
            children.stop([self.process], STOP_SECONDS)
            self.process = None

    def kill(self) -> None:
        """Kill the server, as a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), timeout=1).close()
        except OSError:
            return False
        return True


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Yield the URL of a server: `MONGODB_URI` if it is set, else a private one that runs as long as the fixture."""
    if url := os.environ.get("MONGODB_URI"):
        yield url
        return
    process = MongoProcess(folder)
    try:
        process.start()
        yield process.url
    finally:
        process.stop()


def with_database(url: str, name: str) -> str:
    """The URL of another database on the same server. The database of the login stays the same."""
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    if parts.username is not None:
        options.setdefault("authSource", [parts.path.strip("/") or "admin"])
    return parts._replace(path=f"/{name}", query=urlencode(options, doseq=True)).geturl()


def _command(data: Path, port: int) -> list[str]:
    if mongod := shutil.which("mongod"):
        return [mongod, "--dbpath", str(data), "--bind_ip", HOST, "--port", str(port), "--nounixsocket"]
    return [str(built_server()), "-data", str(data), "-listen", f"{HOST}:{port}"]


def built_server() -> Path:
    """The path of the program that is built from our Go sources. The first process builds it for all."""
    binary = _cache() / f"mongo-server-{_fingerprint()}"
    if not binary.exists():
        go = shutil.which("go")
        if go is None:
            raise NoMongoDB("neither MONGODB_URI is set nor mongod on the PATH, nor go, to build a small server")
        try:
            binary.parent.mkdir(parents=True, exist_ok=True)
            with locks.taken(binary.with_suffix(".lock")):
                if not binary.exists():
                    _build(go, binary)
        except OSError as error:
            raise NoMongoDB(f"the small server cannot be built in {binary.parent}: {error.strerror}") from error
    return binary


def _build(go: str, binary: Path) -> None:
    draft = binary.with_suffix(".new")  # an interrupted build leaves no program
    command = [go, "build", "-trimpath", "-tags", "ferretdb_no_postgresql", "-o", str(draft), "."]
    environment = {**os.environ, "CGO_ENABLED": "0"}  # without a C compiler
    build = subprocess.run(command, cwd=SOURCES, env=environment, capture_output=True, text=True)
    if build.returncode != 0:
        last_line = (build.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise NoMongoDB(f"{go} cannot build the small server: {last_line}")
    draft.replace(binary)


def _cache() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME")
    return (Path(folder) if folder else Path.home() / ".cache") / "realestate"


def _fingerprint() -> str:
    made_of = hashlib.sha256(f"{platform.system()} {platform.machine()}".encode())
    for source in sorted(SOURCES.iterdir()):
        made_of.update(f"\n{source.name} {source.stat().st_size}\n".encode())
        made_of.update(source.read_bytes())
    return made_of.hexdigest()[:16]


def main() -> None:
    """Build the server before the tests start, or print why the tests run without it."""
    if os.environ.get("MONGODB_URI"):
        print("MongoDB for the tests: that of MONGODB_URI")
        return
    try:
        print("MongoDB for the tests:", shutil.which("mongod") or built_server())
    except NoMongoDB as absence:
        print(f"{SKIPPED}, its tests are skipped: {absence}")


if __name__ == "__main__":
    main()
