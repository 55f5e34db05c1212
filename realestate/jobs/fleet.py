"""How a portal's crawl stands, and whether it is finished."""

from collections.abc import Mapping
from dataclasses import dataclass

from redis import Redis

from realestate.queue import keys
from realestate.queue.workers import Beat, Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One portal at one moment. The beats are older than the lengths, and the lengths older than `at`."""

    seeds: int
    waiting: int
    dead: int
    workers: Mapping[str, Beat]
    at: float

    @property
    def quiet(self) -> bool:
        return not self.seeds and not self.waiting and all(beat.idle for beat in self.workers.values())


def look(server: Redis, portal: str) -> State:
    workers = Workers(server, portal)
    beats = workers.alive()
    with server.pipeline(transaction=False) as lengths:
        lengths.llen(keys.start_urls(portal))
        lengths.zcard(keys.requests(portal))
        lengths.llen(keys.deadletters(portal))
        seeds, waiting, dead = lengths.execute()
    return State(seeds=seeds, waiting=waiting, dead=dead, workers=beats, at=workers.clock())


class Finish:
    """Tells that nothing is left to do, although no moment shows all workers at once.

    A worker idle in two beats that took nothing between them held nothing in all that time. When that holds of
    every worker around one moment at which seeds and queue were empty, nothing was left at that moment.
    """

    def __init__(self) -> None:
        self._first: State | None = None

    def reached(self, state: State) -> bool:
        if not state.quiet or not state.workers:
            self._first = None
            return False
        if self._first is None or _taken(self._first) != _taken(state):
            self._first = state
            return False
        return all(beat.at > self._first.at for beat in state.workers.values())


def _taken(state: State) -> dict[str, int]:
    return {worker: beat.taken for worker, beat in state.workers.items()}
