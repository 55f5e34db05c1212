"""How thoroughly a crawl reads: each mode finds what it promises, and asks for no more than it needs."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.jobs.submit import submit
from realestate.jobs.work import portals, seed_urls
from realestate.storage import WHOLE
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, Simulated, compared, finished, running

Simulate = Callable[[int], Simulated]
LISTINGS = 1200


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
TELL_PRICES = [name for name in portals() if name != "generic"]


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


@pytest.mark.parametrize("portal", portals())
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
    assert crawled.crawl("refresh") == len(half)
    assert crawled.crawl("refresh") == 0


@pytest.mark.timeout(1200)
def test_a_search_with_more_than_the_portal_shows_is_read_whole(world: Callable[..., Crawled]) -> None:
    crawled = world("immoweb", 30_000, workers=2)
    crawled.crawl("full")
    comparison = compared(crawled.store, crawled.simulated, "immoweb")
    assert (comparison.missing, comparison.duplicates) == ((), 0)
    (run,) = crawled.store.runs("immoweb")
    assert run.complete
    split = [part for part in crawled.store.parts(run.run) if part.is_split]
    assert split, "the largest search is over the cap"


def _age(store: Any, which: str) -> None:
    """As if these had been read a month ago."""
    with store.connection.cursor() as cursor:
        cursor.execute(f"UPDATE listings SET last_fetched_at = now() - interval '30 days' WHERE {which}")
