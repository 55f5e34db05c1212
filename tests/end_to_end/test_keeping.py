"""With the commands: correct the values of a broken parser after the crawl, and erase listings."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.demo.truth import compare
from realestate.storage import FullStore, open_store
from realestate.storage.snapshots import pages
from tests.end_to_end.conftest import PATIENCE, PYTHON, ROOT, Simulate, Simulated, finished, running
from tests.storage.batches import all_events

PORTAL = "emlak"
LISTINGS = 40

#: A worker whose parser reads half the area and another day, refuses some pages and makes nonsense of others.
BROKEN = """
import sys
from dataclasses import replace
from datetime import timedelta
from realestate.cli import main
from realestate.spiders.emlak import EmlakSpider

right = EmlakSpider.parse_listing

def wrong(self, response, **hints):
    for listing in right(self, response, **hints):
        last = int(listing.ref) % 10
        if last == 3:
            raise ValueError("a new layout")
        changes = {"rooms": -1} if last == 4 else {"area_m2": listing.area_m2 and listing.area_m2 * 0.5}
        posted = listing.posted_at and listing.posted_at - timedelta(days=1)
        yield replace(listing, **changes, posted_at=posted)

EmlakSpider.parse_listing = wrong
main()
"""


@pytest.fixture
def simulated(simulate_alone: Simulate) -> Simulated:
    return simulate_alone(LISTINGS)


@pytest.fixture(params=["store_url", pytest.param("mongodb_url", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest) -> str:
    """The address of an empty database of each kind."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def store(url: str) -> Iterator[FullStore]:
    store = open_store(url)
    store.migrate()
    yield store
    store.close()


@pytest.fixture
def env_of(env: dict[str, str], url: str, simulated: Simulated, tmp_path: Path) -> dict[str, str]:
    """The environment of workers that store every raw page."""
    return {
        **env,
        "STORE_URL": url,
        "SIMULATOR_URL": simulated.url,
        "SNAPSHOTS_URL": str(tmp_path / "raw"),
        "SNAPSHOTS_SAMPLE": "1",
    }


def realestate(env: dict[str, str], *arguments: str, code: int = 0) -> Any:
    command = [PYTHON, "-m", "realestate", *arguments, "--json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def crawl(env: dict[str, str], server: Redis, folder: Path, *commands: list[str]) -> None:
    """Crawl the whole portal with these workers."""
    logs = [folder / f"worker-{number}.log" for number in range(len(commands))]
    workers = [running(command, env, log) for command, log in zip(commands, logs, strict=True)]
    started = [worker.__enter__() for worker in workers]
    try:
        realestate(env, "submit", PORTAL)
        finished(server, PORTAL)
        for worker in started:
            assert worker.stop() == 0
    finally:
        for context in workers:
            context.__exit__(None, None, None)


WORK = [PYTHON, "-m", "realestate", "work", PORTAL]


def test_a_fixed_parser_corrects_the_values_of_a_broken_one(
    store: FullStore, server: Redis, simulated: Simulated, env_of: dict[str, str], tmp_path: Path
) -> None:
    crawl(env_of, server, tmp_path, [PYTHON, "-c", BROKEN, "work", PORTAL])
    truth = simulated.truth(PORTAL)
    lasts = Counter(int(each["ref"]) % 10 for each in truth)
    unread, invalid = lasts[3], lasts[4]
    stored = [each for each in truth if int(each["ref"]) % 10 not in (3, 4)]
    wrong = sum(each["area_m2"] is not None or each["posted_at"] is not None for each in stored)
    assert min(unread, invalid, wrong) > 0
    assert store.counts()[PORTAL] == (len(stored), invalid)
    assert not compare(truth, list(store.records(PORTAL))).right
    requests = simulated.requests(PORTAL)

    dry = realestate(env_of, "reparse", "--portal", PORTAL, "--dry-run")
    assert (dry["listings"]["corrected"], dry["listings"]["released"]) == (wrong, unread + invalid)
    assert store.counts()[PORTAL] == (len(stored), invalid), "a dry run changes nothing"
    report = realestate(env_of, "reparse", "--portal", PORTAL)
    assert (report["listings"]["corrected"], report["listings"]["released"]) == (wrong, unread + invalid)
    assert report["fields"] == dry["fields"]
    assert report["fields"]["posted_at"] == sum(each["posted_at"] is not None for each in stored)
    assert simulated.requests(PORTAL) == requests, "nothing was fetched"

    assert compare(truth, list(store.records(PORTAL))).right
    assert store.counts()[PORTAL] == (LISTINGS, 0)
    assert Counter(each.event.type for each in all_events(store)) == {"listed": LISTINGS, "corrected": wrong}
    again = realestate(env_of, "reparse", "--portal", PORTAL)
    assert again["listings"].get("corrected", 0) == again["listings"].get("released", 0) == 0

    crawl(env_of, server, tmp_path, WORK)
    assert Counter(each.event.type for each in all_events(store)) == {"listed": LISTINGS, "corrected": wrong}, (
        "the next crawl finds no change"
    )


def test_an_erased_listing_is_not_crawled_again_by_two_workers(
    store: FullStore, server: Redis, simulated: Simulated, env_of: dict[str, str], tmp_path: Path
) -> None:
    crawl(env_of, server, tmp_path, WORK, WORK)
    refs = sorted(row["ref"] for row in store.records(PORTAL))
    assert len(refs) == LISTINGS
    gone = refs[::10]
    report = realestate(env_of, "erase", *(f"--ref={PORTAL}/{ref}" for ref in gone))
    assert [each["removed"]["listings"] for each in report["erased"]] == [1] * len(gone)
    assert report["raw_pages"]["erased"] == len(gone)
    assert not [row.ref for row, _ in pages(str(tmp_path / "raw")) if row.ref in gone]
    simulated.advance()
    before = simulated.requests(PORTAL)
    crawl(env_of, server, tmp_path, WORK, WORK)
    offered = {each["ref"] for each in simulated.truth(PORTAL)}
    assert offered & set(gone), "the portal still shows them"
    assert simulated.requests(PORTAL) - before <= len(offered - set(gone)) + 12, "their pages were not requested"
    assert not {row["ref"] for row in store.records(PORTAL)} & set(gone)
    assert not [ref for ref in gone if store.history(PORTAL, ref)]
    assert not [row.ref for row, _ in pages(str(tmp_path / "raw")) if row.ref in gone], "no page of them was stored"
    assert "page/extract/erased" in (tmp_path / "worker-0.log").read_text() + (tmp_path / "worker-1.log").read_text()
