"""The state of a portal's crawl in Redis, and whether it is finished."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from realestate.queue import keys
from realestate.queue.rate_limit import RateLimit
from realestate.queue.redis_client import in_one_step
from realestate.queue.workers import HeartbeatData, read_heartbeat

if TYPE_CHECKING:
    from redis import Redis


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What was queued, in flight and running for one portal when it was read."""

    seeds: int
    ready: int
    delayed: int
    in_flight: int
    dead: int
    open_jobs: int
    rate_limit: RateLimit
    workers: Mapping[str, HeartbeatData]

    @property
    def waiting(self) -> int:
        return self.seeds + self.ready + self.delayed

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do. A page is acknowledged only after its items are stored and the requests it
        led to are queued. A job is open until its missing listings were checked."""
        return not self.waiting and not self.in_flight and not self.open_jobs


def look(server: "Redis", portal: str) -> State:
    """Read the state of a portal. The number of reads does not depend on the length of the queue.

    Seeds are read first: a seed that moves into the queue meanwhile is counted twice rather than never."""
    seeds_before: Any = server.llen(keys.start_urls(portal))
    values, dead_workers = in_one_step(server, lambda commands: _read_workers(commands, portal))
    workers = {worker.decode(): heartbeat for worker, value in values.items() if (heartbeat := read_heartbeat(value))}
    # In one transaction: the seeds of a dead worker may just be moving back.
    everyone = {*values, *dead_workers}
    seeds, *taken = in_one_step(server, lambda commands: _read_seeds(commands, portal, everyone))
    ready, suspects, delayed, in_flight, dead, open_jobs, rate_limit = in_one_step(
        server, lambda commands: _read_queue(commands, portal)
    )
    # By a script: in a cluster, the time of the node that has the portal counts.
    seconds, micros = map(int, server.eval("return redis.call('TIME')", 1, keys.rate_limit(portal)))
    return State(
        seeds=max(seeds_before, seeds + sum(taken)),
        ready=ready + suspects,
        delayed=delayed,
        in_flight=in_flight,
        dead=dead,
        open_jobs=open_jobs,
        rate_limit=RateLimit.read(rate_limit, seconds * 1000 + micros / 1000),
        workers=workers,
    )


def _read_workers(commands: Any, portal: str) -> None:
    commands.hgetall(keys.heartbeats(portal))
    commands.smembers(keys.dead_workers(portal))


def _read_seeds(commands: Any, portal: str, workers: Iterable[bytes]) -> None:
    commands.llen(keys.start_urls(portal))
    for worker in workers:
        commands.llen(keys.taken_seeds(portal, worker.decode()))


def _read_queue(commands: Any, portal: str) -> None:
    for key in (keys.ready, keys.suspects, keys.delayed, keys.inflight, keys.dead_letter_times):
        commands.zcard(key(portal))
    commands.hlen(keys.open_jobs(portal))
    commands.hgetall(keys.rate_limit(portal))
