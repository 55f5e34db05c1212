"""Read a whole table for an export: as rows, as CSV that the server writes, or as Arrow; and the lake's rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from realestate.storage.errors import StoreError
from realestate.storage.export import ALL_ROWS, DELISTED, FORMULA_STARTS, Column, Row, Selection, Table
from realestate.storage.lake import LAKE_TABLES, LakeTableName, Span
from realestate.storage.postgres.connection import Connection, Statements
from realestate.storage.postgres.query import where

#: Rows that are fetched at a time.
_TOGETHER = 2000
#: Bytes of a record batch. Larger batches compress a little better, but every batch is in memory.
_BATCH_BYTES = 8 * 1024 * 1024
#: A file that is written slowly may take hours.
UNHURRIED = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"
#: An index gives the order of a whole table: to sort millions of wide rows would fill the disk with temporary files.
_BY_INDEX = "SET LOCAL enable_sort = off"
_STARTS = ", ".join(str(ord(character)) for character in FORMULA_STARTS)
#: Always with six decimals: pandas guesses the form of a column from its first value.
_TIME_FORM = 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'


class PostgresExport:
    """See `storage.export.Export`, `CopiedAsCsv` and `ReadAsArrow`. All three read the same snapshot."""

    is_snapshot = True

    def __init__(self, url: str, cursor: Any, table: Table, source: str, settings: str = UNHURRIED) -> None:
        """`source` is what the rows are selected from, with its values in it. A transaction is open."""
        self.table = table
        self._url = url
        self._cursor = cursor
        self._source = source
        self._settings = settings
        cursor.execute(f"SELECT count(*), coalesce(sum({_hash(table)}), 0) FROM {source}")
        count, checksum = cursor.fetchone()
        self.count = int(count)
        self.checksum = int(checksum)

    def rows(self) -> Iterator[Sequence[Row]]:
        self._cursor.execute(f"DECLARE exported CURSOR FOR {self._select(_value)}")
        while True:
            self._cursor.execute(f"FETCH {_TOGETHER} FROM exported")
            if not (rows := self._cursor.fetchall()):
                break
            yield rows
        self._cursor.execute("CLOSE exported")

    def copy_csv(self, write: Callable[[bytes], object]) -> None:
        self._cursor.copy_expert(f"COPY ({self._select(_csv_text)}) TO STDOUT WITH (FORMAT csv)", _Rows(write))

    def record_batches(self) -> Iterator[Any]:
        """Reads on a connection of its own, in the snapshot of the other one."""
        # Not its module `dbapi`, which imports pandas and polars where they are installed: 70 MB.
        import adbc_driver_manager as adbc
        import adbc_driver_postgresql
        import pyarrow as pa

        self._cursor.execute("SELECT pg_export_snapshot()")
        ((snapshot,),) = self._cursor.fetchall()
        settings = self._settings.split(";")
        in_snapshot = (
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
            f"SET TRANSACTION SNAPSHOT '{snapshot}'",
        )
        try:
            with (
                adbc_driver_postgresql.connect(self._url) as database,
                adbc.AdbcConnection(database) as connection,
                adbc.AdbcStatement(connection) as statement,
            ):
                connection.set_autocommit(False)
                for command in (*in_snapshot, *settings):
                    statement.set_sql_query(command)
                    statement.execute_update()
                statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)})
                statement.set_sql_query(self._select(_arrow_value))
                stream, _ = statement.execute_query()
                yield from pa.RecordBatchReader.from_stream(stream)
        except adbc.Error as error:
            raise StoreError(f"PostgreSQL: {str(error).partition(chr(10))[0]}") from error

    def _select(self, form: Callable[[Column, str], str]) -> str:
        columns = [f'{form(each, _expression(self.table, each))} AS "{each.name}"' for each in self.table.columns]
        listed = ", ".join([_hash(self.table), *columns])
        # the week as it is stored, not as it is exported: the index has it so
        order = ["market_weekly.week" if name == "week" else name for name in self.table.order]
        return f"SELECT {listed} FROM {self._source} ORDER BY {', '.join(order)}"


class _Rows:
    """A file for psycopg2, which calls `write` once for each row: libpq returns one row at a time."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.write = write


def _hash(table: Table) -> str:
    """The expression of `row_hash`."""
    identity = " || '/' || ".join(f"coalesce({name}::text, '')" for name in table.identity)
    return f"('x' || left(md5({identity}), 8))::bit(32)::bigint"


_OF_OTHERS: dict[type, str] = {int: "bigint", Decimal: "numeric", datetime: "timestamptz", str: "text"}
_COLUMNS_OF_OTHERS = ("portal", "ref", "url", "revision", "first_seen_at", "last_seen_at")


def _expression(table: Table, column: Column) -> str:
    """The column's value in SQL, of the type it has in the database."""
    if column.name in DELISTED:
        return f"{'lower' if column.name == DELISTED[0] else 'upper'}(delisted_at)"
    if table.kind and column.name not in _COLUMNS_OF_OTHERS:
        value = f"(data ->> '{column.name}')::{_OF_OTHERS[column.type]}"
        return f"trim_scale(round({value}, {column.decimals}))" if column.type is Decimal else value
    # a day, which is a text in an export
    return "week::text" if column.name == "week" else f'"{column.name}"'


def _value(column: Column, value: str) -> str:
    return value


def _arrow_value(column: Column, value: str) -> str:
    if column.type is int:
        return f"{value}::bigint"
    return f"{value}::text" if column.type is dict else value


def _csv_text(column: Column, value: str) -> str:
    if column.type is str:
        return f"CASE WHEN ascii({value}) IN ({_STARTS}) THEN '''' || {value} ELSE {value} END"
    if column.type is datetime:
        return f"to_char({value} AT TIME ZONE 'UTC', '{_TIME_FORM}')"
    if column.type is list:
        return f"to_json({value})::text"
    return f"{value}::text" if column.type in (bool, dict) else value


class ExportedTables:
    """Exports of the store."""

    connection: Connection

    @contextmanager
    def exported(self, table: Table, selection: Selection = ALL_ROWS) -> Iterator[PostgresExport]:
        is_whole = selection == ALL_ROWS
        settings = f"{UNHURRIED}; {_BY_INDEX}" if is_whole else UNHURRIED
        with self.connection.cursor(watched=False) as cursor:
            cursor.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; {settings}")
            conditions, values = _conditions(table, selection)
            only = f" WHERE {' AND '.join(conditions)}" if conditions else ""
            source = cursor.mogrify(f"{'others' if table.kind else table.name}{only}", values).decode()
            yield PostgresExport(self.connection.url, cursor, table, source, settings)
            cursor.execute("ROLLBACK")


def _conditions(table: Table, selection: Selection) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    if table.kind:
        conditions.append("kind = %s")
        values.append(table.kind)
    if filter := selection.listings(table):
        sql = where(filter)
        matching = f"SELECT portal, ref FROM summaries WHERE {sql.where}"
        if table.name == "homes":
            conditions.append(f"home IN (SELECT home FROM home_listings WHERE (portal, ref) IN ({matching}))")
        else:
            conditions.append(f"(portal, ref) IN ({matching})")
        values += sql.values
    if earliest := selection.earliest(table):
        column, since = earliest
        conditions.append(f'"{column}" >= %s')
        values.append(since)
    return conditions, values


#: The listings with events of the span.
_TOUCHED = """
    SELECT portal, ref, max(seq) AS seq, max(at) AS changed_at, max(revision) AS newest,
           (SELECT max(revision) FROM events AS earlier
            WHERE (earlier.portal, earlier.ref) = (events.portal, events.ref) AND earlier.seq <= %(after)s) AS before
    FROM events WHERE seq > %(after)s AND seq <= %(upto)s GROUP BY portal, ref
"""
_SOURCES: dict[LakeTableName, str] = {
    "events": "(SELECT * FROM events WHERE seq > %(after)s AND seq <= %(upto)s) AS events",
    "prices": f"""(
        SELECT prices.*, (
            SELECT min(seq) FROM events AS own
            WHERE (own.portal, own.ref) = (prices.portal, prices.ref) AND own.revision >= prices.revision
        ) AS seq
        FROM ({_TOUCHED}) AS touched JOIN prices USING (portal, ref)
        WHERE prices.revision > coalesce(before, -1) AND prices.revision <= newest
    ) AS prices""",
    "versions": f"""(
        SELECT listings.*, touched.seq, touched.changed_at
        FROM ({_TOUCHED}) AS touched JOIN listings USING (portal, ref)
        WHERE NOT EXISTS (
            SELECT FROM events AS later
            WHERE (later.portal, later.ref) = (touched.portal, touched.ref) AND later.seq > %(upto)s
        )
    ) AS versions""",
}


class LakeReader(Statements):
    """See `LakeStore`."""

    def erased_listings(self) -> Sequence[tuple[str, str]]:
        rows = self._ask("SELECT what FROM erased WHERE kind = 'listing'")
        return [(portal, ref) for portal, _, ref in (what.partition("/") for (what,) in rows)]

    @contextmanager
    def changed(self, name: LakeTableName, span: Span) -> Iterator[PostgresExport]:
        with self.connection.cursor(watched=False) as cursor:
            cursor.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; {UNHURRIED}")
            source = cursor.mogrify(_SOURCES[name], span._asdict()).decode()
            yield PostgresExport(self.connection.url, cursor, LAKE_TABLES[name], source)
            cursor.execute("ROLLBACK")
