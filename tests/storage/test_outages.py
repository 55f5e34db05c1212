"""PostgreSQL killed, moved, or full of others: nothing that was acknowledged is lost, nothing is there twice."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2
import pytest

from realestate.storage import StoreAway, open_store
from realestate.storage.postgres import PostgresStore
from tests.storage.batches import PORTAL, all_events, batch, card, page
from tests.storage.postgres_process import PostgresProcess, Standby

SIZE = 20


@pytest.fixture
def primary(tmp_path: Path) -> Iterator[PostgresProcess]:
    server = PostgresProcess(tmp_path)
    server.start()
    yield server
    server.stop()


class Worker:
    """Writes batch after batch, pages and then their prices, repeating what was not acknowledged."""

    def __init__(self, url: str) -> None:
        self.store = open_store(url)
        self.acknowledged = 0
        self.away = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        while not self._over.is_set():
            refs = [f"{self.acknowledged:04}-{number}" for number in range(SIZE)]
            pages, cards = batch(*map(page, refs)), batch(*(card(ref, 340000) for ref in refs))
            self._patiently(partial(self.store.write, pages))
            self._patiently(partial(self.store.write, cards))
            self.acknowledged += 1

    def _patiently(self, act: Callable[[], object]) -> None:
        while True:
            try:
                act()
                return
            except StoreAway:
                self.away += 1
                threading.Event().wait(0.05)

    def wait_for(self, more: int) -> None:
        wanted = self.acknowledged + more
        while self.acknowledged < wanted:
            assert self._thread.is_alive()
            threading.Event().wait(0.01)

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self.store.close()


def everything_is_there_once(url: str, batches: int) -> None:
    store = open_store(url)
    assert store.counts() == {PORTAL: (batches * SIZE, 0)}
    told = Counter(each.event.type for each in all_events(store))
    assert told == {"listed": batches * SIZE, "price_changed": batches * SIZE}
    assert {row["price"] for row in store.records(PORTAL)} == {340000}
    store.close()


def test_a_server_killed_while_it_writes_loses_nothing_and_doubles_nothing(primary: PostgresProcess) -> None:
    worker = Worker(primary.address)
    try:
        for _ in range(3):
            worker.wait_for(2)
            primary.kill()
            primary.start()
    finally:
        worker.end()
    assert worker.away
    everything_is_there_once(primary.address, worker.acknowledged)


def test_a_standby_that_is_waited_for_has_all_that_was_acknowledged(primary: PostgresProcess, tmp_path: Path) -> None:
    standby = Standby(tmp_path / "standby", primary)
    standby.start()
    try:
        primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.ask("SELECT pg_reload_conf()")
        worker = Worker(_either(primary, standby))
        try:
            worker.wait_for(5)
            primary.kill()
            standby.ask("SELECT pg_promote()")
            worker.wait_for(5)
        finally:
            worker.end()
        assert worker.away
        everything_is_there_once(standby.address, worker.acknowledged)
    finally:
        standby.stop()


def _either(first: PostgresProcess, second: PostgresProcess) -> str:
    """Two addresses in one: the server that may be written to is taken."""
    parts = urlsplit(first.address)
    netloc = f"{parts.netloc},127.0.0.1:{second.port}"
    return parts._replace(netloc=netloc, query=f"{parts.query}&target_session_attrs=read-write").geturl()


def test_a_server_that_takes_no_more_connections_is_waited_for(store: PostgresStore, store_url: str) -> None:
    with store.connection.cursor() as cursor:
        cursor.execute("CREATE ROLE crowded LOGIN PASSWORD 'crowded' CONNECTION LIMIT 1")
        cursor.execute("GRANT ALL ON SCHEMA public TO crowded; GRANT ALL ON ALL TABLES IN SCHEMA public TO crowded")
    parts = urlsplit(store_url)
    url = parts._replace(netloc=f"crowded:crowded@{parts.hostname}:{parts.port}").geturl()
    other = psycopg2.connect(url)
    crowded = open_store(url)
    with pytest.raises(StoreAway, match="too many connections"):
        crowded.write(batch(page()))
    other.close()
    assert crowded.write(batch(page())).new == 1
    crowded.close()
    with store.connection.cursor() as cursor:
        cursor.execute("DROP OWNED BY crowded; DROP ROLE crowded")


def test_the_lock_of_a_worker_that_stalls_is_taken_from_it(store: PostgresStore, store_url: str) -> None:
    """Were a worker ever to hold it open, PostgreSQL ends the session after the timeout that every worker asks for."""
    with store.connection.cursor() as cursor:
        cursor.execute("SET idle_in_transaction_session_timeout = '100ms'; BEGIN")
        cursor.execute("SELECT pg_advisory_xact_lock(0x7772697465)")
        other = PostgresStore(store_url)
        assert other.write(batch(page())).new == 1
        other.close()
        with pytest.raises(psycopg2.Error):
            cursor.execute("SELECT 1")
    store.close()
