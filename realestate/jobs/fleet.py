"""The state of a portal's crawl in Redis, and whether it is finished."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from realestate.queue import keys, stored
from realestate.queue.open_jobs import read_open_job, sum_counts
from realestate.queue.proxy_health import ProxyHealth
from realestate.queue.rate_limit import RateLimit
from realestate.queue.redis_client import in_one_step
from realestate.queue.workers import HeartbeatData, process_of, read_heartbeat

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
    now: float = 0.0
    """Redis' time, in seconds."""
    heard_at: float = 0.0
    """When any worker last sent a heartbeat; 0: never."""
    proxies: Mapping[str, int] = field(default_factory=dict)
    """The number of proxies by condition, such as `healthy` and `banned`."""

    @property
    def waiting(self) -> int:
        return self.seeds + self.ready + self.delayed

    @property
    def pages_per_second(self) -> float:
        """Over the last minute, by all workers."""
        return sum(heartbeat.pages_per_second for heartbeat in self.workers.values())

    @property
    def active_at(self) -> float:
        """When a worker that lives last got a page, in seconds; 0 if none did."""
        return max((heartbeat.active_at for heartbeat in self.workers.values()), default=0.0)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do. A page is acknowledged only after its items are stored and the requests it
        led to are queued. A job is open until its missing listings were checked."""
        return not self.waiting and not self.in_flight and not self.open_jobs


@dataclass(slots=True)
class WorkerProcess:
    """The sums of a worker's heartbeats for all its portals."""

    portals: int = 0
    pages: int = 0
    pages_per_second: float = 0.0
    stored: int = 0
    unstored: int = 0
    active_at: float = 0.0
    """Redis' time, in seconds, when it last got a page; 0 if it got none."""
    cpu_share: float = 0.0

    def add(self, heartbeat: HeartbeatData) -> None:
        self.portals += 1
        self.pages += heartbeat.pages
        self.pages_per_second += heartbeat.pages_per_second
        self.stored += heartbeat.stored
        self.unstored += heartbeat.unstored
        self.active_at = max(self.active_at, heartbeat.active_at)
        self.cpu_share = max(self.cpu_share, heartbeat.cpu_share)

    @property
    def last_page_at(self) -> datetime | None:
        return stored.moment(self.active_at) if self.active_at else None


def worker_processes(states: Iterable[State]) -> dict[str, WorkerProcess]:
    """The worker processes that serve portals with these states, by name, in order."""
    found: dict[str, WorkerProcess] = {}
    for state in states:
        for worker, heartbeat in state.workers.items():
            found.setdefault(process_of(worker), WorkerProcess()).add(heartbeat)
    return dict(sorted(found.items()))


def look(server: "Redis", portal: str) -> State:
    """Read the state of a portal. The number of reads does not depend on the length of the queue.

    Seeds are read first: a seed that moves into the queue meanwhile is counted twice rather than never."""
    seeds_before: Any = server.llen(keys.start_urls(portal))
    values, dead_workers = in_one_step(server, lambda commands: _read_workers(commands, portal))
    workers = {
        stored.text(worker): heartbeat for worker, value in values.items() if (heartbeat := read_heartbeat(value))
    }
    # In one transaction: the seeds of a dead worker may just be moving back.
    everyone = {*values, *dead_workers}
    seeds, *taken = in_one_step(server, lambda commands: _read_seeds(commands, portal, everyone))
    ready, suspects, delayed, in_flight, dead, open_jobs, rate_limit, heard_at, proxies = in_one_step(
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
        now=seconds + micros / 1e6,
        heard_at=stored.number(heard_at) / 1000,
        proxies=_conditions(proxies),
    )


def _conditions(healths: Sequence[bytes]) -> dict[str, int]:
    """How many proxies are in each condition. Values that are not the health of a proxy are not counted."""
    counts: Counter[str] = Counter()
    for value in healths:
        with suppress(msgspec.MsgspecError, RecursionError, ValueError):
            counts[msgspec.json.decode(value, type=ProxyHealth).condition] += 1
    return dict(counts)


@dataclass(frozen=True, slots=True)
class JobProgress:
    """What an unfinished job is doing."""

    is_open: bool
    is_checking: bool
    done: int
    left: int
    dead: int
    workers: int
    """Workers that serve its portal."""

    def __str__(self) -> str:
        if not self.is_open and not self.left:
            return "not in the queue any more"
        what = "checking what it did not find" if self.is_checking else "crawling"
        if not self.workers:
            what = "waiting for a worker"
        dead = f", {self.dead:,} dead letter{'' if self.dead == 1 else 's'}" if self.dead else ""
        return f"{what}: {self.done:,} requests done, {self.left:,} left{dead}"


def job_progress(server: "Redis", portal: str, job: str) -> JobProgress:
    """Read from Redis how far a job is."""
    value, left, counts, workers = in_one_step(server, lambda commands: _read_job(commands, portal, job))
    opened = read_open_job(value) if value else None
    sums = sum_counts(counts)
    return JobProgress(
        is_open=opened is not None,
        is_checking=opened is not None and opened.checking,
        done=sums.get("done", 0),
        left=left,
        dead=sums.get("dead", 0),
        workers=workers,
    )


def _read_workers(commands: Any, portal: str) -> None:
    commands.hgetall(keys.heartbeats(portal))
    commands.smembers(keys.dead_workers(portal))


def _read_seeds(commands: Any, portal: str, workers: Iterable[bytes]) -> None:
    commands.llen(keys.start_urls(portal))
    for worker in workers:
        commands.llen(keys.taken_seeds(portal, stored.text(worker)))


def _read_queue(commands: Any, portal: str) -> None:
    for key in (keys.ready, keys.suspects, keys.delayed, keys.inflight, keys.dead_letter_times):
        commands.zcard(key(portal))
    commands.hlen(keys.open_jobs(portal))
    commands.hgetall(keys.rate_limit(portal))
    commands.get(keys.last_heartbeat(portal))
    commands.hvals(keys.proxies(portal))


def _read_job(commands: Any, portal: str, job: str) -> None:
    commands.hget(keys.open_jobs(portal), job)
    commands.scard(keys.job(portal, job))
    commands.hgetall(keys.counts(portal, job))
    commands.hlen(keys.heartbeats(portal))
