"""Who works for a portal, and whether all of it is done."""

from typing import Any

import msgspec
from redis import Redis

from realestate.queue import keys

#: Beats come every second; a worker silent for this long is taken for dead.
SILENT_SECONDS = 15.0


class Beat(msgspec.Struct, frozen=True):
    """What a worker holds and has done since it started."""

    in_work: int = 0
    unstored: int = 0
    taken: int = 0
    pages: int = 0
    stored: int = 0
    quarantined: int = 0
    dead: int = 0
    at: float = 0.0

    @property
    def idle(self) -> bool:
        return not self.in_work and not self.unstored


class Workers:
    """The heartbeats of one portal's workers, timed by Redis' clock."""

    def __init__(self, server: Redis, portal: str) -> None:
        self.server = server
        self.key = keys.workers(portal)

    def beat(self, worker: str, beat: Beat) -> None:
        stamped = msgspec.structs.replace(beat, at=self.clock())
        self.server.hset(self.key, worker, msgspec.json.encode(stamped).decode())

    def leave(self, worker: str) -> None:
        self.server.hdel(self.key, worker)

    def alive(self) -> dict[str, Beat]:
        """Those heard of lately; the silent are forgotten."""
        now, told = self.clock(), self._told()
        silent = [worker for worker, beat in told.items() if now - beat.at > SILENT_SECONDS]
        if silent:
            self.server.hdel(self.key, *silent)
        return {worker: beat for worker, beat in told.items() if worker not in silent}

    def clock(self) -> float:
        seconds, micros = self.server.time()
        return float(seconds + micros / 1e6)

    def _told(self) -> dict[str, Beat]:
        told: dict[Any, Any] = self.server.hgetall(self.key)
        beats = {worker.decode(): _beat(value) for worker, value in told.items()}
        return {worker: beat for worker, beat in beats.items() if beat is not None}


def _beat(value: bytes) -> Beat | None:
    try:
        return msgspec.json.decode(value, type=Beat)
    except msgspec.MsgspecError:
        return None
