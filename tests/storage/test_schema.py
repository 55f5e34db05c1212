"""Views, comments and docs/schema.md: what a person finds who opens the database."""

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from realestate.items import FIELDS, Listing
from realestate.items.docstrings import field_docstrings
from realestate.storage import Store
from realestate.storage.postgres import PostgresStore, schema
from tests.storage.batches import PORTAL, batch, card, gone, page

Sql = Callable[..., list[tuple[Any, ...]]]
DOC = (Path(__file__).parents[2] / "docs" / "schema.md").read_text("utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", DOC, re.DOTALL)
VIEWS = ("current_listings", "price_changes", "time_on_market")
_COMMENTS = """
    SELECT column_name, col_description(%s::regclass, ordinal_position)
    FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = %s
"""


@pytest.fixture
def lived(store: PostgresStore) -> PostgresStore:
    """Four listings with a history: a price that fell, one on request, one that left and returned, one that is sold."""
    store.write(batch(page(description="Sunny."), page("2"), page("3"), page("4")))
    store.write(batch(page(price=Decimal(300000), description="Sunny, quiet."), card("2", price_basis="on_request")))
    store.begin_job("left", PORTAL, "full", "all")
    store.write(batch(gone("3"), job="left"))
    store.conclude("left", PORTAL, force=True)
    store.write(batch(page("3"), page("4", status="sold")))
    return store


def test_current_listings_are_those_on_the_market(lived: PostgresStore, sql: Sql) -> None:
    assert sql("SELECT ref FROM current_listings ORDER BY ref") == [("1",), ("2",), ("3",)]
    columns = [name for name, _ in sql(_COMMENTS, "current_listings", "current_listings")]
    assert columns == [name for name in FIELDS if name not in ("delisted_at", "content_hash", "parser_version")], (
        "a migration that adds a field adds it to the view, at its end"
    )


def test_price_changes_have_both_prices(lived: PostgresStore, sql: Sql) -> None:
    columns = "ref, old_price, new_price, currency, percent, old_basis, new_basis"
    assert sql(f"SELECT {columns} FROM price_changes ORDER BY ref") == [
        ("1", Decimal(350000), Decimal(300000), "EUR", Decimal("-14.29"), None, None),
        ("2", Decimal(350000), None, "EUR", None, "total", "on_request"),
    ]


def test_each_time_on_the_market_is_a_row(lived: PostgresStore, sql: Sql) -> None:
    rows = sql("SELECT ref, stay, ended_as, ended_at IS NULL, days >= 0 FROM time_on_market ORDER BY ref, stay")
    assert rows == [
        ("1", 1, None, True, True),
        ("2", 1, None, True, True),
        ("3", 1, "delisted", False, True),
        ("3", 2, None, True, True),
        ("4", 1, "sold", False, True),
    ]


@pytest.mark.parametrize("query", QUERIES, ids=[each.split("FROM")[1].split()[0] for each in QUERIES])
def test_each_query_of_the_docs_has_a_result(lived: PostgresStore, sql: Sql, query: str) -> None:
    assert sql(query.replace("%", "%%"))


def test_the_docs_name_every_table_and_view(store: PostgresStore, sql: Sql) -> None:
    tables = {
        name
        for (name,) in sql(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')"
        )
    }
    named = set(re.findall(r"`(\w+)`", DOC))
    assert tables - {"schema_version"} <= named


def test_every_column_of_listings_has_its_comment(store: PostgresStore, sql: Sql) -> None:
    found: dict[str, str | None] = dict(sql(_COMMENTS, "listings", "listings"))
    assert all(found.values()), [name for name, comment in found.items() if not comment]
    assert {name: found[name] for name in FIELDS} == field_docstrings(Listing)


def test_every_table_and_view_has_a_comment(store: PostgresStore, sql: Sql) -> None:
    found: dict[str, str | None] = dict(
        sql(
            "SELECT relname, obj_description(oid, 'pg_class') FROM pg_class"
            " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')"
        )
    )
    assert all(found.values()), [name for name, comment in found.items() if not comment]
    for view in VIEWS:
        assert all(comment for _, comment in sql(_COMMENTS, view, view))


def test_a_changed_docstring_changes_the_comment(
    store: PostgresStore, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = schema.Described("New words.", Listing)
    monkeypatch.setitem(schema.TABLES, "listings", described)
    again = PostgresStore(store.url)
    again.migrate()
    again.close()
    assert sql("SELECT obj_description('listings'::regclass, 'pg_class')") == [("New words.",)]


def test_the_small_mongodb_server_has_no_views(mongodb_url: str) -> None:
    """If it has, make the views of PostgreSQL there too, and change docs/schema.md."""
    with MongoClient[Any](mongodb_url) as client:
        if not any(name.startswith("ferretdb") for name in client.server_info()):
            pytest.skip("this is not FerretDB")
        database = client.get_default_database()
        with pytest.raises(OperationFailure, match="not implemented"):
            database.command("create", "current", viewOn="listings", pipeline=[])


def test_statuses_of_an_empty_database_are_none(any_store: Store) -> None:
    assert dict(any_store.statuses(PORTAL)) == {}
