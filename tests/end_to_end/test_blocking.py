"""No work for a page blocks the event loop of a worker."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PATIENCE, PYTHON, Simulate, compared, running

LISTINGS = 120
WORKER = "tests.end_to_end.watched_worker"
#: CPU seconds of one callback.
LONGEST = 0.020


@pytest.fixture
def crawl(
    simulate: Simulate, env: dict[str, str], server: Redis, store: PostgresStore, tmp_path: Path
) -> Callable[..., dict[str, Any]]:
    """Crawl a portal, check that the store has the truth, and return the report of the watchdog."""

    def watched(portal: str, what: str, *wrong: str) -> dict[str, Any]:
        simulated, report = simulate(LISTINGS), tmp_path / "report.json"
        submit(server, portal, seed_urls(portal, simulated.url))
        command = [PYTHON, "-m", WORKER, portal, str(report), what, *wrong]
        with running(command, {**env, "SIMULATOR_URL": simulated.url}, tmp_path / "worker.log") as worker:
            assert worker.process.wait(PATIENCE) == 0, worker.text()[-2000:]
        comparison = compared(store, simulated, portal)
        assert comparison.right, (comparison.missing, comparison.unexpected, comparison.wrong[:5])
        found: dict[str, Any] = json.loads(report.read_text("utf-8"))
        assert found["callbacks"] > LISTINGS
        return found

    return watched


@pytest.mark.parametrize("portal", ["immoweb", "emlak"])
def test_no_callback_takes_long(crawl: Callable[..., dict[str, Any]], portal: str) -> None:
    assert [each for each in crawl(portal, "cpu")["longest"] if each[0] > LONGEST] == []


def test_no_callback_waits(crawl: Callable[..., dict[str, Any]]) -> None:
    assert crawl("emlak", "waits")["waits"] == []


def test_a_calculation_on_the_loop_is_noticed(crawl: Callable[..., dict[str, Any]]) -> None:
    assert crawl("emlak", "cpu", f"{WORKER}.HogPipeline")["longest"][0][0] > LONGEST


def test_a_sleep_on_the_loop_is_noticed(crawl: Callable[..., dict[str, Any]]) -> None:
    (wait,) = crawl("emlak", "waits", f"{WORKER}.SleepyPipeline")["waits"]
    assert wait.startswith("sleep in ")
