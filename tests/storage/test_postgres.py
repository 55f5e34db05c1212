"""Behaviour that only the PostgreSQL store has."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from importlib.resources import files
from typing import Any

import psycopg2
import pytest

from realestate.items import FIELDS
from realestate.storage import Batch, StoreAway, StoreError, Written, open_store
from realestate.storage.batch import by_listing
from realestate.storage.history import Observed
from realestate.storage.postgres import PostgresStore
from realestate.storage.postgres.merge import Merge
from realestate.storage.postgres.schema import migrate, newest
from realestate.storage.postgres.write import known_of
from realestate.storage.snapshots import SnapshotRef
from tests.examples import a_listing
from tests.storage.batches import PORTAL, all_events, batch, card, gone, later, page, pages, record, types

Ask = Callable[..., list[tuple[Any, ...]]]
#: Too large for an entry of an index.
LONG = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=9000))


# ----- values that PostgreSQL refuses


@pytest.mark.parametrize(
    "bad",
    [
        {"title": "nul \0 inside"},
        {"rooms": 2**40},
        {"price": Decimal(10) ** 15},
        {"extra": {"deep": "\0"}},
        {
            "city": "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=9000))
        },  # too long for an entry of an index
        {"price": "cheap"},
        {"features": frozenset({"a\0"})},
        {"content_hash": "\0"},
        {"ref": "\0"},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_a_row_it_refuses_goes_to_quarantine_and_the_others_are_stored(
    store: PostgresStore, sql: Ask, bad: dict[str, Any]
) -> None:
    refused = a_listing(**{"ref": "bad", **bad})
    assert store.write(batch(page("1"), refused, page("2"))) == Written(new=2, quarantined=1, events={"listed": 2})
    assert sql("SELECT ref FROM listings ORDER BY ref") == [("1",), ("2",)]
    (error,) = (error for (error,) in sql("SELECT errors->>0 FROM quarantine"))
    assert error.startswith("refused by the database: ")


def test_a_change_it_refuses_leaves_the_listing_as_it_was(store: PostgresStore) -> None:
    store.write(batch(page("1"), page("2")))
    written = store.write(batch(page("1", title="nul \0"), page("2", title="New")))
    assert (written.known, written.quarantined, written.events) == (1, 1, {"updated": 1})
    assert types(store, "1") == ["listed"]


def test_quarantine_replaces_what_cannot_be_written(store: PostgresStore, sql: Ask) -> None:
    store.write(batch(a_listing(ref="\0", title="nul \0, half a pair \ud800")))
    assert sql("SELECT ref, record->>'title' FROM quarantine") == [("\ufffd", "nul \ufffd, half a pair ?")]


def test_medians_of_a_large_table_are_taken_from_a_sample(store: PostgresStore, sql: Ask) -> None:
    store.write(batch(*(page(str(ref), price=Decimal(200_000), area_m2=100.0) for ref in range(20))))
    assert len(store.medians()) == 1
    sql("UPDATE pg_class SET reltuples = 1e12 WHERE oid = 'listings'::regclass RETURNING 1")
    assert store.medians() == [], "the sample of so large a table reads none of these rows"


def test_the_index_of_raw_pages_is_written_with_the_batch(store: PostgresStore, sql: Ask) -> None:
    at = datetime(2026, 9, 1, tzinfo=UTC)
    where = {"file": "a.warc.gz", "offset": 7, "length": 99, "digest": "sha1:X"}
    fields = {
        "portal": PORTAL,
        "url": "https://x.example/1",
        "ref": "1",
        "stage": "extract",
        "job": "job",
        "status": 200,
    }
    snapshot = SnapshotRef(**fields, **where, kind="all", fetched_at=at)  # type: ignore[arg-type]
    for _ in range(2):
        store.write(Batch([(page(), "job"), (page("bad", title="\0"), "job")], snapshots=[snapshot]))
    found = sql('SELECT portal, ref, url, stage, job, kind, status, fetched_at, file, "offset", length FROM snapshots')
    assert found == [(PORTAL, "1", fields["url"], "extract", "job", "all", 200, at, "a.warc.gz", 7, 99)]
    store.write(Batch(snapshots=[replace(snapshot, offset=200, ref=None, job=None)]))
    assert sql("SELECT count(*) FROM snapshots") == [(2,)]


# ----- the schema


def test_the_table_has_a_column_for_every_field(store: PostgresStore, sql: Ask) -> None:
    columns = {name for (name,) in sql("SELECT attname FROM pg_attribute WHERE attrelid = 'listings'::regclass")}
    assert columns >= {*FIELDS, "revision", "last_job", "suspect_price", "suspect_job"}


def test_a_sighting_updates_no_index(store: PostgresStore, sql: Ask) -> None:
    many = batch(*pages(200))
    store.write(many)
    sql("VACUUM listings")
    for _ in range(3):
        store.write(many)
    with store.connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'listings'")
        updates, hot = cursor.fetchone()
    assert updates == 600
    assert hot > 550, "every version of a row fits on its page"


def test_a_small_table_is_not_scanned(store: PostgresStore) -> None:
    def whole_reads() -> int:
        with store.connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")
            cursor.execute("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'listings'")
            return int(cursor.fetchone()[0])

    before = whole_reads()
    for _ in range(2):
        store.write(batch(*pages(200)))
    assert whole_reads() == before


def test_each_listing_of_a_batch_is_counted_by_its_outcome(store: PostgresStore) -> None:
    store.write(batch(*(page(ref) for ref in "12345")))
    store.write(batch(page("5", rooms=7)))
    seen: list[Observed] = [page("0"), page("5", rooms=7), page("2", rooms=9), card("3"), gone("4"), page("1")]
    known = known_of(store.connection, by_listing(batch(*seen)))
    assert known.unchanged == {(PORTAL, "5"): 2, (PORTAL, "3"): 1, (PORTAL, "1"): 1}
    assert {key: (state.listing.ref, state.revision) for key, state in known.states.items()} == {
        (PORTAL, "2"): ("2", 1),
        (PORTAL, "4"): ("4", 1),
    }


@pytest.mark.empty_database
def test_migrations_run_once_although_several_processes_start_them(store_url: str, sql: Ask) -> None:
    together = threading.Barrier(6)
    versions = []

    def start() -> None:
        connection = psycopg2.connect(store_url)
        together.wait()
        versions.append(migrate(connection))
        connection.close()

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert versions == [newest()] * 6
    assert sql("SELECT version FROM schema_version ORDER BY 1") == [(number,) for number in range(1, newest() + 1)]


@pytest.fixture
def first_version(sql: Ask) -> Callable[[str], None]:
    """A database of the first version, and how its workers write."""
    step = files("realestate.storage.migrations") / "0001_listings.sql"
    sql("CREATE TABLE schema_version (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())")
    sql(step.read_text("utf-8"))
    sql("INSERT INTO schema_version (version) VALUES (1)")
    upsert = (
        "INSERT INTO listings (portal, ref, url, country, price, currency, price_basis, content_hash)"
        " VALUES (%s, %s, 'https://x.example/', 'BE', 1000.50, 'EUR', 'total', 'x')"
        " ON CONFLICT (portal, ref) DO UPDATE SET last_seen_at = now()"
    )

    def write(ref: str) -> None:
        sql(upsert, PORTAL, ref)

    return write


@pytest.mark.empty_database
def test_a_listing_from_before_histories_gets_a_history(
    store_url: str, first_version: Callable[[str], None], sql: Ask
) -> None:
    first_version("1")
    first_version("2")
    store = PostgresStore(store_url)
    store.migrate()
    ((first,),) = sql("SELECT first_seen_at FROM listings WHERE ref = '1'")
    (event,) = store.history(PORTAL, "1")
    assert (event.type, event.at, event.revision, event.job) == ("listed", first, 1, "")
    assert event.data == {
        "price": 1000.5,
        "currency": "EUR",
        "price_basis": "total",
        "rent_period": None,
        "status": "active",
    }
    (price,) = store.prices(PORTAL, "1")
    assert (price.price, price.at, price.source) == (Decimal("1000.50"), first, "listing")
    assert store.write(batch(card("1", 900))).events == {"price_changed": 1}
    assert [event.revision for event in store.history(PORTAL, "1")] == [1, 2]
    store.close()


@pytest.mark.empty_database
def test_a_listing_stored_by_an_older_worker_gets_its_history_when_it_is_seen(
    store_url: str, first_version: Callable[[str], None]
) -> None:
    store = PostgresStore(store_url)
    store.migrate()
    first_version("late")
    assert types(store, "late") == []
    assert store.write(batch(card("late", 1000.50))).events == {"listed": 1}
    assert types(store, "late") == ["listed"]
    store.close()


@pytest.mark.empty_database
def test_a_migration_while_older_and_newer_workers_write_loses_nothing(
    store_url: str, first_version: Callable[[str], None], sql: Ask
) -> None:
    for number in range(500):
        first_version(f"before {number}")
    over = threading.Event()

    def older(worker: int) -> int:
        """Write as the first version does, on another connection."""
        connection = psycopg2.connect(store_url)
        written = 0
        with connection.cursor() as cursor:
            while not over.is_set() or written < 20:
                cursor.execute(
                    "INSERT INTO listings (portal, ref, url, country) VALUES (%s, %s, 'https://x.example/', 'BE')",
                    (PORTAL, f"older {worker} {written}"),
                )
                connection.commit()
                written += 1
        connection.close()
        return written

    def newer(worker: int) -> int:
        store = PostgresStore(store_url)
        for turn in range(5):
            store.write(batch(*(page(f"newer {worker} {turn} {number}") for number in range(50))))
        store.close()
        return 250

    with ThreadPoolExecutor(5) as threads:
        old = [threads.submit(older, worker) for worker in range(2)]
        new = [threads.submit(newer, worker) for worker in range(3)]
        count = sum(each.result() for each in new)
        over.set()
        count += sum(each.result() for each in old)
    assert sql("SELECT count(*), count(DISTINCT ref) FROM listings") == [(500 + count, 500 + count)]
    assert sql("SELECT count(*) FROM events WHERE starts_with(ref, 'newer') AND type = 'listed'") == [(750,)]
    assert sql("SELECT count(*) FROM listings WHERE revision > 0 AND ref NOT IN (SELECT ref FROM events)") == [(0,)]


@pytest.mark.empty_database
def test_reading_does_not_migrate(store_url: str, sql: Ask) -> None:
    store = open_store(store_url)
    assert store.counts() == {}
    assert sql("SELECT to_regclass('listings')") == [(None,)]
    store.write(batch(page()))
    assert store.counts() == {PORTAL: (1, 0)}
    store.close()


def test_a_listing_that_was_deleted_without_its_history_may_come_back(store: PostgresStore, sql: Ask) -> None:
    store.write(batch(page("1"), page("2")))
    sql("DELETE FROM listings WHERE ref = '1'")
    assert store.write(batch(page("1"), page("3"))) == Written(new=2, events={"listed": 1})
    assert store.counts() == {PORTAL: (3, 0)}
    assert store.write(batch(page("1", price=Decimal(340000)))).events == {"price_changed": 1}


# ----- between reading and writing


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Call a function after the next batch is read and before it is written."""

    def arrange(act: Callable[[], object]) -> None:
        waiting = [act]

        def then(*arguments: Any) -> Any:
            known = known_of(*arguments)
            if waiting:
                waiting.pop()()
            return known

        monkeypatch.setattr("realestate.storage.postgres.write.known_of", then)

    return arrange


Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def other(store_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(store_url)
    yield store
    store.close()


def test_a_listing_delisted_between_read_and_write_is_relisted(
    store: PostgresStore, other: PostgresStore, meanwhile: Meanwhile
) -> None:
    store.write(batch(*pages(10)))
    later()
    store.begin_job("a", PORTAL, "full", "all")
    store.write(batch(gone("1"), job="a"))
    later()
    meanwhile(lambda: other.conclude("a", PORTAL))
    assert store.write(batch(page("1"))).events == {"relisted": 1}
    assert types(store) == ["listed", "delisted", "relisted"]


def test_a_listing_changed_between_read_and_write_is_compared_again(
    store: PostgresStore, other: PostgresStore, meanwhile: Meanwhile
) -> None:
    store.write(batch(page()))
    meanwhile(lambda: other.write(batch(card(price=340000))))
    assert store.write(batch(page(price=Decimal(330000)))).events == {"price_changed": 1}
    assert [event.data.get("old") for event in store.history(PORTAL, "1")] == [None, 350000, 340000]


def test_a_listing_added_between_read_and_write_is_compared(
    store: PostgresStore, other: PostgresStore, meanwhile: Meanwhile
) -> None:
    meanwhile(lambda: other.write(batch(page("1"), page("2"))))
    written = store.write(batch(page("1", price=Decimal(340000)), page("2"), page("3")))
    assert written == Written(new=1, known=2, events={"listed": 1, "price_changed": 1})


# ----- away, slow, elsewhere


def test_the_store_reconnects_after_an_outage(store: PostgresStore, sql: Ask) -> None:
    store.write(batch(page("1")))
    _end_sessions(sql)
    with pytest.raises(StoreAway):
        store.write(batch(page("2")))
    assert store.write(batch(page("2"))).new == 1


def test_a_batch_whose_reply_was_lost_is_written_once(store: PostgresStore, store_url: str, sql: Ask) -> None:
    """Connections are cut at any time, also between a commit and its reply. The batch is repeated."""
    batches = [batch(*(page(f"{turn}-{number}") for number in range(30))) for turn in range(15)]
    batches += [batch(*(card(f"{turn}-{number}", 340000) for number in range(30))) for turn in range(15)]
    cut = 0
    over = threading.Event()

    def cutter() -> None:
        while not over.wait(0.005):
            _end_sessions(sql)

    thread = threading.Thread(target=cutter)
    thread.start()
    try:
        for each in batches:
            while True:
                try:
                    store.write(each)
                    break
                except StoreAway:
                    cut += 1
                    if cut == 200:  # the machine is so slow that no batch was written
                        over.set()
    finally:
        over.set()
        thread.join()
    assert cut
    assert sql("SELECT type, count(*)::int FROM events GROUP BY 1 ORDER BY 1") == [
        ("listed", 450),
        ("price_changed", 450),
    ]
    assert sql("SELECT count(*)::int, count(DISTINCT (ref, revision))::int FROM prices") == [(900, 900)]


def _end_sessions(sql: Ask) -> None:
    sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )


def test_a_read_only_server_is_waited_for(store: PostgresStore, sql: Ask) -> None:
    """After a failover, a connection may lead to the old primary."""
    ((database,),) = sql("SELECT current_database()")
    sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    store.close()
    with pytest.raises(StoreAway, match="read-only"):
        store.write(batch(page()))
    sql(f"ALTER DATABASE {database} RESET default_transaction_read_only")
    assert store.write(batch(page())).new == 1


def test_no_transaction_is_open_between_two_calls(store: PostgresStore, sql: Ask) -> None:
    """A worker that stalls between two calls blocks no other worker."""
    store.write(batch(*pages(3)))
    reading = store.records(PORTAL)
    next(reading)
    states = sql("SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
    assert states == [("idle",)]
    with store.connection.cursor() as cursor:
        for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
            cursor.execute(f"SHOW {name}")
            assert cursor.fetchone()[0] not in ("0", "")


def test_a_worker_that_stalls_in_a_transaction_loses_its_lock(store: PostgresStore, store_url: str) -> None:
    """If a worker holds a transaction open, PostgreSQL ends its session after the timeout that every worker sets."""
    with store.connection.cursor() as cursor:
        cursor.execute("SET idle_in_transaction_session_timeout = '100ms'; BEGIN")
        cursor.execute("SELECT pg_advisory_xact_lock(0x7772697465)")
        other = PostgresStore(store_url)
        assert other.write(batch(page())).new == 1
        other.close()
        with pytest.raises(psycopg2.Error):
            cursor.execute("SELECT 1")
    store.close()


def test_an_unreachable_database_is_one_line_of_error() -> None:
    store = open_store("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(StoreAway) as caught:
        store.counts()
    assert "\n" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize("url", [None, "", "mysql://x/y", "listings.db"])
def test_an_address_of_an_unknown_kind_of_store_is_refused(url: str | None) -> None:
    with pytest.raises(StoreError, match="STORE_URL"):
        open_store(url)


def test_an_error_does_not_contain_the_password() -> None:
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://me:p#ss/w@rd@host:x/db").counts()
    assert "ss/w" not in str(caught.value)


# ----- an interrupted conclusion


def test_an_interrupted_conclusion_continues(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is not checked again: half of the listings are delisted already."""
    store.write(batch(*pages(20)))
    later()
    store.begin_job("a", PORTAL, "full", "all")
    store.write(batch(*(gone(str(number)) for number in range(4)), job="a"))
    later()
    monkeypatch.setattr("realestate.storage.postgres.jobs._TOGETHER", 1)
    merge, merged = Merge.into, 0

    def dies(self: Merge, connection: Any) -> Any:
        nonlocal merged
        merged += 1
        if merged == 3:
            raise StoreAway("killed")
        return merge(self, connection)

    monkeypatch.setattr(Merge, "into", dies)
    with pytest.raises(StoreAway):
        store.conclude("a", PORTAL)
    assert [job.verdict for job in store.jobs()] == ["applied"]
    assert [job.concluded_at for job in store.jobs()] == [None]
    store.write(Batch([(gone(str(number)), "a") for number in range(4, 20)]))
    conclusion = store.conclude("a", PORTAL)
    assert (conclusion.verdict, conclusion.found, conclusion.offered, conclusion.delisted) == ("applied", 4, 20, 4)
    assert sum(each.event.type == "delisted" for each in all_events(store)) == 4
    assert record(store, "5")["status"] == "active"
