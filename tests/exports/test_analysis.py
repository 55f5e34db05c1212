"""The queries of docs/analysis.md run on an export, and each finds something."""

import re
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from realestate.exports import export
from realestate.storage.export import TableName
from realestate.storage.postgres import PostgresStore
from tests.exports.conftest import NOW, written
from tests.storage.batches import later, page

PAGE = (Path(__file__).parents[2] / "docs" / "analysis.md").read_text("utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


def test_there_are_ten_answers_of_ten_lines() -> None:
    assert len(QUERIES) == len(re.findall(r"^## \d+\. .*\?$", PAGE, re.MULTILINE)) == 10
    assert max(query.count("\n") for query in QUERIES) <= 10


def test_every_answer_works_on_an_export(store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = [page(str(number), rooms=2 + number % 4, price=Decimal(200_000 + 9_000 * number)) for number in range(8)]
    cheap = page("9", price=Decimal(90_000), price_per_m2=Decimal("642.86"))
    written(store, *homes, cheap)
    later()
    written(store, page("1", rooms=3, price=Decimal(190_000)), page("2", status="sold"), job="second")
    tables: tuple[TableName, ...] = ("listings", "events", "prices")
    for table in tables:
        export(store, table, "parquet", str(tmp_path / f"{table}.parquet"), NOW)
    monkeypatch.chdir(tmp_path)
    found = [duckdb.sql(query).fetchall() for query in QUERIES]
    assert [place for place, rows in enumerate(found, start=1) if not rows] == []
    assert found[1][0][0].endswith("/9")
    assert found[2][0][1:] == (9, 1)
    assert found[3][0][:2] == ("immoweb", "1")
