"""A worker's name, and what it tells about itself with every heartbeat."""

import os
import socket
from uuid import uuid4

import msgspec


def worker_name() -> str:
    """One for each life: a process that comes after another with its number is not the same worker."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"


class Beat(msgspec.Struct, frozen=True):
    """What a worker holds and has done since it started."""

    in_work: int = 0
    unstored: int = 0
    pages: int = 0
    stored: int = 0
    quarantined: int = 0
    dead: int = 0


def read_beat(value: bytes) -> Beat | None:
    try:
        return msgspec.json.decode(value, type=Beat)
    except msgspec.MsgspecError:
        return None
