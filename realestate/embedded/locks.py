"""File locks of the kernel: a lock ends with the process that holds it, however it ends.

``users.lock``    shared by every process that uses the services; exclusive for the keeper while it stops them
``start.lock``    held by the user that is starting a keeper
``keeper.lock``   held by the keeper while it runs
``redis.lock``, ``postgres.lock``   held by the server itself and all of its processes; contain its process id
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

Lock = IO[str]


def share(path: Path) -> Lock:
    """Take a share of the lock. Waits while another process holds it exclusively."""
    return _taken(path, fcntl.LOCK_SH)


def take(path: Path) -> Lock:
    """Take the lock exclusively. Waits for it."""
    return _taken(path, fcntl.LOCK_EX)


@contextmanager
def taken(path: Path) -> Iterator[None]:
    with take(path):
        yield


def take_now(lock: Lock) -> bool:
    """Take an open lock exclusively if no other process has it. A share in it is lost in both cases."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_taken(path: Path) -> bool:
    """Whether a process holds the lock exclusively. Creates nothing."""
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _taken(path: Path, how: int) -> Lock:
    lock = path.open("a+")
    try:
        fcntl.flock(lock, how)
    except BaseException:
        lock.close()
        raise
    return lock
