"""`realestate jobs`, and `realestate runs`, its old name."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from realestate.cli import app, connections
from realestate.cli.errors import UsageError
from realestate.items import Part
from realestate.storage.history import Event, PriceSeen
from realestate.storage.store import Conclusion, Job

AT = datetime(2026, 9, 1, 12, 30, tzinfo=UTC)
JOB = Job("5f0c", "emlak", "full", "all", AT, complete=False, reason="2 search pages", verdict="withheld", departures=9)
PRICE: Any = {"price": Decimal("305.50"), "currency": "AZN", "price_basis": "total", "rent_period": "month"}


class Store(SimpleNamespace):
    """A store with a job, its searches and one listing. Two portals have a job `nightly`."""

    def jobs(self, portal: str | None = None, limit: int = 20, *, job: str | None = None) -> list[Job]:
        if job == "nightly":
            return [replace(JOB, job=job, portal=each) for each in ("bina", "emlak")]
        return [JOB] if portal in (None, "emlak") and job in (None, "5f0c") else []

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


def test_the_searches_of_a_job_are_printed_with_their_parts() -> None:
    lines = run("jobs", "parts", "5f0c").stdout.splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["12", "5", "7"], (
        "the sum of the parts beside the results of the whole"
    )
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
    assert str(unknown.exception) == "there is no job 'no such job'; `realestate jobs list` shows the jobs"


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
