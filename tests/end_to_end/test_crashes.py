"""Workers are killed, stall or are stopped in the middle of a crawl: nothing is lost, nothing is stored twice."""

import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest
from redis import Redis

from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.storage import FullStore, open_store
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import (
    IN_BOTH_MODES,
    IN_BOTH_MODES_IF_SLOW,
    MODES,
    PATIENCE,
    PYTHON,
    Simulate,
    Simulated,
    Worker,
    compared,
    crowding,
    running,
    until,
)
from tests.end_to_end.crash_worker import POINTS, SEED_POINTS
from tests.mongodb import MongoProcess

Crawl = Callable[[int], "Fleet"]
#: Three search pages, more than a worker holds at once.
LISTINGS = 60
#: The requests of a dead worker are ready again after at most this many seconds, with the lease of 9 s.
RECOVERY_SECONDS = 15.0
SHORT_LEASE = 2.0


class Fleet:
    """Workers of one simulated emlak, and what Redis knows of them."""

    def __init__(
        self, simulated: Simulated, env: dict[str, str], server: Redis, store: FullStore, folder: Path
    ) -> None:
        self.simulated = simulated
        self.env = {**env, "SIMULATOR_URL": simulated.url}
        self.server = server
        self.store = store
        self.folder = folder
        self.started = 0

    def seed(self) -> None:
        self.server.lpush("emlak:start_urls", f"{self.simulated.portals['emlak']}/elanlar/?ann_type=3&page=1")

    def worker(self, **env: str) -> AbstractContextManager[Worker]:
        return self._run("-m", "realestate", "work", "emlak", **env)

    def crashing(self, point: str, **changes: float) -> AbstractContextManager[Worker]:
        """A worker with other settings, which dies at the point."""
        settings = [f"{name}={value}" for name, value in changes.items()]
        return self._run("-m", "tests.end_to_end.crash_worker", point, str(self.marker), *settings)

    @property
    def marker(self) -> Path:
        return self.folder / "point"

    def died(self, point: str, worker: Worker) -> float:
        """Wait until the worker has died at the point, and return Redis' time."""
        code = worker.process.wait(PATIENCE)
        died = self.now()
        assert self.marker.exists(), f"{point!r} was never hit: {worker.text()[-2000:]}"
        assert code == -signal.SIGKILL
        return died

    def now(self) -> float:
        """Redis' time."""
        seconds, micros = self.server.time()
        return float(seconds + micros / 1e6)

    def held(self, worker: Worker) -> int:
        """The requests leased to the worker."""
        keys_of = self.server.scan_iter(f"{{emlak}}:held:*:{worker.process.pid}:*")
        return sum(self.server.scard(key) for key in keys_of)

    def is_alive(self, worker: Worker) -> bool:
        return any(f":{worker.process.pid}:" in name for name in look(self.server, "emlak").workers)

    def unfinished(self) -> bool:
        return not look(self.server, "emlak").finished

    def finish(self) -> None:
        until(lambda: not self.unfinished(), "the end")

    def check(self) -> None:
        """The store has the truth, and Redis has nothing more to do."""
        comparison = compared(self.store, self.simulated, "emlak")
        assert comparison.right, (comparison.missing, comparison.unexpected, comparison.wrong[:5])
        assert look(self.server, "emlak").dead == 0
        for name in ("requests", "leases", "inflight", "suspects", "crashes", "tries"):
            assert not self.server.exists(keys.prefix("emlak") + name), name
        for pattern in ("{emlak}:held:*", "{emlak}:job:*", "{emlak:start_urls}:taken:*"):
            assert not list(self.server.scan_iter(pattern)), pattern

    def _run(self, *command: str, **env: str) -> AbstractContextManager[Worker]:
        self.started += 1
        return running([PYTHON, *command], {**self.env, **env}, self.folder / f"{self.started}.log")


POINTS_IN_BOTH_MODES = pytest.mark.parametrize(
    ("point", "acceleration"),
    [
        pytest.param(point, mode, marks=() if is_quick else pytest.mark.slow, id=f"{point}-accelerate {mode}")
        for number, point in enumerate(POINTS)
        for mode, is_quick in ((MODES[number % 2], True), (MODES[1 - number % 2], False))
    ],
    indirect=["acceleration"],
)


@pytest.fixture
def crawl_of(
    simulate: Simulate,
    env: dict[str, str],
    server: Redis,
    store: PostgresStore,
    tmp_path: Path,
) -> Crawl:
    return lambda listings: Fleet(simulate(listings), env, server, store, tmp_path)


@IN_BOTH_MODES
def test_a_crawl_stores_the_truth(crawl_of: Crawl) -> None:
    crawl = crawl_of(LISTINGS)
    crawl.env["LOG_LEVEL"] = "DEBUG"
    crawl.seed()
    with crawl.worker() as worker:
        until(lambda: crawl.is_alive(worker), "the worker")
        crawl.finish()
        assert worker.stop() == 0
    crawl.check()
    is_accelerated = "worker/acceleration: on" in worker.text()
    assert is_accelerated is (crawl.env["ACCELERATE"] == "on"), "the log lists the middlewares"


@POINTS_IN_BOTH_MODES
def test_killed_at_any_point_a_worker_loses_nothing(point: str, crawl_of: Crawl) -> None:
    crawl = crawl_of(LISTINGS)
    crawl.seed()
    # A short lease makes the test fast. At "downloading" the product's own lease is used: there the last heartbeat
    # named the downloads, so they are suspected.
    changes = {"HEARTBEAT_SECONDS": 0.05} if point == "downloading" else {"LEASE_SECONDS": SHORT_LEASE}
    with crawl.crashing("after the other") as survivor, crawl.crashing(point, **changes) as victim:
        died = crawl.died(point, victim)
        assert crawl.held(victim) or point == "acknowledged, children unsent", (
            "a worker that held no request proves nothing"
        )
        until(lambda: not crawl.held(victim), "the dead worker's requests")
        assert crawl.now() - died <= RECOVERY_SECONDS * crowding()
        until(lambda: crawl.is_alive(survivor), "the other worker")
        crawl.finish()
        assert survivor.stop() == 0
    crawl.check()


@IN_BOTH_MODES_IF_SLOW
@pytest.mark.parametrize("point", SEED_POINTS)
def test_a_worker_killed_with_a_seed_loses_neither_the_seed_nor_its_next_push(point: str, crawl_of: Crawl) -> None:
    crawl = crawl_of(LISTINGS)
    crawl.seed()
    with crawl.crashing(point, LEASE_SECONDS=SHORT_LEASE) as victim:
        crawl.died(point, victim)
    with crawl.worker() as survivor:
        until(lambda: crawl.is_alive(survivor) and not crawl.is_alive(victim), "the dead worker's end")
        crawl.finish()
        crawl.check()
        before = crawl.simulated.requests("emlak")
        crawl.seed()
        crawl.finish()
        assert crawl.simulated.requests("emlak") - before >= LISTINGS, "the same seed, pushed again, is crawled again"
        assert survivor.stop() == 0


@IN_BOTH_MODES_IF_SLOW
def test_this_test_finds_a_worker_that_acknowledges_before_it_stores(crawl_of: Crawl) -> None:
    crawl = crawl_of(LISTINGS)
    crawl.seed()
    with crawl.crashing("acknowledged too early", LEASE_SECONDS=SHORT_LEASE) as victim:
        victim.process.wait(PATIENCE)
    assert crawl.marker.exists()
    with crawl.worker() as survivor:
        until(lambda: crawl.is_alive(survivor), "the other worker")
        crawl.finish()
        assert survivor.stop() == 0
    comparison = compared(crawl.store, crawl.simulated, "emlak")
    assert comparison.missing, "killed with items in the batch, this worker must lose them"
    assert (comparison.unexpected, comparison.wrong, comparison.duplicates) == ((), (), 0)


@IN_BOTH_MODES_IF_SLOW
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("kills", "listings"), [(4, 300), pytest.param(20, 1_500, marks=pytest.mark.slow)])
def test_random_kills_among_three_workers_lose_nothing(crawl_of: Crawl, kills: int, listings: int) -> None:
    crawl = crawl_of(listings)
    chance = random.Random(20)
    crawl.seed()
    # Slow enough to last for all kills. A page that three killed workers held would be given up; not in this test.
    crawl.env["RATE_LIMIT"] = "12"
    with ExitStack() as running_workers:

        def start() -> Worker:
            return running_workers.enter_context(crawl.crashing("never", POISON_WORKERS=1000))

        workers = [start() for _ in range(3)]
        holding = 0
        for _ in range(kills):
            victim = chance.choice(workers)
            until(lambda: crawl.is_alive(victim), "a worker to kill")  # noqa: B023
            time.sleep(chance.uniform(0, 1))
            assert crawl.unfinished(), "all kills must be in the middle of the crawl"
            holding += crawl.held(victim) > 0
            victim.process.kill()
            victim.process.wait()
            workers[workers.index(victim)] = start()
        assert holding >= kills / 2, "most of the killed workers held requests"
        for worker in workers:
            worker.process.kill()
            worker.process.wait()
    with crawl.worker(RATE_LIMIT="0") as one, crawl.worker(RATE_LIMIT="0") as two:
        until(lambda: crawl.is_alive(one) and crawl.is_alive(two), "two workers")
        crawl.finish()
        assert (one.stop(), two.stop()) == (0, 0)
    crawl.check()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("kills", "listings"), [(20, 900)])
def test_random_kills_of_workers_and_of_mongodb_lose_nothing(
    simulate: Simulate,
    env: dict[str, str],
    server: Redis,
    mongo_process: MongoProcess,
    tmp_path: Path,
    kills: int,
    listings: int,
) -> None:
    """As with PostgreSQL; and every second time MongoDB is killed instead of a worker."""
    mongo_process.start()
    store = open_store(f"{mongo_process.url}test")
    crawl = Fleet(simulate(listings), {**env, "STORE_URL": f"{mongo_process.url}test"}, server, store, tmp_path)
    chance = random.Random(20)
    crawl.seed()
    crawl.env["RATE_LIMIT"] = "12"
    with ExitStack() as running_workers:

        def start() -> Worker:
            return running_workers.enter_context(crawl.crashing("never", POISON_WORKERS=1000))

        workers = [start() for _ in range(3)]
        for number in range(kills):
            until(lambda: any(map(crawl.is_alive, workers)), "a worker")
            time.sleep(chance.uniform(0, 1))
            assert crawl.unfinished(), "all kills must be in the middle of the crawl"
            if number % 2:
                mongo_process.kill()
                mongo_process.start()
                continue
            victim = chance.choice([worker for worker in workers if crawl.is_alive(worker)])
            victim.process.kill()
            victim.process.wait()
            workers[workers.index(victim)] = start()
        for worker in workers:
            worker.process.kill()
            worker.process.wait()
    with crawl.worker(RATE_LIMIT="0") as one, crawl.worker(RATE_LIMIT="0") as two:
        until(lambda: crawl.is_alive(one) and crawl.is_alive(two), "two workers")
        crawl.finish()
        assert (one.stop(), two.stop()) == (0, 0)
    crawl.check()
    assert Counter(each.event.type for each in store.events(limit=10_000)) == {"listed": listings}, "each event once"
    assert len({each.event.ref for each in store.events(limit=10_000)}) == listings
    store.close()


@IN_BOTH_MODES_IF_SLOW
def test_a_worker_stopped_past_its_lease_cannot_acknowledge_requests_of_another(crawl_of: Crawl) -> None:
    crawl = crawl_of(LISTINGS)
    crawl.seed()
    # Its pages wait in the batch. Its heartbeats are rare, so that no page is suspected.
    slow = {"LEASE_SECONDS": 2.0, "HEARTBEAT_SECONDS": 1.5, "STORE_BATCH_SECONDS": 600.0, "STORE_BATCH_SIZE": 10_000}
    with crawl.crashing("patient", **slow) as stalled:
        until(lambda: crawl.held(stalled) >= LISTINGS, "a batch that waits")
        stalled.suspend()
        with crawl.worker() as other:
            until(lambda: not crawl.held(stalled), "the stalled worker's requests")
            crawl.finish()
            stalled.resume()
            until(lambda: crawl.is_alive(stalled), "the stalled worker")
            assert (stalled.stop(), other.stop()) == (0, 0)
    crawl.check()
    late = re.search(r"'queue/stale': (\d+)", stalled.text())
    assert late is not None
    assert int(late[1]) >= LISTINGS, "every late acknowledgement is refused"


@IN_BOTH_MODES_IF_SLOW
def test_a_fleet_that_is_stopped_and_started_again_fetches_no_page_twice(crawl_of: Crawl) -> None:
    listings = 300
    crawl = crawl_of(listings)
    crawl.seed()
    with crawl.crashing("slow farewell", RATE_LIMIT=60) as one, crawl.crashing("slow farewell", RATE_LIMIT=60) as two:
        until(lambda: crawl.simulated.requests("emlak") > listings / 3, "a third of the crawl")
        for worker in (one, two):
            worker.process.send_signal(signal.SIGTERM)
        assert (one.process.wait(PATIENCE), two.process.wait(PATIENCE)) == (0, 0)
    state = look(crawl.server, "emlak")
    assert not state.finished
    assert (state.in_flight, crawl.held(one), crawl.held(two)) == (0, 0, 0), "handed back at once"
    with crawl.worker() as one, crawl.worker() as two:
        until(lambda: crawl.is_alive(one) and crawl.is_alive(two), "two workers")
        crawl.finish()
        assert (one.stop(), two.stop()) == (0, 0)
    crawl.check()
    # Only pages that were not finished in time would be fetched again, and here all are finished.
    pages, robots = listings + -(-listings // 20), 4
    assert crawl.simulated.requests("emlak") <= pages + robots
