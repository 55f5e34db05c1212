"""PostgreSQL is killed at any time, silent or failed over: what it acknowledged is stored once."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg2
import pytest

from realestate.embedded import poll
from realestate.embedded.server import free_port
from realestate.storage import StoreAway, StoreError
from realestate.storage.postgres import PostgresStore, schema
from realestate.storage.postgres import connection as connection_module
from tests.postgres_process import Pair, PostgresProcess
from tests.relay import Line
from tests.storage.batches import all_events, batch, card, page

KILLS = 6
PATIENCE = 60.0


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[PostgresProcess]:
    process = PostgresProcess(tmp_path)
    process.start()
    yield process
    process.stop()


class Writer(threading.Thread):
    """Write batch after batch, each until it is acknowledged. The price of every listing falls once."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(daemon=True)
        self.store = PostgresStore(url)
        self.label = name
        self.acknowledged: list[str] = []
        self.failures = 0
        self.enough = threading.Event()

    def run(self) -> None:
        turn = 0
        while not self.enough.is_set():
            refs = [f"{self.label}-{turn}-{number}" for number in range(20)]
            self._write(*map(page, refs))
            self._write(*(card(ref, 340_000) for ref in refs))
            self.acknowledged += refs
            turn += 1
        self.store.close()

    def _write(self, *observed: object) -> None:
        while True:
            try:
                self.store.write(batch(*observed))  # type: ignore[arg-type]
                return
            except StoreAway:
                self.failures += 1
                time.sleep(0.01)


@contextmanager
def writing(url: str) -> Iterator[list[Writer]]:
    """Three writers at once. Everything that they were asked to write is stored once, and nothing else."""
    store = PostgresStore(url)
    store.migrate()
    writers = [Writer(str(number), url) for number in range(3)]
    for writer in writers:
        writer.start()
    try:
        yield writers
    finally:
        for writer in writers:
            writer.enough.set()
    for writer in writers:
        writer.join(PATIENCE)
        assert writer.failures
    store.close()
    refs = sorted(ref for writer in writers for ref in writer.acknowledged)
    assert [record["ref"] for record in store.records("immoweb")] == refs
    events = sorted((numbered.event.ref, numbered.event.type) for numbered in all_events(store))
    assert events == sorted((ref, type) for ref in refs for type in ("listed", "price_changed"))
    store.close()


def any_has_gone_on(writers: list[Writer], since: list[int]) -> bool:
    return any(len(writer.acknowledged) > count for writer, count in zip(writers, since, strict=True))


def test_a_server_killed_at_any_time_has_what_it_acknowledged_and_nothing_twice(postgres: PostgresProcess) -> None:
    with writing(postgres.address) as writers:
        for _ in range(KILLS):
            before = [len(writer.acknowledged) for writer in writers]
            assert poll.until(partial(any_has_gone_on, writers, before), PATIENCE)
            time.sleep(random.uniform(0, 0.2))
            postgres.kill()
            postgres.start()


def test_nothing_is_acknowledged_that_a_synchronous_standby_does_not_have(tmp_path: Path) -> None:
    with Pair.running(tmp_path) as pair, writing(pair.address) as writers:
        assert poll.until(lambda: all(writer.acknowledged for writer in writers), PATIENCE)
        pair.line.hold()
        assert poll.until(lambda: bool(pair.primary.ask(WAITING_FOR_STANDBY)), PATIENCE)
        before = [len(writer.acknowledged) for writer in writers]
        time.sleep(0.5)
        assert [len(writer.acknowledged) for writer in writers] == before
        pair.line.release()
        assert poll.until(partial(any_has_gone_on, writers, before), PATIENCE)

        pair.primary.kill()
        pair.standby.promote()
        before = [len(writer.acknowledged) for writer in writers]
        assert poll.until(partial(any_has_gone_on, writers, before), PATIENCE)


WAITING_FOR_STANDBY = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def test_a_connection_to_a_silent_server_is_closed(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is open, but no data comes: as with a proxy whose server hangs."""
    monkeypatch.setattr(connection_module, "LONGEST_SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(connection_module, "LOOK_SECONDS", 0.02)
    with Line(store_url) as line:
        store = PostgresStore(line.url)
        store.migrate()
        line.hold()
        with pytest.raises(StoreAway):
            store.write(batch(page()))
        line.release()
        monkeypatch.setattr(connection_module, "LONGEST_SILENCE_SECONDS", 60)
        assert store.write(batch(page())).new == 1
        store.close()


def test_an_idle_connection_is_not_closed(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "LONGEST_SILENCE_SECONDS", 5.0)
    monkeypatch.setattr(connection_module, "LOOK_SECONDS", 0.01)
    store = PostgresStore(store_url)
    store.migrate()
    monkeypatch.setattr(connection_module, "monotonic", lambda: time.monotonic() + 60)
    time.sleep(0.1)
    assert store.write(batch(page())).new == 1
    store.close()


def test_the_address_may_name_several_hosts(store_url: str) -> None:
    nobody = f"127.0.0.1:{free_port()},127.0.0.1:"
    store = PostgresStore(store_url.replace("127.0.0.1:", nobody) + "&target_session_attrs=read-write")
    assert store.write(batch(page())).new == 1
    store.close()


@pytest.mark.parametrize("address", ["me:secret@host:1,other:x/db", "me:secret/1@host:5432/db"])
def test_an_error_about_an_invalid_address_does_not_contain_it(address: str) -> None:
    with pytest.raises(StoreError) as caught:
        PostgresStore(f"postgresql://{address}").counts()
    assert "secret" not in str(caught.value)
    assert not isinstance(caught.value, StoreAway)


@pytest.mark.empty_database
def test_a_migration_may_last_longer_than_a_statement(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_steps", lambda: [(1, "SELECT pg_sleep(0.3)")])
    connection = psycopg2.connect(store_url, options="-c statement_timeout=100")
    assert schema.migrate(connection) == 1
    with connection.cursor() as cursor, pytest.raises(psycopg2.errors.QueryCanceled):
        cursor.execute("SELECT pg_sleep(60)")
    connection.close()
