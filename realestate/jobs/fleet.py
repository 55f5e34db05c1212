"""How a portal's crawl stands, and whether it is finished."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redis import Redis

from realestate.queue import keys
from realestate.queue.pace import Pace
from realestate.queue.workers import Beat, read_beat


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One portal at one moment."""

    seeds: int
    ready: int
    delayed: int
    in_flight: int
    dead: int
    pace: Pace
    workers: Mapping[str, Beat]

    @property
    def waiting(self) -> int:
        return self.seeds + self.ready + self.delayed

    @property
    def finished(self) -> bool:
        """Nothing is left: done means stored, and a page's children are there before it is done."""
        return not self.waiting and not self.in_flight


def look(server: Redis, portal: str) -> State:
    """A bounded number of reads, however long the queue. Seeds first: on its way into the queue a seed is seen twice
    rather than never."""
    told: dict[Any, Any] = server.hgetall(keys.beats(portal))
    beats = {worker.decode(): beat for worker, value in told.items() if (beat := read_beat(value))}
    seeds: Any = server.llen(keys.start_urls(portal))
    taken: Any = sum(server.llen(keys.taken_seeds(portal, worker)) for worker in beats)
    with server.pipeline(transaction=True) as lengths:
        for key in (keys.ready, keys.suspects, keys.delayed, keys.inflight, keys.dead):
            lengths.zcard(key(portal))
        lengths.hgetall(keys.pace(portal))
        lengths.time()
        ready, suspects, delayed, in_flight, dead, pace, (seconds, micros) = lengths.execute()
    return State(
        seeds=seeds + taken,
        ready=ready + suspects,
        delayed=delayed,
        in_flight=in_flight,
        dead=dead,
        pace=Pace.read(pace, seconds * 1000 + micros / 1000),
        workers=beats,
    )
