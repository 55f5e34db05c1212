"""Reading: listings, their history, and what follows from them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from realestate.items import FIELDS, as_record
from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.history import Event, PriceSeen
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.rows import listing_of
from realestate.storage.store import Known, MarketRow, MedianRow, Numbered

#: Rows of one answer, where all are asked for.
_PAGE = 1000

_EVENT = "portal, ref, revision, type, at, run, data"
_PRICE = "portal, ref, revision, at, run, source, price, currency, price_basis, rent_period, suspect"
_COUNTS = """
    SELECT portal, sum(listings)::int, sum(quarantined)::int FROM (
        SELECT portal, count(*) AS listings, 0 AS quarantined FROM listings GROUP BY portal
        UNION ALL SELECT portal, 0, count(*) FROM quarantine GROUP BY portal {others}
    ) AS all_tables GROUP BY portal ORDER BY portal
"""
_OTHERS = "UNION ALL SELECT portal, count(*), 0 FROM others GROUP BY portal"
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
#: So many listings tell what is usual as well as millions do, which it takes seconds to read and sort; and as nobody
#: waits for it, one processor is enough.
_ENOUGH = 100_000
_MEDIANS = f"""
    SET LOCAL max_parallel_workers_per_gather = 0;
    SELECT country, city, district, operation, property_type, rent_period, currency,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY price_per_m2)::double precision, count(*)::int
    FROM listings TABLESAMPLE SYSTEM (
        (SELECT least(100, 100 * {_ENOUGH} / greatest(reltuples, 1)) FROM pg_class WHERE oid = 'listings'::regclass))
    WHERE price_per_m2 IS NOT NULL AND city IS NOT NULL AND operation IS NOT NULL AND property_type IS NOT NULL
      AND status <> ALL (%s)
    GROUP BY 1, 2, 3, 4, 5, 6, 7
"""


class Reading:
    """The part of the store that answers."""

    connection: Connection

    def counts(self) -> dict[str, tuple[int, int]]:
        """Does not migrate: who only looks changes nothing. A database without our tables is empty."""
        with self.connection.cursor(migrated=False) as cursor:
            cursor.execute("SELECT to_regclass('listings'), to_regclass('quarantine'), to_regclass('others')")
            *tables, others = cursor.fetchone()
            if None in tables:
                return {}
            cursor.execute(_COUNTS.format(others=_OTHERS if others else ""))
            return {portal: (kept, bad) for portal, kept, bad in cursor.fetchall()}

    def records(self, portal: str) -> Iterator[dict[str, Any]]:
        """In pages: who reads slowly holds up nobody."""
        page = f"SELECT {', '.join(FIELDS)} FROM listings WHERE portal = %s AND ref > %s ORDER BY ref LIMIT {_PAGE}"
        last = ""
        while rows := self._rows(page, portal, last):
            listings = [listing_of(row) for row in rows]
            yield from map(as_record, listings)
            last = listings[-1].ref

    def events(self, after: int = 0, limit: int = 1000) -> Sequence[Numbered]:
        rows = self._rows(f"SELECT seq, {_EVENT} FROM events WHERE seq > %s ORDER BY seq LIMIT %s", after, limit)
        return [Numbered(seq, Event(*event)) for seq, *event in rows]

    def history(self, portal: str, ref: str) -> Sequence[Event]:
        rows = self._rows(f"SELECT {_EVENT} FROM events WHERE (portal, ref) = (%s, %s) ORDER BY seq", portal, ref)
        return [Event(*row) for row in rows]

    def prices(self, portal: str, ref: str) -> Sequence[PriceSeen]:
        rows = self._rows(f"SELECT {_PRICE} FROM prices WHERE (portal, ref) = (%s, %s) ORDER BY revision", portal, ref)
        return [PriceSeen(*row) for row in rows]

    def known(self, portal: str, refs: Sequence[str]) -> Mapping[str, Known]:
        wanted = "SELECT ref, status, price, currency, last_fetched_at, updated_at FROM listings"
        rows = self._rows(f"{wanted} WHERE portal = %s AND ref = ANY (%s)", portal, list(refs))
        return {ref: Known(*told) for ref, *told in rows}

    def watermark(self, portal: str, scope: str) -> str | None:
        rows = self._rows("SELECT value FROM watermarks WHERE (portal, scope) = (%s, %s)", portal, scope)
        return rows[0][0] if rows else None

    def set_watermark(self, portal: str, scope: str, value: str, run: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO watermarks (portal, scope, value, run) VALUES (%s, %s, %s, %s) ON CONFLICT (portal, scope)"
                " DO UPDATE SET value = excluded.value, run = excluded.run, set_at = now()",
                (portal, scope, value, run),
            )

    def market(self, country: str | None = None) -> list[MarketRow]:
        with self.connection.cursor() as cursor:
            cursor.execute(_MARKET, {"country": country})
            return [MarketRow(*row) for row in cursor.fetchall()]

    def medians(self) -> list[MedianRow]:
        return [MedianRow(*row) for row in self._rows(_MEDIANS, list(OFF_THE_MARKET))]

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor)
