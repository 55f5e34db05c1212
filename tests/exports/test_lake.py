"""The lake has what the store has, each row once, whatever happens to the sync."""

import random
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.transforms import IdentityTransform, MonthTransform

from realestate.exports import ExportError, WrongExport, lake
from realestate.exports.lake import Lake, sync
from realestate.storage import FullStore
from realestate.storage.export import TABLES
from realestate.storage.lake import LAKE_TABLE_NAMES, LakeTableName
from realestate.storage.postgres import PostgresStore
from tests.exports.conftest import written
from tests.exports.stored import plain, stored_rows
from tests.storage.batches import card, later, page, pages


def rows(tables: Lake, name: LakeTableName) -> list[dict[str, Any]]:
    found: pa.Table = tables.table(name).scan().to_arrow()
    return [{column: plain(value) for column, value in row.items()} for row in found.to_pylist()]


def compare(store: FullStore, tables: Lake) -> None:
    """Demand that the lake has every event and price of the store once, and the present version of each listing."""
    events = rows(tables, "events")
    assert sorted(row["seq"] for row in events) == [row["seq"] for row in stored_rows(store, "events")]
    keys = ("portal", "ref", "revision", "price", "source", "suspect")
    prices = sorted(tuple(map(str, (row[key] for key in keys))) for row in rows(tables, "prices"))
    assert prices == sorted(tuple(map(str, (row[key] for key in keys))) for row in stored_rows(store, "prices"))
    versions = rows(tables, "versions")
    identities = [(row["portal"], row["ref"], row["seq"]) for row in versions]
    assert len(set(identities)) == len(identities)
    newest = {(row["portal"], row["ref"]): row for row in sorted(versions, key=lambda row: float(row["seq"]))}
    compared = [name for name in TABLES["listings"].names if name not in ("extra", "last_seen_at", "last_fetched_at")]
    stored = {(row["portal"], row["ref"]): row for row in stored_rows(store, "listings")}
    assert {key: [row[name] for name in compared] for key, row in newest.items()} == {
        key: [row[name] for name in compared] for key, row in stored.items()
    }


def test_a_lake_follows_the_store(filled_store: FullStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the events of one revision are read in two spans."""
    monkeypatch.setattr(lake, "EVENTS_AT_ONCE", 4)
    tables = Lake(str(tmp_path / "lake"))
    first = sync(filled_store, tables)
    compare(filled_store, tables)
    assert [each.last_event for each in first] == [filled_store.last_event()] * 3
    assert [each.rows for each in sync(filled_store, tables)] == [0, 0, 0]

    written(filled_store, page("100", title="changed", price=Decimal(310_000)), page("new"), job="fourth")
    written(filled_store, card("101", price=900_000), job="fifth")  # suspect: it makes no event
    written(filled_store, page("101", price=Decimal(900_000), title="other"), job="sixth")  # confirmed
    again = sync(filled_store, Lake(str(tmp_path / "lake")))
    compare(filled_store, tables)
    assert all(0 < each.rows < 10 for each in again)


def test_tables_are_partitioned_by_portal_and_month(store: PostgresStore, tmp_path: Path) -> None:
    written(store, *pages(2))
    tables = Lake(str(tmp_path))
    sync(store, tables)
    for name, time_column in zip(LAKE_TABLE_NAMES, ("at", "at", "changed_at"), strict=True):
        table = tables.table(name)
        found = [(table.schema().find_column_name(each.source_id), each.transform) for each in table.spec().fields]
        assert found == [("portal", IdentityTransform()), (time_column, MonthTransform())]
        (snapshot,) = table.snapshots()
        assert snapshot.summary[lake.LAST_EVENT] == "2"


def test_an_erased_listing_leaves_the_lake(any_store: FullStore, tmp_path: Path) -> None:
    written(any_store, *pages(4))
    tables = Lake(str(tmp_path))
    sync(any_store, tables)
    any_store.erase("immoweb", "2")
    written(any_store, page("3", title="other"))
    done = sync(any_store, tables)
    assert [each.erased_rows for each in done] == [1, 1, 1]
    for name in LAKE_TABLE_NAMES:
        assert {row["ref"] for row in rows(tables, name)} == {"0", "1", "3"}
    assert [each.erased_rows for each in sync(any_store, tables)] == [0, 0, 0]
    compare(any_store, tables)


def test_the_snapshot_of_another_program_does_not_matter(store: PostgresStore, tmp_path: Path) -> None:
    written(store, *pages(2))
    tables = Lake(str(tmp_path))
    sync(store, tables)
    for name in LAKE_TABLE_NAMES:
        table = tables.table(name)
        table.overwrite(table.scan().to_arrow())  # as a compaction does
    written(store, page("5"))
    sync(store, tables)
    compare(store, tables)


def test_of_two_syncs_at_once_none_writes_twice(
    store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(store, *pages(3))
    tables = Lake(str(tmp_path))
    sync(store, tables)
    written(store, *pages(6))
    read = lake._read

    def read_slowly(*how: Any) -> Any:
        found = read(*how)
        monkeypatch.setattr(lake, "_read", read)
        sync(store, Lake(str(tmp_path)))  # another process is faster
        return found

    monkeypatch.setattr(lake, "_read", read_slowly)
    with pytest.raises(ExportError, match="another program has written to"):
        sync(store, tables)
    compare(store, Lake(str(tmp_path)))


def test_the_lake_of_another_store_is_refused(store: PostgresStore, second_store_url: str, tmp_path: Path) -> None:
    written(store, *pages(3))
    sync(store, Lake(str(tmp_path)))
    other = PostgresStore(second_store_url)
    other.migrate()
    with pytest.raises(ExportError, match="is it the lake of another store"):
        sync(other, Lake(str(tmp_path)))
    other.close()


@pytest.mark.parametrize("to", ["ftp://host/lake", "s3://", "{file}"])
def test_a_place_for_no_lake_is_said_in_a_sentence(tmp_path: Path, to: str) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(WrongExport, match="s3://bucket/prefix is needed"):
        Lake(to.format(file=file), "sqlite://")
    with pytest.raises(WrongExport, match="set LAKE_CATALOG"):
        Lake("s3://bucket/lake")
    with pytest.raises(WrongExport, match="cannot be made: Not a directory"):
        Lake(str(file / "lake"))


def test_a_lake_in_a_bucket(store: PostgresStore, s3: Any, s3_endpoint: str, bucket: str, tmp_path: Path) -> None:
    written(store, *pages(3))
    tables = Lake(f"s3://{bucket}/lake", f"sqlite:///{tmp_path}/catalog.db", s3_endpoint)
    sync(store, tables)
    compare(store, tables)
    keys = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert any(key.startswith("lake/") and "portal=immoweb" in key for key in keys)


def kills(store: PostgresStore, folder: Path, number: int, seed: int) -> None:
    """Kill the sync at random times, each time after it has committed something, while listings change."""
    chance = random.Random(seed)
    script = Path(__file__).with_name("lake_process.py")
    for turn in range(number):
        command = [sys.executable, str(script), store.connection.url, str(folder)]
        commits = _commits(folder)
        with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
            end = time.monotonic() + 120
            while _commits(folder) == commits:
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.01)
            changed = [
                page(str(chance.randrange(40)), price=Decimal(chance.randrange(200_000, 300_000))) for _ in "123"
            ]
            written(store, *changed, job=f"{turn}")
            time.sleep(chance.uniform(0, 0.5))
            process.kill()


def _commits(folder: Path) -> int:
    """A number that grows with each commit."""
    return len(list(folder.rglob("*.metadata.json")))


def killed(store: PostgresStore, folder: Path, number: int) -> None:
    written(store, *pages(30))
    later()
    kills(store, folder, number, seed=7)
    tables = Lake(str(folder))
    sync(store, tables)
    compare(store, tables)


def test_a_sync_that_is_killed_continues_with_each_row_once(store: PostgresStore, tmp_path: Path) -> None:
    killed(store, tmp_path, 2)


@pytest.mark.slow
def test_a_sync_that_is_killed_often_continues_with_each_row_once(store: PostgresStore, tmp_path: Path) -> None:
    killed(store, tmp_path, 20)
