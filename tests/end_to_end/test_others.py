"""Items of other kinds in a whole crawl: the stored values are true, and each change of a day is one event."""

from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.storage import WHOLE, Store
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, Simulate, Simulated, dead_letters, finished, running

NO_CHANGE = {"portal", "ref", "url", "quoted_at"}


def stored(store: Store, name: str) -> dict[str, Any]:
    return {each.ref: each.record for each in store.others(name)}


def true(simulated: Simulated, name: str) -> dict[str, Any]:
    return {each["ref"]: each for each in simulated.truth(name)}


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The record that a perfect crawler would have stored that day, by ref."""
    changed: dict[str, Any] = {}
    for ref, now in after.items():
        was = before.get(ref)
        if was is None:
            changed[ref] = "appeared"
        elif fields := {name: [was[name], now[name]] for name in now.keys() - NO_CHANGE if was[name] != now[name]}:
            changed[ref] = fields
    return changed


@pytest.mark.parametrize("name", ["ecommerce", "finance"])
def test_stored_items_are_true_and_the_events_of_a_day_are_exact(
    name: str,
    simulate_alone: Simulate,
    server: "Redis",
    redis_url: str,
    store: PostgresStore,
    env: dict[str, str],
    tmp_path: Path,
) -> None:
    simulated = simulate_alone(10)
    command = [PYTHON, "-m", "realestate", "work", name]
    variables = {**env, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "0"}

    def crawl(mode: str) -> None:
        submit(server, name, seed_urls(name, simulated.url), mode=mode, scope=WHOLE)
        finished(server, name)

    with running(command, variables, tmp_path / "1.log"), running(command, variables, tmp_path / "2.log"):
        crawl("full")
        first = true(simulated, name)
        assert stored(store, name) == first
        assert len(first) > 100
        seen = store.events(0, 10_000)
        assert {each.event.ref for each in seen} == set(first)
        assert {each.event.type for each in seen} == {"appeared"}
        assert len(seen) == len(first)
        crawl("sweep")
        assert len(store.events(0, 10_000)) == len(seen), "nothing happened"
        simulated.advance()
        crawl("full")
    second = true(simulated, name)
    assert stored(store, name) == second
    wanted = changes(first, second)
    assert {"appeared", dict} <= {each if each == "appeared" else type(each) for each in wanted.values()}
    events = [each.event for each in store.events(seen[-1].seq, 10_000)]
    assert {event.ref: event.data.get("fields", event.type) for event in events} == wanted
    assert len(events) == len(wanted), "each once"
    assert store.counts() == {name: (len(second), 0)}
    assert dead_letters(redis_url, name) == []
    assert all(run.complete for run in store.jobs(name))
