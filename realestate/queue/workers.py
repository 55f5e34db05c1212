"""The name of a worker, and the data of its heartbeat."""

import os
import socket
from uuid import uuid4

import msgspec

#: The process that an operator started and sees, if this process is its child.
started_as: int | None = None


def process_name() -> str:
    """The part of a worker's name that all portals of a process share."""
    return f"{socket.gethostname()}:{started_as or os.getpid()}"


def worker_name() -> str:
    """A new name for each process, also if it gets the process id of an earlier one."""
    return f"{process_name()}:{uuid4().hex[:6]}"


def process_of(worker: str) -> str:
    """The process of a worker: its name in all portals begins with that."""
    return worker.rpartition(":")[0] or worker


class HeartbeatData(msgspec.Struct, frozen=True):
    """What a worker holds, and what it has done since it started."""

    in_work: int = 0
    unstored: int = 0
    pages: int = 0
    stored: int = 0
    quarantined: int = 0
    dead: int = 0
    pages_per_second: float = 0.0
    """Over the last minute."""
    cpu_share: float = 0.0
    """The share of a processor that its process used over the last minute, for all its portals."""
    outcomes: dict[str, int] = {}
    """Pages by outcome, such as `ok` and `banned`."""
    new: int = 0
    """Listings stored for the first time."""
    active_at: float = 0.0
    """Redis' time, in seconds, when it last got a page; 0 if it got none."""


def read_heartbeat(value: bytes) -> HeartbeatData | None:
    try:
        return msgspec.json.decode(value, type=HeartbeatData)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
