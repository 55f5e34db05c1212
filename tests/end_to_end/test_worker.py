"""Workers as they run in a container: seeded by redis-cli, ended by SIGTERM."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.storage import open_store
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import (
    IN_BOTH_MODES_IF_SLOW,
    PYTHON,
    Simulate,
    compared,
    dead_letters,
    finished,
    running,
    until,
)

Ask = Callable[..., list[tuple[Any, ...]]]


@IN_BOTH_MODES_IF_SLOW
def test_two_workers_store_the_truth_of_both_portals(
    simulate: Simulate, env: dict[str, str], server: Redis, store: PostgresStore, tmp_path: Path
) -> None:
    simulated = simulate(120)
    env |= {"SIMULATOR_URL": simulated.url}
    command = [PYTHON, "-m", "realestate", "work"]
    with running(command, env, tmp_path / "1.log") as one, running(command, env, tmp_path / "2.log") as two:
        # Plain URLs, as a person pushes them.
        immoweb, emlak = simulated.portals["immoweb"], simulated.portals["emlak"]
        for kind in ("house-and-apartment", "office", "business", "industry", "land", "garage", "kot"):
            for deal in ("for-sale", "for-rent"):
                server.lpush("immoweb:start_urls", f"{immoweb}/en/search-results/{kind}/{deal}?countries=BE&page=1")
        server.lpush("emlak:start_urls", f"{emlak}/elanlar/?ann_type=3&sort_type=0&page=1")
        finished(server, "immoweb", "emlak")
        assert (one.stop(), two.stop()) == (0, 0)
    for portal in ("immoweb", "emlak"):
        comparison = compared(store, simulated, portal)
        assert comparison.expected == 120
        assert comparison.right, (comparison.missing, comparison.unexpected, comparison.wrong[:5])
    assert "ERROR" not in one.text() + two.text()


def test_a_worker_stores_the_truth_in_mongodb(
    simulate: Simulate, env: dict[str, str], server: Redis, mongodb_url: str, tmp_path: Path
) -> None:
    simulated = simulate(60)
    variables = {**env, "SIMULATOR_URL": simulated.url, "STORE_URL": mongodb_url}
    with running([PYTHON, "-m", "scrapy", "crawl", "emlak"], variables, tmp_path / "worker.log") as worker:
        server.lpush("emlak:start_urls", f"{simulated.portals['emlak']}/elanlar/?ann_type=3&sort_type=0&page=1")
        finished(server, "emlak")
        assert worker.stop() == 0
    store = open_store(mongodb_url)
    comparison = compared(store, simulated, "emlak")
    assert comparison.expected == 60
    assert comparison.right, (comparison.missing, comparison.unexpected, comparison.wrong[:5])
    assert [each.event.type for each in store.events()] == ["listed"] * 60
    store.close()
    assert "ERROR" not in worker.text()


def test_a_second_day_replaces_the_first_except_for_suspect_prices(
    simulate_alone: Simulate, env: dict[str, str], server: Redis, store: PostgresStore, sql: Ask, tmp_path: Path
) -> None:
    simulated = simulate_alone(100)
    env["SIMULATOR_URL"] = simulated.url
    seed = f"{simulated.portals['emlak']}/elanlar/?ann_type=3&sort_type=0&page=1"
    with running([PYTHON, "-m", "scrapy", "crawl", "emlak"], env, tmp_path / "worker.log") as worker:
        server.lpush("emlak:start_urls", seed)
        finished(server, "emlak")
        before = {row["ref"] for row in simulated.truth("emlak")}
        simulated.advance()
        server.lpush("emlak:start_urls", seed)
        finished(server, "emlak")
        assert worker.stop() == 0
    comparison = compared(store, simulated, "emlak")
    assert (comparison.missing, comparison.duplicates) == ((), 0)
    doubted = {ref for (ref,) in sql("SELECT ref FROM listings WHERE suspect_price IS NOT NULL")}
    assert {fault.partition(":")[0] for fault in comparison.wrong} == {f"{ref}.price" for ref in doubted}
    assert set(comparison.unexpected) <= before, "only listings that are no longer advertised are left"
    stats = worker.stats()
    assert stats["downloader/request_count"] == simulated.requests("emlak"), "Scrapy's own statistics are counted"
    assert stats["downloader/response_count"] == stats["downloader/request_count"]
    assert stats["downloader/response_status_count/200"] >= 100
    assert stats["downloader/response_bytes"] > stats["downloader/request_bytes"] > 0


def test_bad_seeds_are_refused_and_the_worker_goes_on(
    simulate: Simulate, env: dict[str, str], server: Redis, store: PostgresStore, tmp_path: Path
) -> None:
    simulated = simulate(40)
    env["SIMULATOR_URL"] = simulated.url
    emlak = simulated.portals["emlak"]
    bad = ["no address", "{broken", '{"url": "https://evil.example/"}', f'{{"url": "{emlak}/", "formdata": 1}}']
    with running([PYTHON, "-m", "realestate", "work", "emlak"], env, tmp_path / "worker.log") as worker:
        server.rpush("emlak:start_urls", *bad, b"\xff\xfe", simulated.portals["immoweb"] + "/en/")
        server.rpush("emlak:start_urls", f'{{"url": "{emlak}/elanlar/?ann_type=3&page=1", "job": "mine"}}')
        finished(server, "emlak")
        assert worker.stop() == 0
    assert compared(store, simulated, "emlak").right
    assert [letter["reason"] for letter in dead_letters(env["REDIS_URL"], "emlak")] == ["seed"] * 6
    assert worker.text().count("seed/refused") >= 6


@pytest.mark.parametrize("command", [["realestate", "work", "emlak"], ["scrapy", "crawl", "emlak"]], ids=" ".join)
def test_a_worker_without_work_ends_at_once_with_0(
    command: list[str], simulate: Simulate, env: dict[str, str], server: Redis, tmp_path: Path
) -> None:
    env["SIMULATOR_URL"] = simulate(40).url
    with running([PYTHON, "-m", *command], env, tmp_path / "worker.log") as worker:
        until(lambda: server.hlen("{emlak}:heartbeats"), "the first heartbeat")
        assert worker.stop() == 0
    assert server.hlen("{emlak}:heartbeats") == 0, "a worker that stops removes its heartbeat"
