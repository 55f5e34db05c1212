"""One export as a whole: its file, its manifest, its destination, and what happens when something fails."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from realestate.exports import ExportError, WrongExport, export, formats
from realestate.storage import FullStore, StoreError
from realestate.storage.export import ALL_ROWS, TABLES, Row, Selection, Table, TableName
from realestate.storage.homes import Clustered, Member
from realestate.storage.postgres import PostgresStore
from realestate.storage.postgres import export as postgres_export
from realestate.storage.query import parse_filter
from tests.exports.conftest import NOW, Export, written
from tests.storage.batches import later, page, pages
from tests.storage.test_homes import FLAT, RUN, WEEK


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_manifest_describes_the_file(exported: Export, tmp_path: Path) -> None:
    made = exported("listings", "homes.csv")
    manifest = json.loads((tmp_path / "homes.csv.manifest.json").read_bytes())
    content = (tmp_path / "homes.csv").read_bytes()
    assert manifest["sha256"] == sha256(content).hexdigest()
    assert manifest["size_bytes"] == len(content)
    assert manifest["written"] == manifest["stored"] == {"count": 16, "checksum": made.stored.checksum}
    assert manifest["columns"] == TABLES["listings"].names
    assert names(tmp_path) == ["homes.csv", "homes.csv.manifest.json"]


def test_two_exports_are_equal_byte_for_byte(exported: Export, tmp_path: Path) -> None:
    for name in ("1.csv", "2.csv", "1.parquet", "2.parquet"):
        exported("listings", name)
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()


class _Breaking:
    """A store whose rows break off in the middle."""

    def __init__(self, rows: int, count: int) -> None:
        self.rows_before = rows
        self.count = count

    @contextmanager
    def exported(self, table: Table, selection: Selection = ALL_ROWS) -> Iterator[Any]:
        yield _BreakingExport(table, self)


class _BreakingExport:
    is_snapshot = True

    def __init__(self, table: Table, store: _Breaking) -> None:
        self.table = table
        self.count = store.count
        self.checksum = 7
        self._store = store

    def rows(self) -> Iterator[Sequence[Row]]:
        yield [(7, *[None] * len(self.table.columns))] * self._store.rows_before
        if self._store.count > 1:
            raise StoreError("the database went away")


@pytest.mark.parametrize("name", ["homes.csv", "homes.jsonl", "homes.parquet", "homes.xlsx"])
def test_a_failed_export_leaves_the_old_file_and_no_other(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")
    with pytest.raises((StoreError, RuntimeError), match="went away"):
        export(_Breaking(3, 9), "events", formats.format_of(name), str(tmp_path / name), NOW)
    assert names(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "old"


@pytest.mark.parametrize("rows", [0, 2])
def test_an_export_with_other_rows_than_the_store_counted_gets_no_name(tmp_path: Path, rows: int) -> None:
    """Never a silent cap: a lost row and a row too many are errors."""
    with pytest.raises(ExportError, match=f"{rows} rows were written"):
        export(_Breaking(rows, 1), "events", "csv", str(tmp_path / "events.csv"), NOW)
    assert names(tmp_path) == []


def test_rows_that_are_written_meanwhile_are_in_no_export_of_postgresql(store: PostgresStore, tmp_path: Path) -> None:
    """All rows are of one snapshot, also those that are read on the second connection."""
    written(store, *pages(30))
    with store.exported(TABLES["listings"]) as source:
        other = PostgresStore(store.connection.url)
        written(other, *(page(str(number), title="new") for number in range(60)))
        other.close()
        titles = [row[1 + TABLES["listings"].names.index("title")] for rows in source.rows() for row in rows]
        batches = list(source.record_batches())
    assert (source.count, len(titles), sum(batch.num_rows for batch in batches)) == (30, 30, 30)
    assert "new" not in titles
    assert "new" not in {title for batch in batches for title in batch.column("title").to_pylist()}


def test_rows_are_read_piece_by_piece(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory does not depend on the number of rows."""
    monkeypatch.setattr(postgres_export, "_TOGETHER", 10)
    monkeypatch.setattr(postgres_export, "_BATCH_BYTES", 20_000)
    written(store, *pages(100))
    with store.exported(TABLES["listings"]) as source:
        assert max(map(len, source.rows())) == 10
        sizes = [batch.num_rows for batch in source.record_batches()]
    assert sum(sizes) == 100
    assert max(sizes) < 60


def test_the_order_comes_from_an_index(store: PostgresStore) -> None:
    """To sort millions of wide rows would fill the disk with temporary files."""
    written(store, *pages(300))
    for table in TABLES.values():
        with store.exported(table) as source:
            source._cursor.execute(f"EXPLAIN {source._select(postgres_export._value)}")
            plan = "\n".join(line for (line,) in source._cursor.fetchall())
        assert "Index Scan" in plan
        assert "Sort" not in plan


def test_a_sheet_refuses_more_rows_than_it_holds(
    filled_store: FullStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert formats.FORMATS["xlsx"].most_rows == 2**20 - 1
    small = replace(formats.FORMATS["xlsx"], most_rows=15)
    monkeypatch.setattr(formats, "FORMATS", {**formats.FORMATS, "xlsx": small})
    monkeypatch.setattr("realestate.exports.table_file.FORMATS", formats.FORMATS)
    with pytest.raises(WrongExport, match="16 rows do not fit: a sheet of xlsx holds 15"):
        export(filled_store, "listings", "xlsx", str(tmp_path / "a.xlsx"), NOW)
    assert names(tmp_path) == []


def test_a_text_that_is_too_long_for_a_cell_is_cut_and_counted(store: PostgresStore, tmp_path: Path) -> None:
    import openpyxl

    written(store, page("1", description="🏠" * 20_000), page("2", description="x" * 32_767))
    made = export(store, "listings", "xlsx", str(tmp_path / "a.xlsx"), NOW)
    assert made.shortened_texts == 1
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["listings"]
    place = TABLES["listings"].names.index("description")
    texts = [row[place] for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert texts == ["🏠" * 16_383 + "…", "x" * 32_767]


def test_an_export_to_a_bucket_has_its_manifest(filled_store: FullStore, s3: Any, bucket: str, tmp_path: Path) -> None:
    made = export(filled_store, "listings", "csv", f"s3://{bucket}/daily/homes.csv", NOW)
    content = s3.get_object(Bucket=bucket, Key="daily/homes.csv")["Body"].read()
    manifest = json.loads(s3.get_object(Bucket=bucket, Key="daily/homes.csv.manifest.json")["Body"].read())
    assert manifest["sha256"] == made.sha256 == sha256(content).hexdigest()
    assert manifest["stored"]["count"] == 16


def test_a_bucket_that_does_not_exist_is_an_error_before_the_work(filled_store: FullStore, s3: Any) -> None:
    with pytest.raises(ExportError, match="s3://no-such-bucket"):
        export(filled_store, "listings", "csv", "s3://no-such-bucket/a.csv", NOW)


@pytest.mark.parametrize(
    ("table", "format", "out", "why"),
    [
        ("events", "geojson", "a.geojson", "events have no coordinates"),
        ("listings", "csv", "{folder}", "is a folder"),
        ("listings", "csv", "{folder}/no/such/a.csv", "there is no folder"),
        ("listings", "csv", "{folder}/" + "a" * 300 + ".csv", "File name too long"),
        ("listings", "csv", "{folder}/" + "a" * 240 + ".csv", "File name too long"),
        ("listings", "csv", "ftp://host/a.csv", "begins with 'ftp'"),
        ("listings", "csv", "s3://bucket", "s3://bucket/name is needed"),
        ("listings", "csv", "s3://", "s3://bucket/name is needed"),
    ],
)
def test_what_cannot_be_exported_is_said_in_a_sentence(
    store: PostgresStore, tmp_path: Path, table: Any, format: Any, out: str, why: str
) -> None:
    with pytest.raises(WrongExport, match=why):
        export(store, table, format, out.format(folder=tmp_path), NOW)


def test_a_name_without_a_format_is_refused() -> None:
    with pytest.raises(WrongExport, match=r"give --format, or a name that ends with \.csv"):
        formats.format_of("homes.txt")


#: Runs the command. With a first argument, importing these libraries fails, as without the extra.
SCRIPT = """
import sys
for name in filter(None, sys.argv[1].split(",")):
    sys.modules[name] = None
sys.argv = ["realestate", *sys.argv[2:]]
from realestate.cli import main
main()
"""
EXTRA = "pyarrow,numpy,adbc_driver_manager,adbc_driver_postgresql,rustpy_xlsxwriter,pandas"


def run(store: PostgresStore, redis_url: str, *arguments: str, without: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "STORE_URL": store.connection.url, "REDIS_URL": redis_url}
    command = [sys.executable, "-c", SCRIPT, without, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_exports_and_says_so(store: PostgresStore, redis_url: str, tmp_path: Path) -> None:
    """Without the extra: csv, jsonl and geojson need nothing more."""
    written(store, *pages(3))
    for name in ("a.csv", "a.jsonl", "a.geojson"):
        done = run(store, redis_url, "export", "listings", "--out", str(tmp_path / name), without=EXTRA)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"listings: 3 rows to {tmp_path / name} (")
    done = run(store, redis_url, "export", "listings", "--out", str(tmp_path / "a.parquet"), without=EXTRA)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("not installed: pip install 'realestate[analysis]'\n")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "a.parquet").exists()


def test_the_command_writes_to_the_standard_output(store: PostgresStore, redis_url: str) -> None:
    written(store, *pages(3))
    done = run(store, redis_url, "export", "listings", "--format", "jsonl", "--json")
    assert [json.loads(line)["ref"] for line in done.stdout.splitlines()] == ["0", "1", "2"]
    assert json.loads(done.stderr)["written"]["count"] == 3
    done = run(store, redis_url, "export", "events", "--format", "geojson")
    assert (done.returncode, done.stdout) == (2, "")
    assert "events have no coordinates" in done.stderr


def test_a_killed_export_leaves_no_file_under_its_name(store: PostgresStore, redis_url: str, tmp_path: Path) -> None:
    written(store, *pages(50))
    script = SCRIPT.replace(
        "main()",
        "import realestate.exports.jsonl as j, os, signal\n"
        "j.ENCODER = type('E', (), {'encode_lines': lambda self, rows: os.kill(os.getpid(), signal.SIGKILL)})()\n"
        "main()",
    )
    environment = {**os.environ, "STORE_URL": store.connection.url, "REDIS_URL": redis_url}
    command = [sys.executable, "-c", script, "", "export", "listings", "--out", str(tmp_path / "a.jsonl")]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert all(name.startswith(".a.jsonl.") and name.endswith(".partial") for name in names(tmp_path))


def test_a_reader_that_ends_early_is_one_line(store: PostgresStore, redis_url: str) -> None:
    written(store, *pages(400))
    environment = {**os.environ, "STORE_URL": store.connection.url, "REDIS_URL": redis_url}
    shell = f"{sys.executable} -c '{SCRIPT}' '' export listings | head -c 10"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {shell}"], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0
    assert done.stderr == "realestate: the program that read the output has ended; the export is not complete\n"


def test_two_exports_of_the_same_name_at_once_leave_one_complete_file(store: PostgresStore, tmp_path: Path) -> None:
    written(store, *pages(200))
    stores = [PostgresStore(store.connection.url) for _ in range(2)]
    target = str(tmp_path / "a.csv")
    threads = [threading.Thread(target=export, args=(each, "listings", "csv", target, NOW)) for each in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in stores:
        each.close()
    manifest = json.loads((tmp_path / "a.csv.manifest.json").read_bytes())
    assert manifest["sha256"] == sha256((tmp_path / "a.csv").read_bytes()).hexdigest()
    assert names(tmp_path) == ["a.csv", "a.csv.manifest.json"]


def test_no_column_has_contacts() -> None:
    columns = {name for table in TABLES.values() for name in table.names}
    assert not [name for name in columns for word in ("phone", "email", "contact", "sealed") if word in name]


def test_a_filter_and_a_time_choose_the_rows(any_store: FullStore, tmp_path: Path) -> None:
    written(any_store, page("1", rooms=2), page("2", rooms=4), page("3", rooms=5, status="sold"))
    since = any_store.query_time()
    later()
    written(any_store, page("2", rooms=4, title="new"), job="second")

    def refs(table: TableName, where: str | None, since: datetime | None = None) -> list[str]:
        selection = Selection(None if where is None else parse_filter(where), since)
        made = export(any_store, table, "jsonl", str(tmp_path / "rows"), NOW, selection=selection)
        assert made.is_complete
        return [json.loads(line)["ref"] for line in (tmp_path / "rows").read_text().splitlines()]

    assert refs("listings", "rooms>=3") == ["2"]
    assert refs("listings", "rooms>=3 status=any") == ["2", "3"]
    assert refs("listings", None, since) == ["2"]
    assert refs("listings", "rooms<3", since) == []
    assert refs("events", "rooms>=3") == ["2", "2"]
    assert refs("events", None, since) == ["2"]
    assert refs("prices", "rooms<3") == ["1"]
    with pytest.raises(WrongExport, match="not for products"):
        refs("products", "rooms<3")


def test_homes_and_market_figures_are_chosen(any_store: FullStore, tmp_path: Path) -> None:
    written(any_store, page("1", rooms=2), page("2", rooms=5))
    members = [Member("immoweb", "1", "h1"), Member("immoweb", "2", "h2")]
    homes = [replace(FLAT, home="h1", last_seen_at=NOW), replace(FLAT, home="h2")]
    any_store.save_homes(Clustered(RUN, homes, members, []))
    older = replace(WEEK, week=WEEK.week - timedelta(days=7))
    any_store.save_market([older, WEEK], older.week)

    def rows(table: TableName, where: str | None = None, since: datetime | None = None) -> list[dict[str, Any]]:
        selection = Selection(None if where is None else parse_filter(where), since)
        assert export(any_store, table, "jsonl", str(tmp_path / "rows"), NOW, selection=selection).is_complete
        return [json.loads(line) for line in (tmp_path / "rows").read_text().splitlines()]

    assert [row["home"] for row in rows("homes", "rooms>=4")] == ["h2"]
    assert [row["home"] for row in rows("homes", since=NOW)] == ["h1"]
    assert [row["ref"] for row in rows("home_listings", "rooms>=4")] == ["2"]
    assert [row["week"] for row in rows("market_weekly")] == ["2026-10-26", "2026-11-02"]
    assert [row["week"] for row in rows("market_weekly", since=NOW.replace(day=1))] == ["2026-11-02"]
    with pytest.raises(WrongExport, match="not for market_weekly"):
        rows("market_weekly", "rooms>=4")
    with pytest.raises(WrongExport, match="not for home_listings"):
        rows("home_listings", since=NOW)
