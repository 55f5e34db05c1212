"""A small real crawl: one worker process, a simulated portal, the whole chain to the store."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.rig.context import Context
from bench.rig.relay import Relay
from realestate import environment
from realestate.demo.simulators import simulator_process
from realestate.embedded import children
from realestate.jobs import local
from realestate.jobs.fleet import look
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.queue import keys

PORTAL = "emlak"
SEED = 7
LOOK_SECONDS = 0.05
LONGEST_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Crawled:
    """Seconds from the submission until nothing was left. The worker was started before."""

    pages: int
    seconds: float
    round_trips: int

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.seconds

    @property
    def round_trips_per_page(self) -> float:
        return self.round_trips / self.pages


@contextmanager
def simulated(context: Context, listings: int) -> Iterator[Callable[[float], Crawled]]:
    """A function that crawls the listings of the portal once, with this many seconds of delay to Redis."""
    with simulator_process(context.folder / "simulator.log", listings, SEED) as simulator:
        yield lambda delay_seconds: _crawl(context, simulator, delay_seconds)


def _crawl(context: Context, simulator: str, delay_seconds: float) -> Crawled:
    context.empty()
    with Relay(context.services.redis_url, delay_seconds) as relay:
        env = environment.changed(
            REDIS_URL=relay.url, STORE_URL=context.services.store_url, SIMULATOR_URL=simulator, LOG_LEVEL="WARNING"
        )
        workers = local.start_workers([PORTAL], 1, env, context.folder / "logs")
        try:
            _wait(lambda: bool(look(context.server, PORTAL).workers), workers)
            before = relay.round_trips
            began = time.monotonic()
            job = submit(context.server, PORTAL, seed_urls(PORTAL, simulator))
            _wait(lambda: look(context.server, PORTAL).finished, workers)
            return Crawled(_pages(context, job), time.monotonic() - began, relay.round_trips - before)
        finally:
            children.stop(workers, local.STOP_SECONDS)


def _wait(until: Callable[[], bool], workers: list[Any]) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while not until():
        if any(worker.poll() is not None for worker in workers):
            raise local.WorkerDied("the worker of the crawl ended by itself")
        if time.monotonic() > deadline:
            raise TimeoutError(f"the crawl took more than {LONGEST_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)


def _pages(context: Context, job: str) -> int:
    counts: Any = context.server.hgetall(keys.counts(PORTAL, job))
    return sum(int(times) for what, times in counts.items() if what.endswith(b":done"))
