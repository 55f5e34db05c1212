"""Maintenance in PostgreSQL, checked in its own tables."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from realestate.storage.backup import backup, restore
from realestate.storage.maintenance import Finding
from realestate.storage.postgres import PostgresStore
from realestate.storage.postgres.maintenance import Index, Limits, judged_age, judged_indexes, judged_transactions
from tests.storage.batches import batch, page, pages
from tests.storage.test_backup import full  # noqa: F401

Sql = Callable[..., list[tuple[Any, ...]]]
TABLES = (
    "listings",
    "events",
    "prices",
    "jobs",
    "parts",
    "departures",
    "watermarks",
    "quarantine",
    "snapshots",
    "erased",
    "others",
)
MB = 1024 * 1024


@pytest.fixture
def any_store(store: PostgresStore) -> PostgresStore:
    return store


def rows(url: str) -> dict[str, list[tuple[Any, ...]]]:
    connection = psycopg2.connect(url)
    found = {}
    with connection, connection.cursor() as cursor:
        for table in (*TABLES, "contacts"):
            cursor.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3")
            found[table] = cursor.fetchall()
        cursor.execute("SELECT last_value, is_called FROM events_seq_seq")
        found["numbers"] = cursor.fetchall()
    connection.close()
    return found


def test_every_row_of_every_table_comes_back(
    full: PostgresStore,  # noqa: F811
    store_url: str,
    second_store_url: str,
    sql: Sql,
    tmp_path: Path,
) -> None:
    sql("INSERT INTO contacts VALUES ('x', '1', '\\x00ff', ARRAY['a', 'b'], now())")
    backup(full, tmp_path / "file", datetime.now(UTC))
    other = PostgresStore(second_store_url)
    restore(other, tmp_path / "file")
    other.close()
    before = rows(store_url)
    assert all(before[table] for table in TABLES)
    assert rows(second_store_url) == before


def test_every_table_is_in_a_backup(store: PostgresStore, sql: Sql) -> None:
    """For a new table, decide whether it is in a backup."""
    there = {name for (name,) in sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    made_again = {
        "homes",
        "home_listings",
        "home_links",
        "home_states",
        "home_runs",
        "market_weekly",
        "summaries",
        "tallies",
    }
    not_kept = {"schema_version", "validators", "cards", "home_pins", "notifications", "occurrences", "states"}
    not_kept |= {"photo_hashes"}  # of photos that can be fetched again
    not_kept |= {"searches", "cursors"}  # addresses of subscribers are secrets: docs/searches.md
    assert there == {*TABLES, "contacts", "job_orders", *made_again, *not_kept}


# ----- upkeep


def findings(store: PostgresStore) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in store.upkeep():
        found.setdefault(finding.what, []).append(finding)
    return found


def test_tables_are_analysed(store: PostgresStore, sql: Sql) -> None:
    store.write(batch(*pages(20)))
    assert findings(store)["statistics"][0].weight == "repaired"
    assert sql("SELECT reltuples FROM pg_class WHERE relname = 'listings'") == [(20,)]


def test_an_invalid_index_is_built_again_and_a_leftover_dropped(store: PostgresStore, sql: Sql) -> None:
    """An interrupted REINDEX CONCURRENTLY leaves such indexes."""
    sql("CREATE INDEX summaries_city_ccnew ON summaries (city)")
    sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text = ANY (%s)",
        ["summaries_city", "summaries_city_ccnew"])  # fmt: skip
    repaired = findings(store)["index"]
    assert [(finding.found.partition(":")[0], finding.weight) for finding in repaired] == [
        ("summaries_city", "repaired"),
        ("summaries_city_ccnew", "repaired"),
    ]
    assert sql("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == [(0,)]
    assert sql("SELECT to_regclass('summaries_city') IS NULL, to_regclass('summaries_city_ccnew') IS NULL") == [
        (False, True)
    ]
    assert "index" not in findings(store)


def test_upkeep_restores_the_statement_timeout(store: PostgresStore) -> None:
    def timeout() -> str:
        with store.connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return str(cursor.fetchone()[0])

    before = timeout()
    list(store.upkeep())
    assert timeout() == before != "0"
    next(store.upkeep())  # the caller stops after the first finding
    assert timeout() == before


def test_dead_rows_that_autovacuum_left_are_cleaned(store: PostgresStore, sql: Sql) -> None:
    sql("ALTER TABLE listings SET (autovacuum_enabled = false)")
    store.write(batch(*pages(200)))
    for _ in range(3):
        sql("UPDATE listings SET url = url || '.', title = title || '.', city = city || '.'")
    sql("SELECT pg_stat_force_next_flush()")
    sql("SELECT pg_stat_clear_snapshot()")
    found = findings(store)["dead rows"]
    assert {finding.weight for finding in found} == {"repaired"}
    names = {finding.found.partition(":")[0] for finding in found}
    assert "listings" in names
    assert names <= {"listings", "summaries", "tallies"}, "the triggers leave dead rows too, until autovacuum comes"
    assert "dead rows" not in findings(store)


@pytest.fixture
def old_transaction(store_url: str) -> Iterator[None]:
    connection = psycopg2.connect(store_url, application_name="forgotten")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    yield
    connection.close()


def test_an_old_transaction_is_a_fault(store: PostgresStore, old_transaction: None) -> None:
    assert findings(store)["transactions"][0].weight == "fine"
    store.limits = Limits(transaction=timedelta())
    (finding,) = findings(store)["transactions"]
    assert finding.weight == "fault"
    assert finding.found.startswith("forgotten has had one open for ")
    assert "pg_terminate_backend(" in finding.remedy


def test_sizes_and_partitions_are_shown(store: PostgresStore) -> None:
    store.write(batch(page()))
    found = findings(store)
    assert "listings " in found["sizes"][0].found
    assert found["partitions"][0].found == "0 tables are partitioned"


def an_index(**changes: Any) -> Index:
    values: dict[str, Any] = {"name": "i", "bytes": 40 * MB, "valid": True, "building": False, "used": True}
    return Index(**{**values, "is_tree": True, "entries": 1_000_000.0, "width": 16.0, **changes})


@pytest.mark.parametrize(
    ("index", "advice"),
    [
        (an_index(), None),
        (an_index(bytes=90 * MB), "REINDEX INDEX CONCURRENTLY i"),
        (an_index(bytes=90 * MB, is_tree=False), None),
        (an_index(bytes=9 * MB, entries=1.0), None),  # too small to be worth a repair
        (an_index(used=False), "if no standby needs it: DROP INDEX CONCURRENTLY i"),
        (an_index(used=False, bytes=9 * MB), None),
    ],
)
def test_large_indexes_are_judged(index: Index, advice: str | None) -> None:
    (finding,) = judged_indexes([index], timedelta(days=31), Limits())
    assert (finding.remedy or None, finding.weight) == (advice, "advice" if advice else "fine")


def test_an_index_is_not_called_unused_after_a_day() -> None:
    (finding,) = judged_indexes([an_index(used=False)], timedelta(days=1), Limits())
    assert finding.weight == "fine"


def test_the_estimate_of_an_index_is_near_the_truth(store: PostgresStore, sql: Sql) -> None:
    sql("CREATE TABLE much (a text, b integer)")
    sql("INSERT INTO much SELECT md5(n::text), n FROM generate_series(1, 50000) AS n")
    sql("CREATE INDEX much_a ON much (a)")
    sql("CREATE INDEX much_b ON much (b)")
    store.limits = Limits(smallest_bytes=0, bloat=1.3)
    assert not [finding for finding in findings(store).get("index", []) if "much" in finding.found]
    sql("DELETE FROM much WHERE mod(b, 5) > 0")
    assert len([finding for finding in findings(store)["index"] if "much" in finding.found]) == 2


def test_running_out_of_transaction_numbers_is_a_fault() -> None:
    assert judged_age(150_000_000, Limits()).weight == "fine"
    finding = judged_age(1_200_000_000, Limits())
    assert (finding.weight, "60%" in finding.found) == ("fault", True)
    assert judged_transactions([], Limits()).weight == "fine"
