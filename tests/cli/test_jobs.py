"""`realestate jobs`, and `realestate runs`, its old name."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Redis
from typer.testing import CliRunner, Result

from realestate.cli import app, connections
from realestate.cli.errors import UsageError
from realestate.items import Part
from realestate.queue import keys
from realestate.storage.history import Event, PriceSeen
from realestate.storage.orders import StoredOrder
from realestate.storage.store import Conclusion, Job, Numbered

AT = datetime(2026, 9, 1, 12, 30, tzinfo=UTC)
JOB = Job("5f0c", "emlak", "full", "all", AT, complete=False, reason="2 search pages", verdict="withheld", departures=9)
PRICE: Any = {"price": Decimal("305.50"), "currency": "AZN", "price_basis": "total", "rent_period": "month"}


class Store(SimpleNamespace):
    """A store with a job, its searches and one listing. Two portals have a job `nightly`."""

    def jobs(self, portal: str | None = None, limit: int = 20, *, job: str | None = None) -> list[Job]:
        if job == "nightly":
            return [replace(JOB, job=job, portal=each) for each in ("bina", "emlak")]
        return [JOB] if portal in (None, "emlak") and job in (None, "5f0c") else []

    def orders(self, portal: str | None = None, limit: int = 20) -> list[StoredOrder]:
        return []

    def last_event(self) -> int:
        return 3

    def events(self, after: int, limit: int) -> list[Numbered]:
        return [Numbered(after + 1, Event("emlak", "840001", 1, "listed", AT, "5f0c", {}))]

    def event_counts(self, after: int) -> dict[tuple[str, str], dict[str, int]]:
        return {
            ("emlak", "5f0c"): {"listed": 41, "price_changed": 7, "sold": 2, "delisted": 3, "relisted": 1},
            ("bina", "5f0c"): {"listed": 9},
        }

    def parts(self, job: str, portal: str) -> list[Part]:
        if (job, portal) not in (("5f0c", "emlak"), ("nightly", "emlak")):
            return []
        return [
            Part(portal="emlak", search="flats", parent=None, total=12, is_split=True),
            Part(portal="emlak", search="flats 0-100", parent="flats", total=5),
            Part(portal="emlak", search="flats 100-", parent="flats", total=7),
        ]

    def conclude(self, job: str, portal: str, *, force: bool) -> Conclusion:
        assert (job, portal, force) in (("5f0c", "emlak", True), ("nightly", "emlak", True))
        return Conclusion("applied", 9, 20, 8)

    def history(self, portal: str, ref: str) -> list[Event]:
        return [Event(portal, ref, 1, "listed", AT, "j", {})] if ref == "840001" else []

    def prices(self, portal: str, ref: str) -> list[PriceSeen]:
        return [PriceSeen(portal, ref, 1, AT, "j", "search", **PRICE, suspect=True)]


@pytest.fixture(autouse=True)
def _store(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def opened_store() -> Iterator[Store]:
        yield Store()

    monkeypatch.setattr(connections, "opened_store", opened_store)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_a_job_says_why_it_is_not_complete() -> None:
    result = run("jobs", "list")
    assert result.exit_code == 0
    assert all(word in result.stdout for word in ("5f0c", "no", "9", "withheld", "2 search pages"))
    (job,) = json.loads(run("jobs", "list", "--json").stdout)
    assert (job["job"], job["run"], job["complete"]) == ("5f0c", "5f0c", False)
    assert json.loads(run("jobs", "list", "--portal", "bina", "--json").stdout) == []


def test_a_job_says_what_it_found_and_how_long_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = replace(JOB, concluded_at=AT + timedelta(hours=1, minutes=2, seconds=3))
    monkeypatch.setattr(Store, "jobs", lambda self, portal=None, limit=20, *, job=None: [ended])
    header, line = run("jobs", "list").stdout.splitlines()
    columns = dict(zip(re.split(r"  +", header), re.split(r"  +", line), strict=True))
    assert (columns["started"], columns["ended"], columns["took"]) == ("2026-09-01 12:30", "13:32", "1:02:03")
    assert [columns[name] for name in ("new", "price", "gone", "back")] == ["41", "7", "5", "1"]
    (job,) = json.loads(run("jobs", "list", "--json").stdout)
    assert (job["seconds"], job["events"]["listed"], job["doing"]) == (3723.0, 41, None)


def test_an_unfinished_job_says_what_it_is_doing(
    monkeypatch: pytest.MonkeyPatch, server: Redis, redis_url: str
) -> None:
    unfinished = Job("5f0c", "emlak", "full", "all", AT)
    monkeypatch.setattr(Store, "jobs", lambda self, portal=None, limit=20, *, job=None: [unfinished])
    monkeypatch.setattr("realestate.settings.REDIS_URL", redis_url)
    server.hset(keys.open_jobs("emlak"), "5f0c", '{"mode": "full"}')
    server.sadd(keys.job("emlak", "5f0c"), "a", "b")
    server.hset(keys.counts("emlak", "5f0c"), mapping={"discover:done": 3, "extract:done": 1500, "extract:dead": 1})
    assert "waiting for a worker: 1,503 requests done, 2 left, 1 dead letter" in run("jobs", "list").stdout
    server.hset(keys.heartbeats("emlak"), "host:1:emlak", "{}")
    assert "crawling: 1,503 requests done, 2 left, 1 dead letter" in run("jobs", "list").stdout
    server.hset(keys.open_jobs("emlak"), "5f0c", '{"mode": "full", "checking": true}')
    assert "checking what it did not find: " in run("jobs", "list").stdout
    server.delete(keys.open_jobs("emlak"), keys.job("emlak", "5f0c"))
    assert "not in the queue any more" in run("jobs", "list").stdout
    monkeypatch.setattr("realestate.settings.REDIS_URL", "redis://127.0.0.1:1/0")
    assert "unknown: Redis is not available" in run("jobs", "list").stdout


def test_a_job_is_found_by_the_beginning_of_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("jobs", "parts", "5f").stdout == run("jobs", "parts", "5f0c").stdout != ""
    assert run("jobs", "apply", "5").exit_code == 0
    missing = run("jobs", "parts", "77")
    assert "there is no job with the id '77'" in str(missing.exception)
    two = [JOB, replace(JOB, job="5f99")]
    monkeypatch.setattr(
        Store,
        "jobs",
        lambda self, portal=None, limit=20, *, job=None: [each for each in two if job in (None, each.job)],
    )
    assert "'5f' fits 2 ids of jobs: 5f0c, 5f99; type more of it" in str(run("jobs", "parts", "5f").exception)


def test_the_searches_of_a_job_are_printed_with_their_parts() -> None:
    header, whole, *parts = run("jobs", "parts", "5f0c").stdout.splitlines()
    assert header.split() == ["results", "in", "parts", "search"]
    assert whole.split()[1] == "12", "the sum of the parts beside the results of the whole"
    assert [line.split()[0] for line in parts] == ["5", "7"]
    assert [part["total"] for part in json.loads(run("jobs", "parts", "5f0c", "--json").stdout)] == [12, 5, 7]


def test_applying_a_job_prints_how_many_listings_were_delisted() -> None:
    assert run("jobs", "apply", "5f0c").stdout == "8 listings delisted: the job found 9 gone, of 20 offered\n"
    assert json.loads(run("jobs", "apply", "5f0c", "--json").stdout)["delisted"] == 8


@pytest.mark.parametrize("command", ["parts", "apply"])
def test_a_name_that_two_portals_have_needs_the_portal(command: str) -> None:
    ambiguous = run("jobs", command, "nightly")
    assert isinstance(ambiguous.exception, UsageError)
    assert str(ambiguous.exception) == "bina, emlak each have a job 'nightly': add --portal, such as --portal bina"
    assert run("jobs", command, "nightly", "--portal", "emlak").exit_code == 0


@pytest.mark.parametrize("command", ["parts", "apply"])
def test_an_unknown_job_is_a_wrong_argument(command: str) -> None:
    unknown = run("jobs", command, "no such job")
    assert isinstance(unknown.exception, UsageError)
    assert str(unknown.exception) == "there is no job with the id 'no such job'"


@pytest.mark.parametrize("command", [["list", "--json"], ["parts", "5f0c", "--json"], ["apply", "5f0c", "--json"]])
def test_the_old_command_works_and_names_the_new_one(command: list[str]) -> None:
    old = run("runs", *command)
    new = run("jobs", *command)
    assert (old.exit_code, new.exit_code) == (0, 0)
    assert old.stdout == new.stdout
    assert new.stderr == ""
    (warning,) = old.stderr.splitlines()
    assert "`realestate runs` was renamed to `realestate jobs`" in warning
    assert "0.3" in warning


def test_the_old_command_is_not_in_the_help() -> None:
    listed = run("--help").stdout
    assert "  jobs" in listed
    assert "  runs" not in listed


def test_the_history_of_a_listing_as_json_has_numbers() -> None:
    history = json.loads(run("history", "emlak", "840001", "--json").stdout)
    assert history["prices"][0]["price"] == 305.5
    assert history["events"][0]["type"] == "listed"
