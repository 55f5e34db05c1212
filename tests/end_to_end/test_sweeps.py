"""Ten days of sweeps: what is recorded, what is stored at the end, and what it costs."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.demo.simulators import simulator_process
from realestate.embedded import Services
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.simulator.portals import PORTALS
from realestate.storage import WHOLE, open_store
from realestate.storage.maintenance import FullStore
from tests.conftest import migrated_database
from tests.end_to_end.conftest import PYTHON, Simulated, finished, running, worker_environment

LISTINGS = 600
ALL_PORTALS = sorted(PORTALS)
#: A sitemap shows nothing but addresses.
SHOW_NOTHING = {"generic"}
MONEY = ("price", "currency", "price_basis", "rent_period")
#: What a search page may show.
SHOWN = ("price_changed", "price_meaning_changed", "reserved")


@dataclass
class Swept:
    """What the sweeps of one portal found, and what was true."""

    full_requests: int = 0
    full_listings: int = 0
    shares: list[float] = field(default_factory=list)
    """Requests of each sweep, as a share of those of a full crawl on that day."""
    true: Counter[str] = field(default_factory=Counter)
    """Events by type, after the first day."""
    recorded: Counter[str] = field(default_factory=Counter)
    """Those of them that were recorded, on the right day."""
    invented: list[Any] = field(default_factory=list)
    """Recorded events that did not happen."""
    missed: list[Any] = field(default_factory=list)
    """Events that were not recorded on their day."""
    wrong_prices: list[Any] = field(default_factory=list)
    wrong_statuses: list[Any] = field(default_factory=list)


class Portals:
    """Simulated portals, one worker that serves them all, and a store."""

    def __init__(self, simulated: Simulated, server: Redis, store: FullStore, portals: list[str]) -> None:
        self.simulated = simulated
        self.server = server
        self.store = store
        self.swept = {portal: Swept() for portal in portals}
        self.day_of: dict[str, int] = {}

    def crawl(self, day: int, mode: str) -> None:
        before = {portal: self.simulated.requests(portal) for portal in self.swept}
        for portal in self.swept:
            seeds = seed_urls(portal, self.simulated.url)
            self.day_of[submit(self.server, portal, seeds, mode=mode, scope=WHOLE)] = day
        finished(self.server, *self.swept, patience=280)
        for portal, swept in self.swept.items():
            requests = self.simulated.requests(portal) - before[portal]
            listings = len(self.simulated.truth(portal))
            if mode == "full":
                swept.full_requests = requests
                swept.full_listings = listings
            else:
                swept.shares.append(requests * swept.full_listings / (swept.full_requests * listings))

    def compare(self) -> None:
        for portal, swept in self.swept.items():
            true = Counter(_key(each) for each in self.simulated.events(portal) if each["day"])
            recorded = Counter(set(self._recorded(portal)))  # a search page and a listing's page may both show changes
            swept.true = Counter(type for _, _, type in true.elements())
            swept.recorded = Counter(type for _, _, type in (true & recorded).elements())
            swept.invented = sorted((_undated(recorded) - _undated(true)).elements())
            swept.missed = sorted((true - recorded).elements())
            self._compare_state(portal, swept)

    def _recorded(self, portal: str) -> Iterator[tuple[int, str, str]]:
        after = 0
        while page := self.store.events(after, 1000):
            after = page[-1].seq
            for event in (each.event for each in page):
                if event.portal == portal and (day := self.day_of[event.job]):
                    yield day, event.ref, event.type

    def _compare_state(self, portal: str, swept: Swept) -> None:
        stored = {row["ref"]: row for row in self.store.records(portal)}
        states = self.store.current(portal, list(stored))
        for row in self.simulated.truth(portal):
            known = stored[row["ref"]]
            if known["status"] != row["status"]:
                swept.wrong_statuses.append((row["ref"], known["status"], row["status"]))
            suspect = states[row["ref"]].state.suspect
            if suspect is not None and float(suspect.price) == row["price"]:
                continue  # seen, and believed if the next sweep sees it too
            if any(known[name] != row[name] for name in MONEY):
                prices = [{name: each[name] for name in MONEY} for each in (known, row)]
                swept.wrong_prices.append((row["ref"], *prices))


def _undated(events: Counter[tuple[int, str, str]]) -> Counter[tuple[str, str]]:
    """A change that no search page shows is recorded later, when the listing's page is read again."""
    return Counter((ref, type) for _, ref, type in events.elements())


def _key(event: dict[str, Any]) -> tuple[int, str, str]:
    return event["day"], event["ref"], event["type"]


@contextmanager
def swept_portals(
    services: Services, store_url: str, folder: Path, portals: list[str], days: int, listings: int = LISTINGS
) -> Iterator[dict[str, Swept]]:
    """One full crawl, then a sweep on each day."""
    with ExitStack() as stack:
        url = stack.enter_context(simulator_process(folder / "simulator.log", listings, 7))
        store: FullStore = open_store(store_url)
        store.migrate()
        stack.callback(store.close)
        server = stack.enter_context(Redis.from_url(services.redis_url))
        server.flushall()
        env = worker_environment(services.redis_url, store_url, folder)
        command = [PYTHON, "-m", "realestate", "work", *portals]
        stack.enter_context(running(command, {**env, "SIMULATOR_URL": url}, folder / "worker.log"))
        world = Portals(Simulated(url), server, store, portals)
        world.crawl(0, "full")
        for day in range(1, days + 1):
            world.simulated.advance()
            world.crawl(day, "sweep")
        world.compare()
        yield world.swept


def report(swept: dict[str, Swept]) -> str:
    """The numbers, for a person."""
    lines = []
    for portal, each in swept.items():
        kinds = ", ".join(f"{type} {each.recorded[type]}/{each.true[type]}" for type in sorted(each.true))
        lines.append(
            f"{portal:12} {kinds}; invented {len(each.invented)}; wrong prices {len(each.wrong_prices)},"
            f" wrong statuses {len(each.wrong_statuses)}; at most {max(each.shares):.1%} of a full crawl,"
            f" mean {sum(each.shares) / len(each.shares):.1%}"
        )
    true = sum((each.true for each in swept.values()), Counter[str]())
    recorded = sum((each.recorded for each in swept.values()), Counter[str]())
    lines.append("all: " + ", ".join(f"{type} {recorded[type]}/{true[type]}" for type in sorted(true)))
    return "\n".join(lines)


def check(swept: dict[str, Swept]) -> None:
    print(report(swept))
    assert all(sum(each.true[type] for each in swept.values()) for type in SHOWN), "else it would prove nothing"
    for portal, each in swept.items():
        if portal in SHOW_NOTHING:
            continue
        assert (portal, each.wrong_prices) == (portal, [])
        assert (portal, each.wrong_statuses) == (portal, [])
        assert (portal, each.invented) == (portal, [])
        for type in SHOWN:
            assert (portal, type, each.recorded[type]) == (portal, type, each.true[type])


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["store_url", "mongodb_url"])
def test_two_days_of_sweeps_record_what_the_search_pages_show(
    services: Services, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    store_url = str(request.getfixturevalue(kind))
    portals = ["daft", "emlak", "immoweb"]
    with swept_portals(services, store_url, tmp_path, portals, days=2, listings=60) as swept:
        check(swept)


@pytest.fixture(scope="module")
def ten_days(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Swept]]:
    folder = tmp_path_factory.mktemp("sweeps")
    with (
        migrated_database(services.store_url) as store_url,
        swept_portals(services, store_url, folder, ALL_PORTALS, 10) as swept,
    ):
        yield swept


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_days_of_sweeps_record_what_the_search_pages_show(ten_days: dict[str, Swept]) -> None:
    check(ten_days)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("portal", [name for name in ALL_PORTALS if name not in SHOW_NOTHING])
def test_a_sweep_stays_cheap(ten_days: dict[str, Swept], portal: str) -> None:
    assert max(ten_days[portal].shares) <= 0.15
