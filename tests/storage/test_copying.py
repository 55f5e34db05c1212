"""Every text that is written with COPY is read back unchanged."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from realestate.storage.postgres.rows import array, arrays, copy, line, ready, recordset, unnested

#: PostgreSQL's texts have no NUL; half of a surrogate pair is no text.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.text(
    st.sampled_from(list("\\\"'nrtbfu0N.,{}\n\r\t\b\f\x01\x02\x1f\x7f")), max_size=12
)


class Word(str):
    """A text of a subclass of `str`, as some parsers return."""


@pytest.fixture(scope="module")
def cursor(services: Any) -> Iterator[Any]:
    connection = psycopg2.connect(services.store_url)
    connection.autocommit = True
    with connection.cursor() as found:
        found.execute("CREATE TEMPORARY TABLE texts (place serial, one text, many text[], other text)")
        yield found
    connection.close()


def copied(cursor: Any, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    cursor.execute("TRUNCATE texts")
    copy(cursor, "COPY texts (one, many, other) FROM STDIN", rows)
    cursor.execute("SELECT one, many, other FROM texts ORDER BY place")
    return list(cursor)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=4), st.none() | TEXTS), max_size=6))
@example([("\\.", ["\\.", "", "NULL", "null"], "null"), ("\\\\n\\n\n", ['"', "\\"], "")])
def test_texts_are_read_back_unchanged(cursor: Any, rows: list[tuple[str, list[str], str | None]]) -> None:
    assert copied(cursor, [(one, array(many), other) for one, many, other in rows]) == rows
    assert copied(cursor, [(ready(one, array(many)), other) for one, many, other in rows]) == rows
    assert copied(cursor, [(ready(one, array(many).encode(), other),) for one, many, other in rows]) == rows


@pytest.mark.parametrize("text", ["a\n\\.\nb", "\\.\n", "a\r\n\\.\r\n", "a\n\\."])
def test_a_line_in_a_text_does_not_end_the_copied_rows(cursor: Any, text: str) -> None:
    """Up to PostgreSQL 17 a line `\\.` ends the rows wherever it is."""
    made = [line(("x", text)), ready("x", text), ready(text, b"y")]
    assert not [each for rows in made for each in rows.splitlines() if each == b"\\."]
    assert copied(cursor, [(ready(text), "{}", text)]) == [(text, [], text)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXTS, st.none() | TEXTS), max_size=6))
@example([("\\.", "null"), ('\\"', '"\\'), ("{}", "NULL")])
def test_texts_in_an_array_are_read_back_unchanged(cursor: Any, rows: list[tuple[str, str | None]]) -> None:
    columns = {"one": "text", "other": "text"}
    cursor.execute(f"SELECT one, other FROM {unnested('given', columns)}", arrays("given", columns, rows))
    assert list(cursor) == rows


def test_other_values_are_written_as_postgresql_reads_them(cursor: Any) -> None:
    at = datetime(2026, 9, 1, 10, 30, 0, 5, tzinfo=UTC)
    values = (True, 2**63, 1.5, Decimal("1E+3"), Decimal("350000.50"), at, Word('a "word"'))
    texts = [one for one, _, _ in copied(cursor, [(value, "{}", None) for value in values])]
    assert texts == [one for one, _, _ in copied(cursor, [(ready(value), "{}", None) for value in values])]
    assert texts == ["true", str(2**63), "1.5", "1E+3", "350000.50", "2026-09-01T10:30:00.000005Z", 'a "word"']


def test_sets_are_written_sorted() -> None:
    assert array(frozenset({"b", "a"})) == '{"a","b"}'
    assert array(frozenset()) == array([]) == "{}"


def test_an_error_in_building_a_row_is_not_a_database_error(cursor: Any) -> None:
    def rows() -> Iterator[tuple[Any, ...]]:
        yield ("good", "{}", None)
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        copied(cursor, rows())  # type: ignore[arg-type]


def test_a_parameter_is_a_table(cursor: Any) -> None:
    cursor.execute(f"SELECT * FROM {recordset('given', {'a': 'text', 'b': 'integer'})}", {"given": '[{"b": 5}]'})
    assert cursor.fetchall() == [(None, 5)]
