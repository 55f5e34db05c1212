"""A PostgreSQL database for one measure, and the plain ways to write into it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import psycopg2
from psycopg2.extras import Json

from bench.rig.context import Context
from realestate.items import Listing
from realestate.storage.postgres import PostgresStore
from realestate.storage.postgres.rows import COLUMNS, OPTIONS, fields_of, line

_NAMES = ", ".join(COLUMNS)
_EMPTY = "TRUNCATE listings, summaries, tallies, events, prices, quarantine, departures, jobs; CHECKPOINT"
#: The peers write into a table without our triggers.
_PLAIN_TABLE = "SET session_replication_role = replica"
#: Makes as many listings as wanted of those in the table, with other numbers, prices and places, and a history each.
_MULTIPLY = f"""
    CREATE TEMPORARY TABLE patterns AS SELECT *, row_number() OVER () - 1 AS number FROM listings;
    INSERT INTO listings ({_NAMES}, revision)
    SELECT {", ".join(f"made.{name}" for name in COLUMNS)}, 1 FROM (
        SELECT {", ".join(f"patterns.{name}" for name in COLUMNS if name not in ("ref", "price", "latitude"))},
               (10000000 + made)::text AS ref, round((price * (0.5 + random()))::numeric) AS price,
               latitude + random() / 10 AS latitude
        FROM generate_series(1, %(count)s) AS made
        JOIN patterns ON number = made %% (SELECT count(*) FROM patterns)
    ) AS made;
    INSERT INTO events (portal, ref, revision, type, at, job, data)
    SELECT portal, ref, 1, 'listed', first_seen_at, '', jsonb_build_object('price', price, 'currency', currency)
    FROM listings ON CONFLICT DO NOTHING;
    INSERT INTO prices
    SELECT portal, ref, 1, first_seen_at, '', 'listing', price, currency, price_basis, rent_period, false
    FROM listings ON CONFLICT DO NOTHING;
    DROP TABLE patterns
"""


class Database:
    """A store, and a connection beside it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.store = PostgresStore(url)
        self.store.migrate()
        self._connection = psycopg2.connect(url)

    def close(self) -> None:
        self.store.close()
        self._connection.close()

    def ask(self, statement: str, *values: Any) -> None:
        self._outside(lambda cursor: cursor.execute(statement, values or None))

    def count(self, table: str, portal: str | None = None) -> int:
        """The number of committed rows, of one portal or of all."""
        with self._connection, self._connection.cursor() as cursor:
            if portal is None:
                cursor.execute(f"SELECT count(*) FROM {table}")
            else:
                cursor.execute(f"SELECT count(*) FROM {table} WHERE portal = %s", [portal])
            counted: tuple[int] = cursor.fetchone()  # type: ignore[assignment]
        return counted[0]

    def empty(self) -> None:
        """Empty the tables and write a checkpoint."""
        self.ask(_EMPTY)

    def fill(self, count: int) -> None:
        """Fill the table quickly with about this many listings."""
        with self.transaction() as cursor:
            cursor.execute(_MULTIPLY, {"count": count})
        self.analyze()

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with self._connection, self._connection.cursor() as cursor:
            yield cursor

    def analyze(self) -> None:
        """Do at once what autovacuum does after a while."""
        for table in ("listings", "summaries", "tallies", "events", "prices"):
            self.ask(f"VACUUM ANALYZE {table}")
        self.ask("CHECKPOINT")

    def insert_one_by_one(self, listings: Sequence[Listing]) -> None:
        """Write as most pipelines do: one INSERT and COMMIT per listing."""
        insert = f"INSERT INTO listings ({_NAMES}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"
        with self._without_triggers() as cursor:
            for listing in listings:
                cursor.execute(insert, [_adapted(getattr(listing, name)) for name in COLUMNS])
                self._connection.commit()

    def copy(self, lines: bytes) -> None:
        with self._without_triggers() as cursor:
            cursor.copy_expert(f"COPY listings ({_NAMES}) FROM STDIN WITH {OPTIONS}", BytesIO(lines))
            self._connection.commit()

    @contextmanager
    def _without_triggers(self) -> Iterator[Any]:
        with self._connection.cursor() as cursor:
            cursor.execute(_PLAIN_TABLE)
            self._connection.commit()
            yield cursor
            cursor.execute("RESET session_replication_role")
            self._connection.commit()

    def _outside(self, act: Callable[[Any], None]) -> None:
        """Run outside a transaction, which some statements require."""
        self._connection.rollback()
        self._connection.autocommit = True
        with self._connection.cursor() as cursor:
            act(cursor)
        self._connection.autocommit = False


def lines(listings: Sequence[Listing]) -> bytes:
    """Ready to be copied."""
    return b"".join(line(fields_of(listing)) + b"\n" for listing in listings)


@contextmanager
def database(context: Context, name: str) -> Iterator[Database]:
    connection = psycopg2.connect(context.services.store_url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        found = Database(urlsplit(context.services.store_url)._replace(path=f"/{name}").geturl())
        try:
            yield found
        finally:
            found.close()
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
            connection.close()


def _adapted(value: Any) -> Any:
    match value:
        case frozenset():
            return sorted(value)
        case dict():
            return Json(value)
        case _:
            return value
