"""Events are counted by job and type, and the server is asked for its time."""

import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from realestate.storage import Store
from realestate.storage.event_counts import counts_of, last_before
from realestate.storage.history import Event
from realestate.storage.store import Numbered
from tests.storage.batches import PORTAL, batch, page, pages


def test_events_are_counted_by_job_and_type(any_store: Store) -> None:
    assert (any_store.last_event(), any_store.event_counts()) == (0, {})
    any_store.begin_job("first", PORTAL, "full", "all")
    any_store.write(batch(*pages(5), job="first"))
    last = any_store.last_event()
    assert last == 5
    any_store.begin_job("second", PORTAL, "full", "all")
    any_store.write(batch(page("1", price=199_000), page("7"), job="second"))
    first, second = (PORTAL, "first"), (PORTAL, "second")
    assert any_store.event_counts() == {first: {"listed": 5}, second: {"price_changed": 1, "listed": 1}}
    assert any_store.event_counts(last) == {second: {"price_changed": 1, "listed": 1}}
    assert any_store.event_counts(3) == {first: {"listed": 2}, second: {"price_changed": 1, "listed": 1}}
    jobs = any_store.jobs()
    assert counts_of(any_store, jobs) == any_store.event_counts()
    assert counts_of(any_store, [job for job in jobs if job.job == "second"]) == {
        second: {"price_changed": 1, "listed": 1}
    }


def test_counting_starts_shortly_before_the_first_job_and_reads_little() -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    asked = []

    def events(after: int, limit: int) -> list[Numbered]:
        asked.append(after)
        at = began + timedelta(seconds=after + 1)
        return [Numbered(after + 1, Event(PORTAL, "1", 1, "listed", at, "job", {}))]

    store: Any = SimpleNamespace(last_event=lambda: 10_000_000, events=events)
    found = last_before(store, began + timedelta(seconds=5_000_000))
    assert 5_000_000 - 601 <= found < 5_000_000 - 590
    assert len(asked) < 30


def test_the_server_says_its_time_and_postgres_its_free_connections(any_store: Store) -> None:
    state = any_store.server_state()
    assert abs(state.now.timestamp() - time.time()) < 60
    assert state.free_connections is None or 0 < state.free_connections < 1000
