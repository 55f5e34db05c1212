"""A store with rows that are hard to write down, on each kind of database."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from realestate.exports import Exported, FormatName, export
from realestate.items.others import Product, Quote
from realestate.storage import Batch, FullStore
from realestate.storage.export import TableName
from realestate.storage.store import Written
from tests.storage.batches import batch, card, page
from tests.storage.conftest import (  # noqa: F401  the same databases as the tests of the storage
    any_store,
    any_url,
    clean_store_url,
    migrated_urls,
    open_another,
)
from tests.storage.test_homes import CLUSTERED, WEEK

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
#: Texts that break careless writers and readers of files.
HARD_TEXTS = (
    '=HYPERLINK("http://evil.example";"click")',
    "+32 rue de la Loi",
    "-1 étage",
    "@SUM(A1:A9)",
    "\tafter a tab",
    "＝wide",
    'a "quoted", text; with\nlines\r\nand 🏠',
    "'begins with a quotation mark",
    "\\N",
    "NULL",
    "007",
    "1e5",
    "2026-11-01",
)


def written(store: FullStore, *observed: Any, job: str = "job") -> Written:
    return store.write(batch(*observed, job=job))


@pytest.fixture
def filled_store(any_store: FullStore) -> FullStore:  # noqa: F811
    listings = [
        page(str(number), title=text, description=text * 3, city=text, extra={"text": text, "n": [1, {"a": None}]})
        for number, text in enumerate(HARD_TEXTS, start=100)
    ]
    written(any_store, *listings)
    written(any_store, page("1", price=Decimal("999999999999.99"), latitude=None, longitude=None, geo_precision=None))
    written(
        any_store, page("2", price=None, currency=None, price_basis=None, features=frozenset(), photos=[], extra={})
    )
    written(any_store, page("3", status="delisted", rooms=None, posted_at=None, floor=-2))
    written(any_store, card("100", price=300000), job="second")
    written(any_store, page("2", price=None, currency=None, price_basis="on_request", title="new"), job="third")
    product = Product(
        portal="shop", ref="1", url="https://x.example/1", name="=1+1", price=Decimal("19.99"), currency="EUR"
    )
    share = Quote(
        portal="market",
        ref="BE01",
        url="https://x.example/2",
        ticker="ABC",
        price=Decimal("0.000123"),
        currency="EUR",
        volume=10**15,
        quoted_at=datetime(2026, 11, 1, 9, 30, tzinfo=UTC),
    )
    any_store.write(Batch(others=[(product, "job"), (share, "job")]))
    any_store.save_homes(CLUSTERED)
    any_store.save_market([replace(WEEK, city=text) for text in ("", "=1+1", "Bakı", "Gent")], WEEK.week)
    return any_store


Export = Callable[[TableName, str], Exported]


@pytest.fixture
def exported(filled_store: FullStore, tmp_path: Path) -> Export:
    """Export a table into a file of the test's folder."""

    def make(table: TableName, name: str, format: FormatName | None = None) -> Exported:
        from realestate.exports import format_of

        return export(filled_store, table, format or format_of(name), str(tmp_path / name), NOW)

    return make
