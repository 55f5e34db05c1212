"""Conditional requests: an unchanged page is not sent again, and no change is missed."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.storage import WHOLE
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, Simulate, compared, dead_letters, finished, running, until
from tests.end_to_end.test_days import World, expected, in_order

#: By ETag, and by Last-Modified.
PORTALS = ("immoweb", "emlak")
LISTINGS = 240
#: The share of pages that are not sent again. Pages of projects show other homes and are always read.
SAME = 0.95


class Crawled:
    """One portal of a simulator, with a worker."""

    def __init__(self, portal: str, world: World) -> None:
        self.portal = portal
        self.world = world

    def crawl(self, day: int, mode: str = "full") -> Counter[str]:
        """Crawl the portal. Return the number of responses by status and by kind of page."""
        before = self._seen()
        world = self.world
        seeds = seed_urls(self.portal, world.simulated.url)
        run = submit(world.server, self.portal, seeds[:1] if mode == "refresh" else seeds, mode=mode, scope=WHOLE)
        world.day_of[run] = day
        finished(world.server, self.portal)
        return self._seen() - before

    def records(self) -> dict[str, dict[str, Any]]:
        return {row["ref"]: row for row in self.world.store.records(self.portal)}

    def is_right(self) -> bool:
        """Every event, and every value."""
        recorded, truth = (
            Counter(in_order(events))
            for events in (self.world.recorded(self.portal), expected(self.world, self.portal))
        )
        assert (list((recorded - truth).elements()), list((truth - recorded).elements())) == ([], [])
        comparison = compared(self.world.store, self.world.simulated, self.portal)
        return comparison.missing == () and comparison.duplicates == 0

    def _seen(self) -> Counter[str]:
        simulated = self.world.simulated
        return simulated.by_status(self.portal) + simulated.by_kind(self.portal)


@pytest.fixture
def begin(
    simulate_alone: Simulate, server: "Redis", store: PostgresStore, env: dict[str, str], tmp_path: Path
) -> Iterator[Callable[[str], Crawled]]:
    with ExitStack() as stack:

        def begin(portal: str) -> Crawled:
            simulated = simulate_alone(LISTINGS)
            command = [PYTHON, "-m", "realestate", "work", portal]
            variables = {**env, "SIMULATOR_URL": simulated.url, "SNAPSHOTS_SAMPLE": "1"}
            stack.enter_context(running(command, variables, tmp_path / "worker.log"))
            return Crawled(portal, World(simulated, server, store))

        yield begin


@pytest.mark.parametrize("portal", PORTALS)
def test_on_a_day_without_changes_no_page_is_sent_again(
    begin: Callable[[str], Crawled], redis_url: str, portal: str
) -> None:
    crawled = begin(portal)
    first = crawled.crawl(0)
    assert first["304"] == 0
    before = crawled.records()
    again = crawled.crawl(0)
    assert again["304"] >= SAME * _pages(again) >= SAME * LISTINGS
    after = crawled.records()
    assert all(row["last_seen_at"] > before[ref]["last_seen_at"] for ref, row in after.items())
    assert all(row["last_fetched_at"] > before[ref]["last_fetched_at"] for ref, row in after.items())
    assert crawled.is_right()
    sent, kept = _sent(first) + _sent(again), partial(_pages_kept, crawled.world.store)
    until(lambda: kept() >= sent, "the raw pages, which nobody else waits for")
    assert kept() == sent, "no 304 among the raw pages"
    _age(crawled.world.store)
    refreshed = crawled.crawl(0, "refresh")
    assert refreshed["304"] >= SAME * _pages(refreshed) >= SAME * LISTINGS
    assert crawled.crawl(0, "refresh")["listing"] == 0, "they count as read"
    assert crawled.is_right()
    assert dead_letters(redis_url, portal) == []
    assert {run.verdict for run in crawled.world.store.jobs(limit=100)} == {"applied"}


@pytest.mark.parametrize("portal", PORTALS)
def test_no_change_is_missed(begin: Callable[[str], Crawled], redis_url: str, portal: str) -> None:
    crawled = begin(portal)
    crawled.crawl(0)
    for day in (1, 2):
        crawled.world.simulated.advance()
        answers = crawled.crawl(day)
        assert answers["304"] >= 0.5 * answers["listing"], "most adverts stay as they are"
        assert crawled.is_right()
    assert len(crawled.world.recorded(portal)) > LISTINGS + 15, "without any change the test would prove nothing"
    assert dead_letters(redis_url, portal) == []


def _age(store: PostgresStore) -> None:
    """Make the rows look as if they were fetched a month ago."""
    with store.connection.cursor() as cursor:
        cursor.execute("UPDATE listings SET last_fetched_at = now() - interval '30 days'")


def _pages(answered: Counter[str]) -> int:
    """The number of listing pages, without redirects: a project links to short addresses that redirect."""
    return answered["listing"] - answered["301"] - answered["302"]


def _sent(answered: Counter[str]) -> int:
    """The number of pages that were sent whole."""
    return answered["search"] + _pages(answered) - answered["304"]


def _pages_kept(store: PostgresStore) -> int:
    with store.connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM snapshots")
        return int(cursor.fetchone()[0])
