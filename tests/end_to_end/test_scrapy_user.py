"""A Scrapy user runs `scrapy crawl` and `scrapy parse` with the options and settings that she knows."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.items import FIELDS
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PATIENCE, PYTHON, Simulate, Simulated, compared
from tests.end_to_end.test_scrapy import NOWHERE, scrapy

LISTINGS = 40
Crawl = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def simulated(simulate: Simulate) -> Simulated:
    return simulate(LISTINGS)


@pytest.fixture
def crawl(env: dict[str, str], server: Redis, simulated: Simulated) -> Crawl:
    """`scrapy crawl emlak …`, with all its listings to crawl. By default it ends when nothing is left."""

    def crawl(
        *arguments: str, key: str = "emlak:start_urls", until_done: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        server.lpush(key, f"{simulated.portals['emlak']}/elanlar/?ann_type=3&sort_type=0&page=1")
        end = ("-s", "UNTIL_DONE=1") if until_done else ()
        given = {**env, "SIMULATOR_URL": simulated.url, **variables}
        return scrapy(given, "crawl", "emlak", *end, *arguments)

    return crawl


def test_o_exports_every_listing_and_nothing_else_as_json_csv_and_jsonl(
    crawl: Crawl, simulated: Simulated, tmp_path: Path
) -> None:
    files = [tmp_path / f"out.{ending}" for ending in ("json", "csv", "jsonl")]
    crawl()
    done = crawl(*(part for file in files for part in ("-O", str(file))))
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    by_json = json.loads(files[0].read_text("utf-8"))
    by_line = [json.loads(line) for line in files[2].read_text("utf-8").splitlines()]
    with files[1].open(encoding="utf-8", newline="") as file:
        by_csv = list(csv.DictReader(file))
    truth = {each["ref"]: each for each in simulated.truth("emlak")}
    for rows in (by_json, by_line, by_csv):
        assert sorted(row["ref"] for row in rows) == sorted(truth), "also those whose page has not changed"
        assert set(rows[0]) == set(FIELDS)
    for row in by_json:
        expected = truth[row["ref"]]
        assert row["price"] == expected["price"]
        assert isinstance(row["features"], list)
        assert row["posted_at"] == expected["posted_at"]
    assert json.loads(by_csv[0]["extra"]) == next(row for row in by_json if row["ref"] == by_csv[0]["ref"])["extra"]


def test_items_in_quarantine_are_not_exported(crawl: Crawl, simulated: Simulated, tmp_path: Path) -> None:
    rules = tmp_path / "strict.py"
    rules.write_text(
        "from realestate.storage import Quarantined\n"
        "class Strict:\n"
        "    def process_item(self, item):\n"
        "        if type(item).__name__ == 'Listing' and item.operation == 'rent':\n"
        "            return Quarantined.of(item, 'no rents')\n"
        "        return item\n"
    )
    pipelines = json.dumps({"strict.Strict": 300, "realestate.pipelines.store.StorePipeline": 900})
    out = tmp_path / "out.jsonl"
    done = crawl("-O", str(out), "-s", f"ITEM_PIPELINES={pipelines}", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    sales = [each["ref"] for each in simulated.truth("emlak") if each["operation"] == "sale"]
    assert 0 < len(sales) < LISTINGS
    assert sorted(json.loads(line)["ref"] for line in out.read_text("utf-8").splitlines()) == sorted(sales)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("CLOSESPIDER_ITEMCOUNT=3", "closespider_itemcount"),
        ("CLOSESPIDER_PAGECOUNT=3", "closespider_pagecount"),
        ("CLOSESPIDER_TIMEOUT=2", "closespider_timeout"),
    ],
)
@pytest.mark.parametrize("acceleration", ["on", "off"])
def test_a_limit_of_scrapy_ends_the_crawl_cleanly(
    crawl: Crawl, server: Redis, store: PostgresStore, limit: str, reason: str, acceleration: str
) -> None:
    done = crawl("-s", limit, "-s", "CONCURRENT_REQUESTS=2", until_done=False, ACCELERATE=acceleration)
    assert done.returncode == 0, done.stderr
    assert f"'finish_reason': '{reason}'" in done.stderr
    assert "redis_away" not in done.stderr
    assert "ERROR" not in done.stderr
    assert server.zcard("{emlak}:inflight") == 0, "what was not sent is ready for the next worker"
    if reason != "closespider_timeout":
        assert server.zcard("{emlak}:ready")
        assert 0 <= store.counts().get("emlak", (0, 0))[0] < LISTINGS


def test_the_item_count_counts_listings_and_no_search_pages(crawl: Crawl, store: PostgresStore) -> None:
    """The first item of a crawl is what the first search page shows. It must not end the crawl."""
    done = crawl("-s", "CLOSESPIDER_ITEMCOUNT=1", "-s", "CONCURRENT_REQUESTS=1", until_done=False)
    assert "'finish_reason': 'closespider_itemcount'" in done.stderr
    assert store.counts().get("emlak", (0, 0))[0] >= 1


def test_too_many_errors_end_the_crawl_and_its_exit_code_says_so(crawl: Crawl, tmp_path: Path) -> None:
    (tmp_path / "changed.py").write_text(
        "from realestate.settings import *\n"
        "DOWNLOADER_MIDDLEWARES = {**DOWNLOADER_MIDDLEWARES, 'changed.Other': 605}\n"
        "class Other:\n"
        "    def process_response(self, request, response):\n"
        "        return response.replace(body=b'<html><body>' + b'another page ' * 2000)\n"
    )
    done = crawl(
        *("-s", "CLOSESPIDER_ERRORCOUNT=1"),
        until_done=False,
        PYTHONPATH=str(tmp_path),
        SCRAPY_SETTINGS_MODULE="changed",
    )
    assert "'finish_reason': 'closespider_errorcount'" in done.stderr
    assert done.returncode == 1
    assert "redis_away" not in done.stderr


@pytest.mark.parametrize("command", ["scrapy", "realestate"])
def test_a_crawl_without_a_usable_store_fails_with_an_exit_code(
    env: dict[str, str], server: Redis, simulated: Simulated, command: str
) -> None:
    env |= {"STORE_URL": "ftp://nowhere", "SIMULATOR_URL": simulated.url}
    if command == "scrapy":
        done = scrapy(env, "crawl", "emlak")
    else:
        done = subprocess.run(
            [PYTHON, "-m", "realestate", "work", "emlak"],
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 1
    assert ("store/failed" if command == "scrapy" else "STORE_URL begins with 'ftp'") in done.stderr
    assert "Traceback" not in done.stderr
    assert "redis_away" not in done.stderr


def test_a_feed_that_cannot_be_written_fails_with_an_exit_code(crawl: Crawl, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = crawl("-s", 'FEEDS={"ftp://127.0.0.1:1/out.json": {"format": "json"}}')
    assert done.returncode == 1, done.stderr[-2000:]


def test_pipelines_without_our_store_work_and_every_lease_is_settled(
    crawl: Crawl, server: Redis, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("class Mine:\n    def process_item(self, item):\n        return item\n")
    out = tmp_path / "out.jsonl"
    done = crawl("-O", str(out), "-s", 'ITEM_PIPELINES={"mine.Mine": 100}', PYTHONPATH=str(tmp_path), STORE_URL="")
    assert done.returncode == 0, done.stderr
    assert "store/none: portal=emlak" in done.stderr
    assert "ERROR" not in done.stderr
    assert len(out.read_text("utf-8").splitlines()) == LISTINGS
    left = [server.zcard(f"{{emlak}}:{name}") for name in ("ready", "inflight", "delayed")]
    assert left == [0, 0, 0]
    assert not server.hlen("{emlak}:dead_letters")


def test_depth_limit_is_honoured(crawl: Crawl, simulated: Simulated, store: PostgresStore) -> None:
    done = crawl("-s", "DEPTH_LIMIT=1")
    assert done.returncode == 0, done.stderr
    assert simulated.by_kind("emlak")["search"] >= 1
    kept = store.counts()["emlak"][0]
    assert 0 < kept < LISTINGS, "only the listings on the first search page"


def test_the_key_of_the_seeds_is_honoured(crawl: Crawl, simulated: Simulated, store: PostgresStore) -> None:
    done = crawl("-s", "REDIS_START_URLS_KEY=seeds/%(name)s", key="seeds/emlak")
    assert done.returncode == 0, done.stderr
    assert compared(store, simulated, "emlak").right


def test_the_time_without_work_is_honoured(crawl: Crawl, simulated: Simulated, store: PostgresStore) -> None:
    done = crawl("-s", "MAX_IDLE_TIME_BEFORE_CLOSE=1", until_done=False)
    assert done.returncode == 0, done.stderr
    assert "'finish_reason': 'finished'" in done.stderr
    assert compared(store, simulated, "emlak").right


def test_a_setting_that_cannot_be_honoured_is_named_at_the_start(crawl: Crawl) -> None:
    done = crawl("-s", "RETRY_HTTP_CODES=500", "-s", "DNS_TIMEOUT=5", "-s", "SCHEDULER_FLUSH_ON_START=1")
    named = [line for line in done.stderr.splitlines() if "queue/setting_ignored" in line]
    assert [name in text for name, text in zip(("FLUSH", "RETRY", "DNS"), named, strict=True)] == [True] * 3


@pytest.mark.parametrize("configured", [NOWHERE, {"REDIS_URL": "", "STORE_URL": ""}], ids=["away", "not configured"])
@pytest.mark.parametrize("portal", ["emlak", "bina"])
def test_parse_needs_no_callback_no_redis_and_no_store(
    env: dict[str, str], simulated: Simulated, portal: str, configured: dict[str, str]
) -> None:
    """bina's data comes from an API: the page itself has none."""
    env |= {**configured, "SIMULATOR_URL": simulated.url}
    truth: dict[str, Any] = simulated.truth(portal)[0]
    done = scrapy(env, "parse", "--spider", portal, "--nocolour", truth["url"])
    assert done.returncode == 0, done.stderr
    assert f"'ref': '{truth['ref']}'" in done.stdout
    assert "Traceback" not in done.stderr


def test_parse_of_a_search_shows_the_requests_it_leads_to(env: dict[str, str], simulated: Simulated) -> None:
    env |= {**NOWHERE, "SIMULATOR_URL": simulated.url}
    site = simulated.portals["emlak"]
    done = scrapy(env, "parse", "--spider", "emlak", "--nocolour", "--noitems", f"{site}/elanlar/?ann_type=3")
    assert f"<GET {site}/elanlar/?ann_type=3&page=2>" in done.stdout
    assert done.stdout.count(".html>") >= 20
