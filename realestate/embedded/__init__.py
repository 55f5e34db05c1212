"""A real Redis and a real PostgreSQL for a machine that has neither, for as long as a process uses them.

A background process, the *keeper*, owns the two servers. Each user of the services holds a file lock of the kernel,
which ends with its process. So the servers stop after the last user, even after ``kill -9``.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from realestate.embedded import locks, poll, services_file
from realestate.embedded.binaries import postgres_available, redis_install_advice, redis_server_binary
from realestate.embedded.services_file import EmbeddedError, Service, Services
from realestate.private_files import owner_only, private_folder

__all__ = [
    "EmbeddedError",
    "Service",
    "Services",
    "is_used",
    "postgres_available",
    "redis_install_advice",
    "redis_server_binary",
    "running",
    "services",
    "starting",
]

#: More than the keeper itself needs at most. Reached only if it hangs.
START_SECONDS = 150
#: How long the keeper may take to notice that its last user left.
NOTICE_SECONDS = 1
STOP_SECONDS = 30
PACKAGE_ROOT = Path(__file__).parents[2]


@contextmanager
def services(folder: Path) -> Iterator[Services]:
    """Use the services of ``folder``; start them if they do not run. The last user waits until they have stopped.

    Both servers are started. If one cannot start, asking for its URL raises EmbeddedError.
    """
    with _joined(folder) as joined:
        yield _found_or_started(joined)


@contextmanager
def starting(folder: Path) -> Iterator[Callable[[], Services]]:
    """Like ``services``, but start in the background. The yielded function waits for the services and returns them."""
    with _joined(folder) as joined, ThreadPoolExecutor(1) as executor:
        yield executor.submit(_found_or_started, joined).result


@contextmanager
def _joined(folder: Path) -> Iterator[Path]:
    folder = folder.absolute()
    try:
        private_folder(folder)
        users = locks.share(folder / "users.lock")
    except OSError as error:
        raise EmbeddedError(
            f"the embedded services cannot use the folder {folder}: {error.strerror}; set REALESTATE_HOME to another"
        ) from error
    try:
        yield folder
    finally:
        _leave(folder, users)


def running(folder: Path) -> Services | None:
    """The services that run there now; None if none do. Starts and creates nothing."""
    try:
        return services_file.read(folder) if _has_keeper(folder) else None
    except OSError as error:
        raise EmbeddedError(f"{folder} cannot be read: {error.strerror}") from error


def is_used(folder: Path) -> bool:
    """Whether services ran there before: there may be data. Starts and creates nothing."""
    return (folder / "users.lock").exists()


def _has_keeper(folder: Path) -> bool:
    return locks.is_taken(folder / "keeper.lock")


def _found_or_started(folder: Path) -> Services:
    with locks.taken(folder / "start.lock"):
        # A keeper without services.json either stops, or its first user was killed while it started: wait for either.
        poll.until(lambda: bool(running(folder)) or not _has_keeper(folder), STOP_SECONDS)
        return running(folder) or _started(folder)


def _started(folder: Path) -> Services:
    services_file.remove(folder)  # a killed keeper leaves its file
    log = folder / "keeper.log"
    command = [sys.executable, "-m", "realestate.embedded.keeper", str(folder)]
    with open(log, "wb", opener=owner_only) as output:
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
    last_line = (log.read_text(errors="replace").strip().splitlines() or ["its log is empty"])[-1]
    raise EmbeddedError(f"the embedded services did not start: {last_line} (see {log})")


def _leave(folder: Path, users: locks.Lock) -> None:
    """Release our share of the lock. If it was the last share, wait until the keeper has stopped the servers."""
    with users:
        last = locks.take_now(users)
    if last and poll.until(lambda: running(folder) is None, NOTICE_SECONDS):
        poll.until(lambda: not _has_keeper(folder), STOP_SECONDS)
