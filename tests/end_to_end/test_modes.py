"""The modes of a crawl: each finds what it promises and makes no more requests than it needs."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis import Redis

from realestate.demo.simulators import simulator_process
from realestate.embedded import Services
from realestate.items import Listing
from realestate.jobs.fleet import look
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.pipelines.clean import clean
from realestate.simulator.portals import PORTALS
from realestate.spiders.tap import PAGE_SIZE
from realestate.storage import WHOLE, Batch
from realestate.storage.postgres import PostgresStore
from tests.conftest import migrated_database
from tests.end_to_end.conftest import PYTHON, Simulate, Simulated, finished, running, until, worker_environment

LISTINGS = 600
#: One chain of this many pages would take minutes. Time is spent waiting, not working, on a busy machine too.
CURSOR_LISTINGS = 10_000
CURSOR_SECONDS = 1.0
ALL_PORTALS = sorted(PORTALS)
#: A sitemap shows no prices: a sweep of `generic` cannot see that one changed.
SEARCHES_SHOW_PRICES = [name for name in ALL_PORTALS if name != "generic"]


class Crawled:
    """One portal of a simulator, and what its crawls cost. Workers run elsewhere."""

    def __init__(self, portal: str, simulated: Simulated, server: "Redis", store: PostgresStore) -> None:
        self.portal = portal
        self.simulated = simulated
        self.server = server
        self.store = store

    def submit(self, mode: str) -> None:
        seeds = seed_urls(self.portal, self.simulated.url)
        submit(self.server, self.portal, seeds[:1] if mode == "refresh" else seeds, mode=mode, scope=WHOLE)

    def crawl(self, mode: str) -> int:
        """Crawl the portal and return how many requests that took."""
        before = self.simulated.requests(self.portal)
        self.submit(mode)
        finished(self.server, self.portal, patience=900)
        return self.simulated.requests(self.portal) - before

    def events(self) -> list[tuple[str, str]]:
        events = (numbered.event for numbered in self.store.events(0, 100_000))
        return [(event.ref, event.type) for event in events if event.portal == self.portal]

    def offered(self) -> set[str]:
        return {row["ref"] for row in self.store.records(self.portal) if row["status"] in ("active", "reserved")}

    def truth(self) -> set[str]:
        return {row["ref"] for row in self.simulated.truth(self.portal)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day's crawl of one portal: what it cost, and what was stored and true after it."""

    requests: int
    offered: set[str]
    truth: set[str]
    events: set[tuple[str, str]]
    """(ref, type) of the events that this crawl recorded."""
    happened: set[tuple[str, str]]
    """(ref, type) of what a perfect crawler would have recorded that day."""


@pytest.fixture(scope="module")
def days(services: Services, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Day]]:
    """Four days of every portal, crawled by one worker: full, sweep, incremental, incremental."""
    folder = tmp_path_factory.mktemp("modes")
    with ExitStack() as stack:
        url = stack.enter_context(simulator_process(folder / "simulator.log", LISTINGS, 7))
        simulated = Simulated(url)
        store_url = stack.enter_context(migrated_database(services.store_url))
        store = PostgresStore(store_url)
        stack.callback(store.close)
        server = stack.enter_context(Redis.from_url(services.redis_url))
        server.flushall()
        env = worker_environment(services.redis_url, store_url, folder)
        command = [PYTHON, "-m", "realestate", "work", *ALL_PORTALS]
        stack.enter_context(running(command, {**env, "SIMULATOR_URL": url}, folder / "worker.log"))
        crawls = {portal: Crawled(portal, simulated, server, store) for portal in ALL_PORTALS}
        found: dict[str, list[Day]] = {portal: [] for portal in ALL_PORTALS}
        for day, mode in enumerate(("full", "sweep", "incremental", "incremental")):
            if day:
                simulated.advance()
            for portal, seen in _crawl_all(crawls, mode, day).items():
                found[portal].append(seen)
    return found


def _crawl_all(crawls: dict[str, Crawled], mode: str, day: int) -> dict[str, Day]:
    requests = {portal: crawl.simulated.requests(portal) for portal, crawl in crawls.items()}
    events = {portal: len(crawl.events()) for portal, crawl in crawls.items()}
    for crawl in crawls.values():
        crawl.submit(mode)
    finished(crawl.server, *crawls, patience=280)
    return {
        portal: Day(
            requests=crawl.simulated.requests(portal) - requests[portal],
            offered=crawl.offered(),
            truth=crawl.truth(),
            events=set(crawl.events()[events[portal] :]),
            happened={(each["ref"], each["type"]) for each in crawl.simulated.events(portal) if each["day"] == day},
        )
        for portal, crawl in crawls.items()
    }


@pytest.mark.parametrize("portal", ALL_PORTALS)
def test_a_full_crawl_finds_every_listing(days: dict[str, list[Day]], portal: str) -> None:
    full = days[portal][0]
    assert full.offered == full.truth


@pytest.mark.parametrize("portal", SEARCHES_SHOW_PRICES)
def test_a_sweep_needs_few_requests_and_finds_every_change(days: dict[str, list[Day]], portal: str) -> None:
    full, sweep, *_ = days[portal]
    assert sweep.requests <= 0.15 * full.requests
    assert sweep.offered == sweep.truth, "every new listing, and none that is gone"
    wanted = {each for each in sweep.happened if each[1] in ("listed", "price_changed", "delisted", "relisted")}
    assert wanted, "without any change the test would prove nothing"
    assert wanted <= sweep.events


@pytest.mark.parametrize("portal", ALL_PORTALS)
def test_an_incremental_crawl_needs_very_few_requests_and_finds_every_new_listing(
    days: dict[str, list[Day]], portal: str
) -> None:
    full, _, *incremental = days[portal]
    searches = len(seed_urls(portal, None))
    for day in incremental:
        new = {ref for ref, type in day.happened if type == "listed"}
        assert new
        assert new <= day.offered
        assert day.requests <= 0.03 * full.requests + searches, "and one page of each search"


@pytest.fixture
def world(
    simulate_alone: Simulate, server: "Redis", store: PostgresStore, env: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., Crawled]]:
    """A simulated portal with this many listings, and workers for it."""
    with ExitStack() as stack:

        def begin(portal: str, listings: int, workers: int = 1) -> Crawled:
            simulated = simulate_alone(listings)
            command = [PYTHON, "-m", "realestate", "work", portal]
            for number in range(workers):
                variables = {**env, "SIMULATOR_URL": simulated.url}
                stack.enter_context(running(command, variables, tmp_path / f"worker-{number}.log"))
            return Crawled(portal, simulated, server, store)

        yield begin


def test_a_refresh_reads_what_is_due_and_no_search_page(world: Callable[..., Crawled]) -> None:
    crawled = world("emlak", 60)
    crawled.crawl("full")
    assert crawled.crawl("refresh") == 0, "nothing is due so soon"
    _age(crawled.store, "ref::bigint % 2 = 0")
    half = {ref for ref in crawled.truth() if int(ref) % 2 == 0}
    events = len(crawled.events())
    assert crawled.crawl("refresh") == len(half)
    assert crawled.crawl("refresh") == 0
    assert len(crawled.events()) == events, "the period of a rent, which only the search page shows, is kept"


@pytest.mark.slow
def test_a_search_with_more_results_than_the_portal_shows_is_read_whole(world: Callable[..., Crawled]) -> None:
    """Every listing is known before, so that only search pages are read."""
    crawled = world("immoweb", 30_000, workers=2)
    refs = _know_everything(crawled)
    crawled.crawl("sweep")
    (run,) = crawled.store.jobs("immoweb")
    assert run.complete
    split = [part for part in crawled.store.parts(run.job, "immoweb") if part.is_split]
    assert split, "the largest search is over the cap"
    assert _seen_since(crawled, run.started_at) == refs


@pytest.mark.timeout(600)
def test_four_workers_read_a_cursor_ten_times_as_fast_as_one_chain_could(world: Callable[..., Crawled]) -> None:
    """Each page of a cursor waits for the page before it; a search that is split is many chains at once."""
    crawled = world("tap", CURSOR_LISTINGS, workers=4)
    _know_everything(crawled)
    until(lambda: len(look(crawled.server, "tap").workers) == 4, "four workers")
    crawled.simulated.latency("tap", CURSOR_SECONDS)
    requests = crawled.simulated.requests("tap")
    begun = time.monotonic()
    crawled.submit("sweep")
    until(lambda: _is_read(crawled), "all search pages", patience=500)
    took = time.monotonic() - begun
    requests = crawled.simulated.requests("tap") - requests
    one_chain = ceil(CURSOR_LISTINGS / PAGE_SIZE) * CURSOR_SECONDS
    assert one_chain / took >= 10, f"{took:.1f} s for {requests} requests; one chain takes {one_chain:.1f} s"
    finished(crawled.server, "tap", patience=300)
    (run,) = crawled.store.jobs("tap")
    assert run.complete
    assert len(_seen_since(crawled, run.started_at)) == CURSOR_LISTINGS


def _seen_since(crawled: Crawled, started: datetime) -> set[str]:
    rows = crawled.store.records(crawled.portal)
    return {row["ref"] for row in rows if datetime.fromisoformat(row["last_seen_at"]) > started}


def _know_everything(crawled: Crawled) -> set[str]:
    """Store every listing as if a crawl had just read its page. Return their refs."""
    listings = [msgspec.convert(row, Listing, strict=False) for row in crawled.simulated.truth(crawled.portal)]
    crawled.store.write(Batch([(clean(listing), "before") for listing in listings]))
    return {listing.ref for listing in listings}


def _is_read(crawled: Crawled) -> bool:
    """Whether no request waits or is in flight: all pages are read."""
    state = look(crawled.server, crawled.portal)
    return not state.waiting and not state.in_flight


def _age(store: Any, which: str) -> None:
    """Make the rows look as if they were fetched a month ago."""
    with store.connection.cursor() as cursor:
        cursor.execute(f"UPDATE listings SET last_fetched_at = now() - interval '30 days' WHERE {which}")
