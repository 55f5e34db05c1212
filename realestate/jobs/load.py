"""The load of the fleet, read from Redis; and how many workers this machine can hold."""

import os
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

import psutil

from realestate.jobs.fleet import State, look, worker_processes
from realestate.jobs.scaling import Load, PortalLoad

if TYPE_CHECKING:
    from redis import Redis

#: Memory of a worker that serves a few portals.
WORKER_BYTES = 300 * 1024 * 1024
#: Memory that is left to others.
SPARE_BYTES = 512 * 1024 * 1024
#: A worker that used a smaller share of a processor says nothing about what it can do.
LEAST_CPU_SHARE = 0.02


def read_load(server: "Redis", portals: Sequence[str]) -> tuple[Load, int]:
    """The load of these portals, and the number of worker processes that live."""
    return load_of({portal: look(server, portal) for portal in portals})


def load_of(states: Mapping[str, State]) -> tuple[Load, int]:
    """The load of portals with these states, and the number of worker processes that live."""
    loads = [PortalLoad(portal, state.ready + state.seeds, allowed_rate(state)) for portal, state in states.items()]
    return Load(loads, worker_speed(states)), len(worker_processes(states.values()))


def allowed_rate(state: State) -> float:
    """Requests per second that the portal's rate limit allows now."""
    limit = state.rate_limit
    if limit.paused or limit.blocked_seconds or limit.robots_failures:
        return 0.0
    rates = [limit.rate * limit.factor] if limit.rate else []
    rates += [1 / limit.crawl_delay_seconds] if limit.crawl_delay_seconds else []
    return min(rates, default=inf)


def worker_speed(states: Mapping[str, State]) -> float | None:
    """The pages per second of a worker that would use a whole processor; None if no worker works.

    Not what workers do now: a worker that waits for a rate limit would look slow, and more of them would be started."""
    speeds = sorted(
        process.pages_per_second / process.cpu_share
        for process in worker_processes(states.values()).values()
        if process.pages_per_second > 0 and process.cpu_share >= LEAST_CPU_SHARE
    )
    return speeds[len(speeds) // 2] if speeds else None


def room_here(running: int = 0, worker_bytes: int = WORKER_BYTES) -> int:
    """How many workers this machine can hold: one for each processor, as far as its memory allows. The memory of those
    that run here is not free any more, so they are counted."""
    free = psutil.virtual_memory().available - SPARE_BYTES
    by_memory = running + max(0, free // worker_bytes)
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(processors, by_memory))
