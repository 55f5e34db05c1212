"""Samples of large tables, for shares and medians.

To read millions of rows takes seconds, and drives out of memory what other queries need.
"""

#: Rows of a sample. Its medians and shares are those of the whole table.
ENOUGH = 100_000


def sampled(table: str, rows: int | None = None) -> str:
    """Return the table in a FROM clause: some of its pages, with about this many rows; all pages if it has fewer."""
    share = f"least(100, 100.0 * {rows or ENOUGH} / greatest(reltuples, 1))"
    return f"{table} TABLESAMPLE SYSTEM ((SELECT {share} FROM pg_class WHERE oid = '{table}'::regclass))"


def times(table: str, rows: int | None = None) -> str:
    """Return an expression: how many rows of the table a row of the sample stands for."""
    return f"(SELECT greatest(1, reltuples / {rows or ENOUGH}) FROM pg_class WHERE oid = '{table}'::regclass)"
