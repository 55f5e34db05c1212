"""Ten days of crawls with crashes: the events in the store are exactly those of the truth."""

import json
import random
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.storage import WHOLE
from realestate.storage.history import Event
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, Simulate, Simulated, Worker, compared, finished, running, until

PORTALS = ("immoweb", "emlak")
LISTINGS = 120
DAYS = 10
#: On these days a worker is killed in the middle of the crawl.
BAD_DAYS = (2, 5, 7)
#: A redirect is the portal's own marker of a removed listing, where the portal is known to redirect.
EVIDENCE = {"redirect": "marker"}


class Fleet:
    """Two workers of both portals. A worker that is killed is replaced."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self.env = env
        self.folder = folder
        self._stack = ExitStack()
        self.workers: list[Worker] = []

    def __enter__(self) -> "Fleet":
        for _ in range(2):
            self.add()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self) -> None:
        log = self.folder / f"worker-{len(self.workers)}.log"
        # With a short lease, the requests of a killed worker are soon taken by another.
        command = [PYTHON, "-m", "tests.end_to_end.changed_worker", *PORTALS, "LEASE_SECONDS=3"]
        self.workers.append(self._stack.enter_context(running(command, self.env, log)))

    def kill_one(self, rng: random.Random) -> None:
        living = [worker for worker in self.workers if worker.process.poll() is None]
        victim = rng.choice(living)
        victim.process.send_signal(signal.SIGKILL)
        victim.process.wait()
        self.add()


class World:
    """The simulated portals, and the crawls of each day."""

    def __init__(self, simulated: Simulated, server: "Redis", store: PostgresStore) -> None:
        self.simulated = simulated
        self.server = server
        self.store = store
        self.day_of: dict[str, int] = {}

    def ask(self, portal: str, day: int, mode: str = "full") -> str:
        run = submit(self.server, portal, seed_urls(portal, self.simulated.url), mode=mode, scope=WHOLE)
        self.day_of[run] = day
        return run

    def recorded(self, portal: str) -> list[dict[str, Any]]:
        """The store's events in their order and in the form of the truth."""
        found, after = [], 0
        while page := self.store.events(after, 500):
            after = page[-1].seq
            found += [each.event for each in page if each.event.portal == portal]
        return [self._as_truth(each) for each in found]

    def _as_truth(self, event: Event) -> dict[str, Any]:
        fields = {"portal": event.portal, "ref": event.ref, "day": self.day_of[event.job], "type": event.type}
        match event.type:
            case "delisted":
                return fields | {"evidence": event.data["evidence"]["evidence"]}
            case "price_changed" | "price_meaning_changed" | "updated":
                return fields | event.data
            case _:
                return fields


@pytest.fixture
def world(simulate_alone: Simulate, server: "Redis", store: PostgresStore) -> World:
    return World(simulate_alone(LISTINGS), server, store)


@pytest.fixture
def fleet(world: World, env: dict[str, str], tmp_path: Path) -> Iterator[Fleet]:
    with Fleet({**env, "SIMULATOR_URL": world.simulated.url}, tmp_path) as fleet:
        yield fleet


def expected(world: World, portal: str) -> list[dict[str, Any]]:
    events = world.simulated.events(portal)
    for event in events:
        if event["type"] == "delisted":
            event["evidence"] = EVIDENCE.get(event["evidence"], event["evidence"])
    return events


def in_order(events: list[dict[str, Any]]) -> list[str]:
    """The events as sorted text: the order of one listing's events within a day does not matter."""
    return sorted(json.dumps(event, sort_keys=True) for event in events)


def test_ten_days_with_crashes_give_exactly_the_truths_events(world: World, fleet: Fleet) -> None:
    rng = random.Random(3)
    for day in range(DAYS):
        if day:
            world.simulated.advance()
        before = {portal: world.simulated.requests(portal) for portal in PORTALS}
        for portal in PORTALS:
            world.ask(portal, day)
        if day in BAD_DAYS:
            portal = rng.choice(PORTALS)
            until(lambda: world.simulated.requests(portal) > before[portal] + LISTINGS // 3, "the middle")  # noqa: B023
            fleet.kill_one(rng)
        finished(world.server, *PORTALS)
    for portal in PORTALS:
        recorded, truth = Counter(in_order(world.recorded(portal))), Counter(in_order(expected(world, portal)))
        assert (list((recorded - truth).elements()), list((truth - recorded).elements())) == ([], [])
        offered = {row["ref"] for row in world.simulated.truth(portal)}
        comparison = compared(world.store, world.simulated, portal)
        assert comparison.missing == ()
        assert comparison.duplicates == 0
        assert offered <= {row["ref"] for row in world.store.records(portal) if row["status"] != "delisted"}
    assert {run.verdict for run in world.store.jobs(limit=1000)} == {"applied"}
