"""A fleet on this machine whose workers, Redis and database are killed at random moments.

Nothing may be lost and nothing doubled: at the end the store is compared with the simulator's truth, each listing has
one event of being listed, and every submitted job is complete. Everything listens on loopback only.
"""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from realestate.demo.simulators import simulator_process
from realestate.demo.truth import compare_stored
from realestate.jobs.fleet import look
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.queue import keys
from realestate.queue.connection import connect_blocking
from realestate.storage import WHOLE, Store, open_store
from tests.mongodb import MongoProcess
from tests.postgres_process import PostgresProcess
from tests.redis_process import RedisProcess

ROOT = Path(__file__).parents[2]
PORTALS = ("emlak", "tap")
WORKERS = 3
LISTINGS = 150
#: Requests per second and portal: slow enough that every kill hits requests in flight.
RATE = "30"
#: A dead worker's requests are ready again after this. A page that several killed workers held is not given up.
CHANGES = ("LEASE_SECONDS=3", "POISON_WORKERS=1000000")
#: So often each kind is killed, relative to the others.
WEIGHTS = {"worker": 6, "Redis": 2, "database": 2}
LONGEST_OUTAGE_SECONDS = 3.0
#: After the last kill the fleet has this long to finish.
PATIENCE = 300.0

StoreKind = Literal["postgresql", "mongodb"]


class Database(Protocol):
    """A database process that can be killed and started again at the same address."""

    def start(self) -> object: ...

    def kill(self) -> None: ...

    def stop(self) -> None: ...


@dataclass
class Report:
    """What was done, and what was found."""

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    pages: int = 0
    listings: int = 0
    events: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def right(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        kills = ", ".join(f"{count} of {kind}" for kind, count in sorted(self.kills.items())) or "none"
        lines = [
            f"seed {self.seed}",
            f"kills: {sum(self.kills.values())} ({kills})",
            f"jobs: {self.jobs}, pages: {self.pages}, listings: {self.listings}, events: {self.events}",
            *(f"FAULT: {fault}" for fault in self.faults),
            "nothing lost, nothing doubled" if self.right else f"{len(self.faults)} faults",
        ]
        return "\n".join(lines)


class RedisWithoutMercy(RedisProcess):
    """A Redis with an append-only file that can be killed."""

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None


class Fleet:
    """The processes of the attack."""

    def __init__(self, folder: Path, redis: RedisWithoutMercy, store_url: str, simulator: str) -> None:
        self.folder = folder
        self.redis = redis
        self.store_url = store_url
        self.simulator = simulator
        self.workers: list[subprocess.Popen[bytes]] = []
        self.started = 0

    def start_worker(self) -> None:
        self.started += 1
        env = {
            **os.environ,
            "REDIS_URL": self.redis.url,
            "STORE_URL": self.store_url,
            "SIMULATOR_URL": self.simulator,
            "RATE_LIMIT": RATE,
            "RETRY_DELAY_SECONDS": "0.1",
            "REALESTATE_HOME": str(self.folder / "home"),
            "LOG_LEVEL": "INFO",
        }
        command = [sys.executable, "-m", "tests.end_to_end.changed_worker", *PORTALS, *CHANGES]
        with self.log(self.started).open("wb") as log:
            worker = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)
        self.workers.append(worker)

    def log(self, number: int) -> Path:
        return self.folder / f"worker-{number}.log"

    def kill_worker(self, chance: random.Random) -> None:
        victim = chance.choice(self.workers)
        victim.kill()
        victim.wait()
        self.workers.remove(victim)
        self.start_worker()

    def ended_by_themselves(self) -> list[int]:
        return [code for worker in self.workers if (code := worker.poll()) is not None]

    def stop(self) -> list[int]:
        for worker in self.workers:
            if worker.poll() is None:
                worker.terminate()
        codes = []
        for worker in self.workers:
            try:
                codes.append(worker.wait(60))
            except subprocess.TimeoutExpired:
                worker.kill()
                codes.append(worker.wait())
        self.workers = []
        return codes


def attack(
    folder: Path, seconds: float, seed: int, store: StoreKind = "postgresql", say: Callable[[str], None] = print
) -> Report:
    """Kill processes for this long, let the fleet finish, and compare."""
    chance = random.Random(seed)
    report = Report(seed)
    with _running(folder, store) as (fleet, database):
        jobs = _Jobs(fleet, report)
        deadline = time.monotonic() + seconds
        next_line = time.monotonic() + 30
        while time.monotonic() < deadline:
            jobs.keep_busy()
            time.sleep(chance.uniform(0.3, 3.0))
            _kill_one(fleet, database, chance, report)
            if codes := fleet.ended_by_themselves():
                report.faults.append(f"workers ended by themselves, with codes {codes}")
                break
            if time.monotonic() > next_line:
                next_line += 30
                say(f"{deadline - time.monotonic():.0f} s left, kills: {dict(report.kills)}, jobs: {report.jobs}")
        _finish(fleet, jobs, report)
    return report


@contextmanager
def _running(folder: Path, kind: StoreKind) -> Iterator[tuple[Fleet, Database]]:
    with ExitStack() as stack:
        redis = RedisWithoutMercy(folder)
        redis.start()
        stack.callback(redis.stop)
        database, url = _database(folder, kind)
        stack.callback(database.stop)
        simulator = stack.enter_context(simulator_process(folder / "simulator.log", LISTINGS, 7))
        store = open_store(url)
        store.migrate()
        store.close()
        fleet = Fleet(folder, redis, url, simulator)
        stack.callback(fleet.stop)
        for _ in range(WORKERS):
            fleet.start_worker()
        yield fleet, database


def _database(folder: Path, kind: StoreKind) -> tuple[Database, str]:
    if kind == "mongodb":
        mongo = MongoProcess(folder)
        mongo.start()
        return mongo, f"{mongo.url}attack"
    postgres = PostgresProcess(folder / "postgres")
    postgres.start()
    return postgres, postgres.address


def _kill_one(fleet: Fleet, database: Database, chance: random.Random, report: Report) -> None:
    (kind,) = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
    report.kills[kind] += 1
    if kind == "worker":
        fleet.kill_worker(chance)
        return
    victim: Any = fleet.redis if kind == "Redis" else database
    victim.kill()
    time.sleep(chance.uniform(0.0, LONGEST_OUTAGE_SECONDS))
    victim.start()


class _Jobs:
    """Submits a job for each portal whenever the one before is done."""

    def __init__(self, fleet: Fleet, report: Report) -> None:
        self.fleet = fleet
        self.report = report
        self.submitted: set[tuple[str, str]] = set()
        """Portal and job."""

    def keep_busy(self) -> None:
        with connect_blocking(self.fleet.redis.url) as server:
            for portal in PORTALS:
                if look(server, portal).finished:
                    urls = seed_urls(portal, self.fleet.simulator)
                    self.submitted.add((portal, submit(server, portal, urls, scope=WHOLE)))
                    self.report.jobs += 1


def _finish(fleet: Fleet, jobs: _Jobs, report: Report) -> None:
    with connect_blocking(fleet.redis.url) as server:
        deadline = time.monotonic() + PATIENCE
        while not all(look(server, portal).finished for portal in PORTALS):
            if time.monotonic() > deadline:
                states = {portal: str(look(server, portal)) for portal in PORTALS}
                report.faults.append(f"the fleet did not finish: {states}")
                break
            time.sleep(0.25)
        for portal in PORTALS:
            counted: Any = server.scan_iter(f"{{{portal}}}:counts:*")
            report.pages += sum(_done(server.hgetall(key)) for key in counted)
            if dead := look(server, portal).dead:
                report.faults.append(f"{portal}: {dead} dead letters")
        _wait_until_started(fleet, server, report)
    if any(codes := fleet.stop()):
        report.faults.append(f"stopped workers ended with codes {codes}")
    store = open_store(fleet.store_url)
    try:
        _compare(store, fleet, jobs, report)
    finally:
        store.close()


def _wait_until_started(fleet: Fleet, server: Any, report: Report) -> None:
    """Wait for the first heartbeat of each worker: one that is still importing its modules dies of SIGTERM."""
    deadline = time.monotonic() + PATIENCE
    while missing := {each.pid for each in fleet.workers} - _processes_with_heartbeats(server):
        if time.monotonic() > deadline:
            report.faults.append(f"workers without a heartbeat: {sorted(missing)}")
            return
        time.sleep(0.25)


def _processes_with_heartbeats(server: Any) -> set[int]:
    names = [name.decode() for portal in PORTALS for name in server.hkeys(keys.heartbeats(portal))]
    return {int(name.split(":")[-2]) for name in names}


def _done(counts: Any) -> int:
    return sum(int(value) for name, value in counts.items() if name.endswith(b":done"))


def _compare(store: Store, fleet: Fleet, jobs: _Jobs, report: Report) -> None:
    for portal in PORTALS:
        found = compare_stored(store, fleet.simulator, portal)
        report.listings += found.stored
        if not found.right:
            what = {"missing": found.missing, "unexpected": found.unexpected, "wrong": found.wrong}
            parts = [f"{len(values)} {name}, such as {values[0]}" for name, values in what.items() if values]
            report.faults.append(f"{portal}: {', '.join(parts)}; {found.duplicates} doubled rows")
        recorded = {job.job: job for job in store.jobs(portal, 1_000_000)}
        for name in sorted(job for at, job in jobs.submitted if at == portal):
            if name not in recorded or not recorded[name].complete:
                why = recorded[name].reason if name in recorded else "it is not recorded"
                report.faults.append(f"{portal}: job {name} is not complete: {why}")
    _compare_events(store, report)


def _compare_events(store: Store, report: Report) -> None:
    """The simulated day does not change: a listing has one event, of the day it was found."""
    events: Counter[tuple[str, str, str]] = Counter()
    last = 0
    while page := store.events(last, 1000):
        last = page[-1].seq
        events.update((each.event.portal, each.event.ref, str(each.event.type)) for each in page)
    report.events = sum(events.values())
    if doubled := [each for each, count in events.items() if count > 1]:
        report.faults.append(f"{len(doubled)} events are doubled, such as {doubled[0]}")
    if report.events != report.listings:
        report.faults.append(f"{report.events} events of {report.listings} listings that did not change")
