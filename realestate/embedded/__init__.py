"""A real Redis and a real PostgreSQL for a machine that has neither, for as long as somebody uses them.

A detached *keeper* process owns the two servers. Its users are known by a lock of the kernel, which ends with
the process that holds it; so the servers stop after the last user, even one killed by ``kill -9``.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from realestate.embedded import announcement, locks, poll
from realestate.embedded.announcement import Service, Services
from realestate.embedded.binaries import postgres_available, redis_server_binary
from realestate.embedded.errors import EmbeddedError

__all__ = [
    "EmbeddedError",
    "Service",
    "Services",
    "postgres_available",
    "redis_server_binary",
    "running",
    "services",
    "starting",
]

START_SECONDS = 150
"""More than the keeper allows itself; reached only if it hangs."""
NOTICE_SECONDS = 1
STOP_SECONDS = 30
PACKAGE_ROOT = Path(__file__).parents[2]


@contextmanager
def services(folder: Path) -> Iterator[Services]:
    """Join the services of ``folder``, starting them if need be; leaving last, see them stopped.

    Both are started, whichever is needed; one that cannot start is an EmbeddedError to who asks for its URL.
    """
    with _joined(folder) as joined:
        yield _found_or_started(joined)


@contextmanager
def starting(folder: Path) -> Iterator[Callable[[], Services]]:
    """The same, which need not be ready yet: whoever calls for them waits, and hears what went wrong."""
    with _joined(folder) as joined, ThreadPoolExecutor(1) as aside:
        yield aside.submit(_found_or_started, joined).result


@contextmanager
def _joined(folder: Path) -> Iterator[Path]:
    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        users = locks.share(folder / "users.lock")
    except OSError as error:
        raise EmbeddedError(f"no services can be kept in {folder}: {error.strerror}") from error
    try:
        yield folder
    finally:
        _leave(folder, users)


def running(folder: Path) -> Services | None:
    """What runs there now; starts and creates nothing."""
    try:
        return announcement.read(folder) if _has_keeper(folder) else None
    except OSError as error:
        raise EmbeddedError(f"{folder} cannot be read: {error.strerror}") from error


def _has_keeper(folder: Path) -> bool:
    return locks.is_taken(folder / "keeper.lock")


def _found_or_started(folder: Path) -> Services:
    with locks.taken(folder / "start.lock"):
        # a keeper that announces nothing is on its way out, or in with its first user killed: see which
        poll.until(lambda: bool(running(folder)) or not _has_keeper(folder), STOP_SECONDS)
        return running(folder) or _started(folder)


def _started(folder: Path) -> Services:
    announcement.withdraw(folder)  # of a keeper that was killed
    log = folder / "keeper.log"
    command = [sys.executable, "-m", "realestate.embedded.keeper", str(folder)]
    with log.open("wb") as output:
        subprocess.run(
            command,
            cwd=PACKAGE_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    poll.until(lambda: bool(running(folder)) or not _has_keeper(folder), START_SECONDS)
    if found := running(folder):
        return found
    last_line = (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
    raise EmbeddedError(f"the embedded services did not start: {last_line} (see {log})")


def _leave(folder: Path, users: locks.Lock) -> None:
    """Give up our share. If it was the last, wait until the keeper has stopped everything."""
    with users:
        last = locks.take_now(users)
    if last and poll.until(lambda: running(folder) is None, NOTICE_SECONDS):
        poll.until(lambda: not _has_keeper(folder), STOP_SECONDS)
