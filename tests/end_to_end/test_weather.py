"""A site fails for a day: no live listing is delisted, and the next good day finds the removed ones."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from redis import Redis

from realestate.demo.simulators import simulator_process
from realestate.embedded import Services
from realestate.storage.postgres import PostgresStore
from tests.conftest import migrated_database
from tests.end_to_end.conftest import Simulated, finished, worker_environment
from tests.end_to_end.test_days import LISTINGS, Fleet, World, expected

WEATHERS = {
    "emlak": ("down", "blocked", "half_empty", "half_pages", "error_page", "all_404", "all_redirected"),
    "immoweb": ("error_page", "all_404", "all_redirected"),
}
#: These would delist the whole portal if each page counted. A redirect counts only where the portal is known to
#: redirect from removed listings; elsewhere it means nothing before the second sweep.
TOO_MANY = (("emlak", "all_404"), ("emlak", "all_redirected"), ("immoweb", "all_404"))


@pytest.fixture(scope="module")
def world(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Fleet]]:
    """One portal for all tests of this file: each test lets a day pass and leaves the store up to date."""
    folder = tmp_path_factory.mktemp("weather")
    with ExitStack() as stack:
        url = stack.enter_context(simulator_process(folder / "simulator.log", LISTINGS, 7))
        store_url = stack.enter_context(migrated_database(services.store_url))
        store = PostgresStore(store_url)
        stack.callback(store.close)
        server = stack.enter_context(Redis.from_url(services.redis_url))
        server.flushall()
        env = worker_environment(services.redis_url, store_url, folder)
        fleet = stack.enter_context(Fleet({**env, "SIMULATOR_URL": url}, folder))
        yield World(Simulated(url), server, store), fleet


@pytest.mark.parametrize(("portal", "kind"), [(portal, kind) for portal, kinds in WEATHERS.items() for kind in kinds])
def test_a_failing_site_delists_nothing_and_the_next_good_day_finds_removed_listings(
    world: tuple[World, Fleet], portal: str, kind: str
) -> None:
    crawls, fleet = world
    crawl(crawls, portal)
    logged = [len(worker.text()) for worker in fleet.workers]
    stored = len(crawls.recorded(portal))
    happened = len(expected(crawls, portal))
    crawls.simulated.advance()
    crawls.simulated.weather(portal, kind)
    run = crawl(crawls, portal)
    gone = delisted(expected(crawls, portal)[happened:])
    assert gone, "without removed listings the test would prove nothing"
    found = delisted(crawls.recorded(portal)[stored:])
    assert found <= gone, "a failing site delists no live listing"
    if kind not in ("half_empty", "all_404", "all_redirected"):
        (record,) = [each for each in crawls.store.jobs(portal) if each.job == run]
        assert record.complete is False
    if (portal, kind) in TOO_MANY:
        assert found == set(), "too many gone listings at once: none is delisted"
        new_lines = [worker.text()[before:] for worker, before in zip(fleet.workers, logged, strict=True)]
        assert "delist/withheld" in "".join(new_lines)
    crawls.simulated.weather(portal, "fine")
    crawl(crawls, portal)
    assert delisted(crawls.recorded(portal)[stored:]) == gone


def crawl(world: World, portal: str) -> str:
    """Crawl the whole portal and return the id of the job."""
    run = world.ask(portal, 0)
    finished(world.server, portal)
    return run


def delisted(events: list[dict[str, Any]]) -> set[str]:
    return {event["ref"] for event in events if event["type"] == "delisted"}
