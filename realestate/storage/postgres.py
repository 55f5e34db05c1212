"""The store in PostgreSQL."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

import msgspec
import psycopg2
from psycopg2.extensions import parse_dsn
from psycopg2.extras import DateTimeTZRange, Json, execute_values

from realestate.items import FIELDS, Listing, as_record
from realestate.storage.errors import StoreAway, StoreError
from realestate.storage.migrate import migrate
from realestate.storage.store import MarketRow, MedianRow, Quarantined, Written

#: A database that vanished without a word is noticed within half a minute.
_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
#: Times the database sets itself, so that no worker's clock matters.
_CLOCK = ("first_seen_at", "last_seen_at", "last_fetched_at")
_WRITTEN = tuple(name for name in FIELDS if name not in _CLOCK)
_UPDATED = [f"{name} = excluded.{name}" for name in _WRITTEN if name not in ("portal", "ref")]

_UPSERT = f"""
    INSERT INTO listings ({", ".join(_WRITTEN)}) VALUES %s
    ON CONFLICT (portal, ref) DO UPDATE
    SET {", ".join(_UPDATED)}, last_seen_at = now(), last_fetched_at = now()
    RETURNING xmax = 0
"""
_QUARANTINE = """
    INSERT INTO quarantine (portal, fingerprint, ref, url, errors, record) VALUES %s
    ON CONFLICT (portal, fingerprint) DO NOTHING
"""
_COUNTS = """
    SELECT portal, sum(listings)::int, sum(quarantined)::int FROM (
        SELECT portal, count(*) AS listings, 0 AS quarantined FROM listings GROUP BY portal
        UNION ALL SELECT portal, 0, count(*) FROM quarantine GROUP BY portal
    ) AS both_tables GROUP BY portal ORDER BY portal
"""
#: Daily rents would drown the monthly ones they stand beside.
_MARKET = """
    SELECT country, coalesce(city, '?'), coalesce(district, '?'), operation, currency, count(*)::int,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY price)::numeric(14, 0),
           percentile_cont(0.5) WITHIN GROUP (ORDER BY price_per_m2)::numeric(14, 2)
    FROM listings
    WHERE price IS NOT NULL AND status IN ('active', 'reserved') AND rent_period IS DISTINCT FROM 'day'
      AND property_type IN ('apartment', 'house') AND (%(country)s::text IS NULL OR country = %(country)s)
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 6 DESC, 1, 2, 3, 4
"""
_MEDIANS = """
    SELECT country, city, district, operation, property_type, rent_period, currency,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY price_per_m2::float8), count(*)::int
    FROM listings
    WHERE price_per_m2 IS NOT NULL AND city IS NOT NULL AND status IN ('active', 'reserved')
    GROUP BY 1, 2, 3, 4, 5, 6, 7
"""


class PostgresStore:
    """See `Store`. Connects and migrates when first used, and again after the database was away."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection: Any = None

    def migrate(self) -> None:
        with self._cursor():
            pass

    def write(self, listings: Sequence[Listing], quarantined: Sequence[Quarantined] = ()) -> Written:
        try:
            return self._write(listings, quarantined)
        except (psycopg2.DataError, psycopg2.IntegrityError, ValueError):
            return self._write_one_by_one(listings, quarantined)

    def counts(self) -> dict[str, tuple[int, int]]:
        with self._cursor() as cursor:
            cursor.execute(_COUNTS)
            return {portal: (kept, bad) for portal, kept, bad in cursor.fetchall()}

    def records(self, portal: str) -> Iterator[dict[str, Any]]:
        with self._cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(FIELDS)} FROM listings WHERE portal = %s ORDER BY ref", (portal,))
            for row in cursor:
                yield as_record(_listing(row))

    def market(self, country: str | None = None) -> list[MarketRow]:
        with self._cursor() as cursor:
            cursor.execute(_MARKET, {"country": country})
            return [MarketRow(*row) for row in cursor.fetchall()]

    def medians(self) -> list[MedianRow]:
        with self._cursor() as cursor:
            cursor.execute(_MEDIANS)
            return [MedianRow(*row) for row in cursor.fetchall()]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _write(self, listings: Sequence[Listing], quarantined: Sequence[Quarantined]) -> Written:
        # One row a listing, the last word wins; in one order everywhere, so that two workers cannot deadlock.
        newest = {(each.portal, each.ref): each for each in listings}
        rows = [_row(newest[key]) for key in sorted(newest)]
        bad = {row[:2]: row for row in sorted(map(_quarantine_row, quarantined), key=lambda row: row[:2])}
        with self._cursor() as cursor:
            outcome = execute_values(cursor, _UPSERT, rows, page_size=len(rows), fetch=True) if rows else []
            if bad:
                execute_values(cursor, _QUARANTINE, list(bad.values()), page_size=len(bad))
        new = sum(is_new for (is_new,) in outcome)
        return Written(new, len(rows) - new, len(bad))

    def _write_one_by_one(self, listings: Sequence[Listing], quarantined: Sequence[Quarantined]) -> Written:
        """The slow way after a refused batch: finds the row that spoilt it."""
        new = known = 0
        refused: list[Quarantined] = []
        for listing in listings:
            try:
                written = self._write([listing], ())
                new, known = new + written.new, known + written.known
            except (psycopg2.DataError, psycopg2.IntegrityError, ValueError) as error:
                reason = str(error).strip().partition("\n")[0]
                refused.append(Quarantined.of(listing, f"refused by the database: {reason}"))
        return Written(new, known, self._write((), [*quarantined, *refused]).quarantined)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        """A cursor in a transaction of its own."""
        try:
            if self._connection is None:
                self._connection = self._connected()
            with self._connection, self._connection.cursor() as cursor:
                yield cursor
        except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
            self.close()
            raise StoreAway(str(error).strip().partition("\n")[0]) from error
        except (psycopg2.DataError, psycopg2.IntegrityError):
            raise
        except psycopg2.Error as error:
            self.close()
            raise StoreError(f"PostgreSQL: {str(error).strip().partition(chr(10))[0]}") from error

    def _connected(self) -> Any:
        connection = psycopg2.connect(_readable(self.url), connect_timeout=10, **_KEEPALIVE)
        try:
            migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _readable(url: str) -> str:
    """Errors about a malformed address would repeat parts of it, perhaps of its password."""
    try:
        parse_dsn(url)
        urlsplit(url).port  # noqa: B018
    except (psycopg2.ProgrammingError, ValueError):
        raise StoreError("STORE_URL cannot be read: is a special character in it not %-encoded?") from None
    return url


def _row(listing: Listing) -> tuple[Any, ...]:
    return tuple(_value(getattr(listing, name)) for name in _WRITTEN)


def _value(value: Any) -> Any:
    match value:
        case frozenset():
            return sorted(value)
        case dict():
            return Json(value, dumps=_dumps)
        case (earliest, latest):
            return DateTimeTZRange(earliest, latest)
        case _:
            return value


def _listing(row: tuple[Any, ...]) -> Listing:
    told = dict(zip(FIELDS, row, strict=True))
    gone = told["delisted_at"]
    told["delisted_at"] = (gone.lower, gone.upper) if gone else None
    return Listing(**told | {name: frozenset(told[name]) for name in ("features", "quality_flags")})


def _quarantine_row(item: Quarantined) -> tuple[Any, ...]:
    errors, record = _storable(list(item.errors)), _storable(dict(item.record))
    fingerprint = blake2b(msgspec.json.encode([errors, record], enc_hook=repr), digest_size=16).hexdigest()
    told = (Json(errors, dumps=_dumps), Json(record, dumps=_dumps))
    return (item.portal, fingerprint, _storable(item.ref), _storable(item.url), *told)


def _storable(value: Any) -> Any:
    """Quarantine must take anything; PostgreSQL takes neither NUL nor half of a surrogate pair."""
    match value:
        case str():
            return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
        case dict():
            return {_storable(key): _storable(each) for key, each in value.items()}
        case list():
            return [_storable(each) for each in value]
        case _:
            return value


def _dumps(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=repr).decode()
