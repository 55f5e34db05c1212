"""Statements in SQL: only the PostgreSQL store puts them together, and never of what somebody entered."""

import ast
import re
from pathlib import Path

import pytest

from realestate.storage.history import EventFilter
from realestate.storage.postgres import PostgresStore
from realestate.storage.query import Comparison, Filter, ListingQuery, QueryError, parse_filter
from tests.storage.batches import batch, page

PACKAGE = Path(__file__).parents[2] / "realestate"
STORE = PACKAGE / "storage" / "postgres"
#: DuckDB in memory, over rows of the store: nothing that somebody entered is in these statements.
IN_MEMORY = {PACKAGE / "homes" / "pairs.py", PACKAGE / "market" / "loading.py", PACKAGE / "market" / "weekly.py"}
#: How bandit recognises SQL (B608), which it reports for every f-string.
SQL = re.compile(
    r"(select\s.*from\s|delete\s+from\s|insert\s+into\s.*values\s|update\s.*set\s)", re.IGNORECASE | re.DOTALL
)
HOSTILE = ("'; DROP TABLE listings; --", '"; DROP TABLE listings; --', "%s %(portal)s {0}", "\\'; SELECT 1; --")


def put_together(path: Path) -> list[int]:
    """The lines of f-strings with SQL in which something is inserted."""
    tree = ast.parse(path.read_text("utf-8"))
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    return [
        node.lineno
        for node in strings
        if any(isinstance(part, ast.FormattedValue) for part in node.values) and SQL.search(ast.unparse(node))
    ]


def test_only_the_store_puts_statements_together() -> None:
    found = {path: put_together(path) for path in PACKAGE.rglob("*.py")}
    assert sum(len(lines) for path, lines in found.items() if path.is_relative_to(STORE)) > 40
    others = {path for path, lines in found.items() if lines and not path.is_relative_to(STORE)}
    assert others == IN_MEMORY


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_value_is_only_a_value(store: PostgresStore, text: str) -> None:
    store.write(batch(page("1", city=text)))
    for condition in (Comparison("city", "=", (text,)), Comparison("portal", "!=", (text,))):
        filter = Filter((condition,))
        store.count(filter)
        store.facets(filter)
        store.search(ListingQuery(filter=filter))
    assert store.count(Filter((Comparison("city", "=", (text,)),))).number == 1
    assert store.events(wanted=EventFilter(portal=text)) == []
    assert store.orders(portal=text, key=text) == []
    assert store.statuses(text) == {}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_is_an_error(text: str) -> None:
    with pytest.raises(QueryError):
        parse_filter(f"{text}=1")
    with pytest.raises(QueryError):
        ListingQuery(sort=text)
