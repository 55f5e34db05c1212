"""What is exported equals what is stored, in the programs that people read it with."""

import csv
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import duckdb
import openpyxl
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from realestate.cli import export as command
from realestate.exports import FORMATS, export, format_of
from realestate.exports.formats import FORMAT_NAMES
from realestate.storage import FullStore
from realestate.storage.export import TABLE_NAMES, TABLES, Column, TableName, row_hash, starts_formula
from realestate.storage.postgres import PostgresStore
from tests.exports.conftest import HARD_TEXTS, NOW, Export
from tests.exports.stored import in_order, plain, stored_rows


def from_text(column: Column, text: str | None) -> Any:
    """The value of a field of CSV, by the rules of docs/exports.md."""
    if text is None or text == "":
        return None
    if column.type is str:
        return text[1:] if text[0] == "'" and starts_formula(text[1:]) else text
    if column.type in (list, dict):
        return plain(json.loads(text))
    if column.type is bool:
        return {"true": True, "false": False}[text]
    return plain(datetime.fromisoformat(text) if column.type is datetime else float(text))


def same(found: Iterable[Mapping[str, Any]], store: FullStore, table: TableName) -> None:
    """Compare rows, and demand the order of the export."""
    rows = list(found)
    keys = [tuple(row[name] for name in TABLES[table].order) for row in rows]
    assert keys == sorted(keys)
    wanted = in_order(stored_rows(store, table), table)
    wrong = [
        (key, name, row[name], other[name])
        for key, row, other in zip(keys, rows, wanted, strict=True)
        for name in row
        if row[name] != other[name]
    ]
    assert wrong == []
    assert rows == wanted
    assert rows


def test_json_lines_have_what_is_stored(filled_store: FullStore, exported: Export, tmp_path: Path) -> None:
    for table in TABLE_NAMES:
        made = exported(table, "rows.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
        same(({name: plain(value) for name, value in line.items()} for line in lines), filled_store, table)
        identity = TABLES[table].identity
        assert made.written.checksum == sum(row_hash([line[name] for name in identity]) for line in lines)
        assert made.is_complete


def test_csv_has_what_is_stored(filled_store: FullStore, exported: Export, tmp_path: Path) -> None:
    for table in TABLE_NAMES:
        made = exported(table, "rows.csv")
        with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        columns = {column.name: column for column in TABLES[table].columns}
        assert list(lines[0]) == list(columns)
        rows = ({name: from_text(columns[name], text) for name, text in line.items()} for line in lines)
        if table == "market_weekly":  # an empty text is a value there: the whole country, no rent period
            places = ("city", "district", "rent_period")
            rows = ({**row, **{name: row[name] or "" for name in places}} for row in rows)
        same(rows, filled_store, table)
        assert made.is_complete


def test_parquet_has_what_is_stored_in_exact_types(filled_store: FullStore, exported: Export, tmp_path: Path) -> None:
    for table in TABLE_NAMES:
        made = exported(table, "rows.parquet")
        found = pq.read_table(tmp_path / "rows.parquet")
        columns = TABLES[table].columns
        for column, field in zip(columns, found.schema, strict=True):
            assert column.name == field.name
            if column.type is Decimal:
                assert pa.types.is_decimal128(field.type)
            if column.type is datetime:
                assert field.type == pa.timestamp("us", tz="UTC")
        of_json = {column.name for column in columns if column.type is dict}
        rows = (
            {name: plain(json.loads(value) if name in of_json else value) for name, value in row.items()}
            for row in found.to_pylist()
        )
        same(rows, filled_store, table)
        assert made.is_complete


def test_money_is_exact_in_parquet(exported: Export, tmp_path: Path) -> None:
    exported("listings", "rows.parquet")
    prices = pq.read_table(tmp_path / "rows.parquet", columns=["ref", "price"]).to_pylist()
    assert {"ref": "1", "price": Decimal("999999999999.99")} in prices
    exported("quotes", "quotes.parquet")
    (share,) = pq.read_table(tmp_path / "quotes.parquet", columns=["price"]).to_pylist()
    assert share["price"] == Decimal("0.000123")


def test_no_text_of_csv_is_a_formula(exported: Export, tmp_path: Path) -> None:
    exported("listings", "rows.csv")
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    texts = {column.name for column in TABLES["listings"].columns if column.type is str}
    assert not any(starts_formula(line[name]) for line in lines for name in texts)
    assert any(line["title"].startswith("'=HYPERLINK") for line in lines)


def test_no_cell_of_excel_is_a_formula(filled_store: FullStore, exported: Export, tmp_path: Path) -> None:
    exported("listings", "rows.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "rows.xlsx")["listings"]
    header, *rows = list(sheet.iter_rows())
    assert [cell.value for cell in header] == TABLES["listings"].names
    assert {cell.data_type for row in rows for cell in row} <= {"s", "n", "b", "d"}
    columns = {column.name: column for column in TABLES["listings"].columns}
    found = [
        {column.name: _of_cell(column, cell.value) for column, cell in zip(columns.values(), row, strict=True)}
        for row in rows
    ]
    whole = stored_rows(filled_store, "listings")
    wanted = [{name: _in_a_sheet(columns[name], value) for name, value in row.items()} for row in whole]
    assert found == in_order(wanted, "listings")


def _of_cell(column: Column, value: Any) -> Any:
    if value is None:
        return None
    if column.type in (list, dict):
        return plain(json.loads(value))
    if column.type is datetime:
        return plain(value.replace(tzinfo=UTC))
    return plain(value)


def _in_a_sheet(column: Column, value: Any) -> Any:
    """Times are kept to the second, and lines end with a line feed."""
    if column.type is datetime and value:
        return f"{value[:19]}.000000+00:00"
    return value.replace("\r\n", "\n") if column.type is str and value else value


def test_geojson_has_every_listing_as_a_feature(filled_store: FullStore, exported: Export, tmp_path: Path) -> None:
    exported("listings", "homes.geojson")
    collection = json.loads((tmp_path / "homes.geojson").read_text())
    assert collection["type"] == "FeatureCollection"
    same(
        ({name: plain(value) for name, value in each["properties"].items()} for each in collection["features"]),
        filled_store,
        "listings",
    )
    by_id = {each["id"]: each["geometry"] for each in collection["features"]}
    assert by_id["immoweb/1"] is None
    assert by_id["immoweb/2"] == {"type": "Point", "coordinates": [4.86, 50.46]}


@pytest.mark.parametrize("name", ["homes.geojson", "homes.geoparquet"])
def test_geopandas_reads_both_geo_formats(exported: Export, tmp_path: Path, name: str) -> None:
    import geopandas

    exported("listings", name)
    path = tmp_path / name
    frame = geopandas.read_file(path) if name.endswith("geojson") else geopandas.read_parquet(path)
    assert len(frame) == len(HARD_TEXTS) + 3
    assert frame.crs == "EPSG:4326" or frame.crs.to_string() == "OGC:CRS84"
    places = frame.set_index("ref").geometry
    assert places["1"] is None
    assert (places["2"].x, places["2"].y) == (4.86, 50.46)


def test_pandas_reads_csv_and_parquet(filled_store: FullStore, exported: Export, tmp_path: Path) -> None:
    exported("listings", "rows.csv")
    exported("listings", "rows.parquet")
    stored = {row["ref"]: row for row in stored_rows(filled_store, "listings")}
    text = pandas.read_csv(tmp_path / "rows.csv", dtype={"ref": str}, parse_dates=["first_seen_at"], low_memory=False)
    exact = pandas.read_parquet(tmp_path / "rows.parquet")
    for frame in (text, exact):
        assert len(frame) == len(stored)
        assert str(frame["first_seen_at"].dtype).endswith("UTC]")
        for row in frame.itertuples():
            price = None if pandas.isna(row.price) else float(row.price)
            assert price == stored[str(row.ref)]["price"]


def test_polars_and_duckdb_read_csv_and_parquet(filled_store: FullStore, exported: Export, tmp_path: Path) -> None:
    exported("listings", "rows.csv")
    exported("listings", "rows.parquet")
    stored = sum(row["price"] or 0 for row in stored_rows(filled_store, "listings"))
    for frame in (
        polars.read_csv(tmp_path / "rows.csv", infer_schema_length=None),
        polars.read_parquet(tmp_path / "rows.parquet"),
    ):
        assert float(frame["price"].sum()) == pytest.approx(stored)
    for name in ("rows.csv", "rows.parquet"):
        found = duckdb.sql(f"SELECT count(*), sum(price) FROM '{tmp_path / name}'").fetchall()
        ((count, total),) = found
        assert count == len(HARD_TEXTS) + 3
        assert float(total) == pytest.approx(stored)


def test_duckdb_computes_the_checksum_of_the_manifest(exported: Export, tmp_path: Path) -> None:
    made = exported("listings", "rows.parquet")
    statement = f"""
        SELECT sum(('0x' || left(md5(concat_ws('/', portal, ref, coalesce(content_hash, ''))), 8))::BIGINT)
        FROM '{tmp_path / "rows.parquet"}'
    """
    assert duckdb.sql(statement).fetchall() == [(made.stored.checksum,)]


def test_the_command_offers_all_tables_and_formats() -> None:
    assert get_args(command.Table) == TABLE_NAMES
    assert get_args(command.Format) == FORMAT_NAMES == tuple(FORMATS)


def test_an_empty_table_is_a_file_with_its_columns(store: PostgresStore, tmp_path: Path) -> None:
    for name in ("rows.csv", "rows.jsonl", "rows.parquet", "rows.xlsx", "rows.geojson", "rows.geoparquet"):
        made = export(store, "listings", format_of(name), str(tmp_path / name), NOW)
        assert (made.written.count, made.written.checksum) == (0, 0)
    names = TABLES["listings"].names
    assert (tmp_path / "rows.csv").read_text() == ",".join(names) + "\n"
    assert (tmp_path / "rows.jsonl").read_text() == ""
    assert pq.read_schema(tmp_path / "rows.parquet").names == names
    assert pq.read_schema(tmp_path / "rows.geoparquet").names == [*names, "geometry"]
    assert json.loads((tmp_path / "rows.geojson").read_text())["features"] == []
    sheet = openpyxl.load_workbook(tmp_path / "rows.xlsx")["listings"]
    assert [cell.value for cell in next(sheet.iter_rows())] == names
