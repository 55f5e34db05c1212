"""The session of a data scientist: follow a portal for some days, ask what changed, query the database."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from tests.end_to_end.conftest import Simulate
from tests.end_to_end.test_command import run

DAYS = 2


def query(env: dict[str, str], sql: str) -> list[dict[str, str]]:
    done = run(env, "db", "--", "--csv", "--command", sql)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def events(env: dict[str, str], *options: str) -> list[dict[str, Any]]:
    done = run(env, "events", "--portal", "immoweb", "--limit", "10000", "--json", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_change_of_some_days_is_in_the_events_and_in_the_views(
    busy_laptop: dict[str, str], simulate_alone: Simulate, home: Path
) -> None:
    simulated = simulate_alone(60)
    env = {**busy_laptop, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "0"}
    first = run(env, "crawl", "immoweb")
    assert first.returncode == 0, first.stderr
    assert "on the market" in first.stdout
    for _ in range(DAYS):
        simulated.advance()
        swept = run(env, "crawl", "immoweb", "--mode", "sweep")
        assert swept.returncode == 0, swept.stderr

    true = [each for each in simulated.events("immoweb") if each["type"] == "price_changed"]
    assert true, "the world must change"
    recorded = events(env, "--type", "price_changed")
    assert sorted(each["ref"] for each in recorded) == sorted(each["ref"] for each in true)
    shown = run(env, "events", "--portal", "immoweb", "--type", "price_changed", "--since", "2000-01-01")
    assert len(shown.stdout.splitlines()) >= len(true)
    assert str(recorded[0]["at"])[:4] in shown.stdout, "the year is printed"

    changes = query(env, "SELECT ref FROM price_changes WHERE portal = 'immoweb'")
    of_price = ("price_changed", "price_meaning_changed")
    expected = sorted(each["ref"] for each in simulated.events("immoweb") if each["type"] in of_price)
    assert sorted(each["ref"] for each in changes) == expected
    for each in events(env, "--type", "updated"):
        for old, new in each["data"]["fields"].values():
            assert old != new
    current = query(env, "SELECT ref, price FROM current_listings WHERE portal = 'immoweb'")
    # A price that moved by more than 60 % is believed when a second job has seen it.
    suspects = query(env, "SELECT ref FROM listings WHERE suspect_job IS NOT NULL")
    believed = {row["ref"] for row in current} - {row["ref"] for row in suspects}
    true_prices = {row["ref"]: float(row["price"] or 0) for row in simulated.truth("immoweb")}
    stored_prices = {row["ref"]: float(row["price"] or 0) for row in current}
    compared = believed & true_prices.keys()
    assert len(compared) > 30
    assert {ref: stored_prices[ref] for ref in compared} == {ref: true_prices[ref] for ref in compared}
    times = query(env, "SELECT count(*) AS listings FROM time_on_market WHERE portal = 'immoweb'")
    assert int(times[0]["listings"]) >= len(current)
    comments = query(env, "SELECT obj_description('current_listings'::regclass) AS about")
    assert comments[0]["about"]


def test_a_question_without_an_answer_says_so(laptop: dict[str, str]) -> None:
    done = run(laptop, "events", "--type", "price_changed")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == ["no event matches"]
