"""How a portal's crawl stands, and whether it is finished."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redis import Redis

from realestate.queue import keys
from realestate.queue.rate_limit import RateLimit
from realestate.queue.workers import HeartbeatData, read_heartbeat


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One portal at one moment."""

    seeds: int
    ready: int
    delayed: int
    in_flight: int
    dead: int
    open_jobs: int
    pace: RateLimit
    workers: Mapping[str, HeartbeatData]

    @property
    def waiting(self) -> int:
        return self.seeds + self.ready + self.delayed

    @property
    def finished(self) -> bool:
        """Nothing is left: done means stored, a page's children are there before it is done, and a job is open until
        what it did not find has been looked for."""
        return not self.waiting and not self.in_flight and not self.open_jobs


def look(server: Redis, portal: str) -> State:
    """A bounded number of reads, however long the queue. Seeds first: on its way into the queue a seed is seen twice
    rather than never."""
    unseen: Any = server.llen(keys.start_urls(portal))
    with server.pipeline(transaction=True) as holders:
        holders.hgetall(keys.heartbeats(portal))
        holders.smembers(keys.dead_workers(portal))
        values, dead_workers = holders.execute()
    heartbeats = {
        worker.decode(): heartbeat for worker, value in values.items() if (heartbeat := read_heartbeat(value))
    }
    # Together, for a dead worker's seeds may just be on their way back.
    with server.pipeline(transaction=True) as lists:
        lists.llen(keys.start_urls(portal))
        for worker in {*values, *dead_workers}:
            lists.llen(keys.taken_seeds(portal, worker.decode()))
        seeds, *taken = lists.execute()
    with server.pipeline(transaction=True) as lengths:
        for key in (keys.ready, keys.suspects, keys.delayed, keys.inflight, keys.dead_letter_times):
            lengths.zcard(key(portal))
        lengths.hlen(keys.open_jobs(portal))
        lengths.hgetall(keys.rate_limit(portal))
        ready, suspects, delayed, in_flight, dead, open_jobs, pace = lengths.execute()
    # By a script, since a cluster has no one time: that of the node which has the portal counts.
    seconds, micros = map(int, server.eval("return redis.call('TIME')", 1, keys.rate_limit(portal)))
    return State(
        seeds=max(unseen, seeds + sum(taken)),
        ready=ready + suspects,
        delayed=delayed,
        in_flight=in_flight,
        dead=dead,
        open_jobs=open_jobs,
        pace=RateLimit.read(pace, seconds * 1000 + micros / 1000),
        workers=heartbeats,
    )
