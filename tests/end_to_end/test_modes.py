"""How thoroughly a crawl reads: each mode finds what it promises, and asks for no more than it needs."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis import Redis

from realestate.items import Listing
from realestate.jobs.fleet import look
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.pipelines.clean import clean
from realestate.simulator.portals import PORTALS
from realestate.spiders.tap import PAGE_SIZE
from realestate.storage import WHOLE, Batch
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, Simulated, compared, finished, running, until

Simulate = Callable[[int], Simulated]
LISTINGS = 1200
#: Enough that time goes by waiting, not by work, on a busy machine too.
CURSOR_LISTINGS, CURSOR_SECONDS = 10_000, 2.0


class Crawled:
    """One portal of a simulator, a worker for it, and what each crawl cost."""

    def __init__(self, portal: str, simulated: Simulated, server: "Redis", store: PostgresStore) -> None:
        self.portal = portal
        self.simulated = simulated
        self.server = server
        self.store = store

    def crawl(self, mode: str) -> int:
        """How many requests it made."""
        before = self.simulated.requests(self.portal)
        seeds = seed_urls(self.portal, self.simulated.url)
        submit(self.server, self.portal, seeds[:1] if mode == "refresh" else seeds, mode=mode, scope=WHOLE)
        finished(self.server, self.portal, patience=900)
        return self.simulated.requests(self.portal) - before

    def events(self, after: int = 0) -> list[tuple[str, str]]:
        return [(each.event.ref, each.event.type) for each in self.store.events(after, 100_000)]

    def offered(self) -> set[str]:
        return {row["ref"] for row in self.store.records(self.portal) if row["status"] in ("active", "reserved")}

    def truth(self) -> set[str]:
        return {row["ref"] for row in self.simulated.truth(self.portal)}


@pytest.fixture
def world(
    simulate: Simulate, server: "Redis", store: PostgresStore, env: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., Crawled]]:
    with ExitStack() as stack:

        def begin(portal: str, listings: int = LISTINGS, workers: int = 1) -> Crawled:
            simulated = simulate(listings)
            command = [PYTHON, "-m", "realestate", "work", portal]
            for number in range(workers):
                told = {**env, "SIMULATOR_URL": simulated.url}
                stack.enter_context(running(command, told, tmp_path / f"worker-{number}.log"))
            return Crawled(portal, simulated, server, store)

        yield begin


#: A sitemap tells no prices: a sweep of `generic` cannot see that one moved.
TELL_PRICES = [name for name in sorted(PORTALS) if name != "generic"]


@pytest.mark.parametrize("portal", TELL_PRICES)
def test_a_sweep_costs_little_and_finds_every_change(world: Callable[..., Crawled], portal: str) -> None:
    crawled = world(portal)
    full = crawled.crawl("full")
    assert crawled.offered() == crawled.truth()
    seen = len(crawled.events())
    crawled.simulated.advance()
    assert crawled.crawl("sweep") <= 0.15 * full
    assert crawled.offered() == crawled.truth(), "every new one, and none that is gone"
    wanted = {
        (event["ref"], event["type"])
        for event in crawled.simulated.events(portal)
        if event["day"] == 1 and event["type"] in ("listed", "price_changed", "delisted", "relisted")
    }
    assert wanted, "a day on which nothing happens proves nothing"
    assert wanted <= set(crawled.events()[seen:])


@pytest.mark.parametrize("portal", sorted(PORTALS))
def test_an_incremental_run_costs_next_to_nothing_and_finds_every_new_listing(
    world: Callable[..., Crawled], portal: str
) -> None:
    crawled = world(portal)
    full = crawled.crawl("full")
    for _ in range(2):
        before = crawled.truth()
        crawled.simulated.advance()
        asked = crawled.crawl("incremental")
        new = {row["ref"] for row in crawled.simulated.truth(portal)} - before
        assert new
        assert new <= crawled.offered()
        assert asked <= 0.03 * full + len(seed_urls(portal, crawled.simulated.url)), "and a page of each search"


def test_a_refresh_reads_what_is_due_and_no_search_page(world: Callable[..., Crawled], store_url: str) -> None:
    crawled = world("emlak", 60)
    crawled.crawl("full")
    assert crawled.crawl("refresh") == 0, "nothing is due so soon"
    _age(crawled.store, "ref::bigint % 2 = 0")
    half = {ref for ref in crawled.truth() if int(ref) % 2 == 0}
    events = len(crawled.events())
    assert crawled.crawl("refresh") == len(half)
    assert crawled.crawl("refresh") == 0
    assert len(crawled.events()) == events, "a rent's period, which only its card told, is not forgotten"


@pytest.mark.timeout(1200)
def test_a_search_with_more_than_the_portal_shows_is_read_whole(world: Callable[..., Crawled]) -> None:
    crawled = world("immoweb", 30_000, workers=2)
    crawled.crawl("full")
    comparison = compared(crawled.store, crawled.simulated, "immoweb")
    assert (comparison.missing, comparison.duplicates) == ((), 0)
    (run,) = crawled.store.jobs("immoweb")
    assert run.complete
    split = [part for part in crawled.store.parts(run.job) if part.is_split]
    assert split, "the largest search is over the cap"


@pytest.mark.timeout(600)
def test_four_workers_read_a_cursor_ten_times_as_fast_as_one_chain_could(world: Callable[..., Crawled]) -> None:
    """Each page of a cursor waits for the one before; a search that is split is many chains at once."""
    crawled = world("tap", CURSOR_LISTINGS, workers=4)
    _know_everything(crawled)
    until(lambda: len(look(crawled.server, "tap").workers) == 4, "four workers")
    crawled.simulated.latency("tap", CURSOR_SECONDS)
    before, begun = crawled.simulated.requests("tap"), time.monotonic()
    submit(crawled.server, "tap", seed_urls("tap", crawled.simulated.url), mode="sweep", scope=WHOLE)
    until(lambda: _is_read(crawled), "all search pages", patience=500)
    took, asked = time.monotonic() - begun, crawled.simulated.requests("tap") - before
    one_chain = ceil(CURSOR_LISTINGS / PAGE_SIZE) * CURSOR_SECONDS
    assert one_chain / took >= 10, f"{took:.1f} s for {asked} requests; one chain takes {one_chain:.1f} s"
    finished(crawled.server, "tap", patience=300)
    (run,) = crawled.store.jobs("tap")
    assert run.complete
    seen = [row for row in crawled.store.records("tap") if datetime.fromisoformat(row["last_seen_at"]) > run.started_at]
    assert len(seen) == CURSOR_LISTINGS


def _know_everything(crawled: Crawled) -> None:
    """As if a crawl had read every page just now."""
    listings = [msgspec.convert(row, Listing, strict=False) for row in crawled.simulated.truth(crawled.portal)]
    crawled.store.write(Batch([(clean(listing), "before") for listing in listings]))


def _is_read(crawled: Crawled) -> bool:
    """Every page is asked for, and what it showed is stored."""
    state = look(crawled.server, crawled.portal)
    return not state.waiting and not state.in_flight


def _age(store: Any, which: str) -> None:
    """As if these had been read a month ago."""
    with store.connection.cursor() as cursor:
        cursor.execute(f"UPDATE listings SET last_fetched_at = now() - interval '30 days' WHERE {which}")
