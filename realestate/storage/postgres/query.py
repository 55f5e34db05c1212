"""Questions about listings: from the table `summaries`. `listings` is read only for single rows, by its primary key."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from psycopg2.errors import QueryCanceled

from realestate.items import FIELDS, Listing
from realestate.storage.errors import StoreAway
from realestate.storage.postgres.conditions import DIMENSIONS, Sql, add_box, tally_condition, where
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.read import ListingReader, QuarantineAndPageIndex
from realestate.storage.postgres.rows import listing_of
from realestate.storage.query import (
    EVERYTHING,
    FACETS,
    QUERY_FIELDS,
    Box,
    Count,
    Facet,
    Filter,
    Hexagon,
    ListingDetail,
    ListingQuery,
    MapPoint,
    Page,
    QueryError,
    facts_of,
)
from realestate.storage.query.asked import Place
from realestate.storage.query.fields import DERIVED, SEEN_TIMES
from realestate.storage.query.hexagons import TALLIED, cell_name, demand_resolution, hexagons, widened
from realestate.storage.query.results import COUNTED, MOST_POINTS, demand_facets, most_frequent

#: A question that takes longer is given up.
LONGEST_SECONDS = 10
_PAGE_ROWS = 1000
#: Columns of `summaries` that a result row may have. Other fields are read from `listings`.
_KEPT = frozenset(QUERY_FIELDS) - frozenset(SEEN_TIMES)
#: The columns of `summaries` that depend on events.
_FROM_EVENTS = ("changed_at", "price_changed_at", "cheaper_by")
_FACETS_OF = "SELECT {name!r}, {name}::text, count(*)::int FROM found GROUP BY 2"
_WHOLE_NUMBERS = tuple(name for name in FACETS if QUERY_FIELDS[name] is int)


class PostgresQueries(ListingReader, QuarantineAndPageIndex):
    """See `query.QueryStore`."""

    connection: Connection

    def search(self, query: ListingQuery) -> Page:
        rows = self._page(query)
        more = len(rows) > query.page_size
        rows = rows[: query.page_size]
        names = ("portal", "ref", query.sort_field, *_kept(query.fields))
        found = [dict(zip(names, row, strict=True)) for row in rows]
        after = query.cursor_after(Place(*(rows[-1][place] for place in (2, 0, 1)))) if more else None
        self._add_fields(found, query.fields)
        return Page([{name: row[name] for name in query.fields} for row in found], after)

    def _page(self, query: ListingQuery) -> list[tuple[Any, ...]]:
        """The rows of the page and one more. Those with a value of the sort field come first, then those without."""
        found: list[tuple[Any, ...]] = []
        if query.after is None or query.after.value is not None:
            found = self._rows_of(query, query.page_size + 1, with_value=True)
        if len(found) <= query.page_size and query.sort_field not in _NEVER_MISSING:
            found += self._rows_of(query, query.page_size + 1 - len(found), with_value=False)
        return found

    def _rows_of(self, query: ListingQuery, limit: int, *, with_value: bool) -> list[tuple[Any, ...]]:
        sql = where(query.filter)
        name = query.sort_field
        direction, beyond = (" DESC", "<") if query.is_descending else ("", ">")
        if name not in _NEVER_MISSING:
            sql.add(f"{name} IS NOT NULL" if with_value else f"{name} IS NULL")
        keys = (name, "portal", "ref") if with_value else ("portal", "ref")
        after = query.after
        if after is not None and with_value:
            sql.add(f"({name}, portal, ref) {beyond} (%s, %s, %s)", *after)
        elif after is not None and after.value is None:
            sql.add(f"(portal, ref) {beyond} (%s, %s)", after.portal, after.ref)
        order = ", ".join(f"{key}{direction}" for key in keys)
        columns = ", ".join(("portal", "ref", name, *_kept(query.fields)))
        return self._asked(f"SELECT {columns} FROM summaries WHERE {sql.where} ORDER BY {order} LIMIT %s", sql, limit)

    def _add_fields(self, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
        """Add what only `listings` has."""
        missing = [name for name in names if name not in _KEPT]
        if not missing or not rows:
            return
        keys = [[row["portal"] for row in rows], [row["ref"] for row in rows]]
        found = {(each.portal, each.ref): each for each in self._listings(*keys)}
        for row in rows:
            listing = found.get((row["portal"], row["ref"]))
            row |= {name: getattr(listing, name, None) for name in missing}

    def _listings(self, portals: Sequence[str], refs: Sequence[str]) -> list[Listing]:
        columns = ", ".join(f"known.{name}" for name in FIELDS)
        statement = (
            f"SET LOCAL enable_seqscan = off; SELECT {columns}"
            " FROM unnest(%s::text[], %s::text[]) AS asked (portal, ref) JOIN listings AS known USING (portal, ref)"
        )
        return [listing_of(row) for row in self._asked(statement, Sql(values=[list(portals), list(refs)]))]

    def count(self, filter: Filter = EVERYTHING) -> Count:
        if tallied := tally_condition(filter):
            statement = f"SELECT coalesce(sum(count), 0)::int FROM tallies WHERE field = 'status' AND {tallied.where}"
            return Count(self._asked(statement, tallied)[0][0], True)
        sql = where(filter)
        some = f"SELECT FROM summaries WHERE {sql.where} LIMIT {COUNTED + 1}"
        ((number,),) = self._asked(f"SELECT count(*)::int FROM ({some}) AS found", sql)
        return Count(min(number, COUNTED), number <= COUNTED)

    def facets(self, filter: Filter = EVERYTHING, fields: Sequence[str] = FACETS) -> Sequence[Facet]:
        demand_facets(fields)
        if tallied := tally_condition(filter):
            return self._tallied_facets(tallied, fields)
        sql = where(filter)
        counts = " UNION ALL ".join(_FACETS_OF.format(name=name) for name in fields)
        some = f"SELECT {', '.join(fields)} FROM summaries WHERE {sql.where} LIMIT {COUNTED + 1}"
        statement = (
            f"WITH found AS MATERIALIZED ({some}) {counts} UNION ALL SELECT 'all', NULL, count(*)::int FROM found"
        )
        found: dict[str, dict[Any, int]] = {name: {} for name in ("all", *fields)}
        for name, value, count in self._asked(statement, sql):
            found[name][_facet_value(name, value)] = count
        is_exact = found["all"][None] <= COUNTED
        return [Facet(name, most_frequent(found[name]), is_exact) for name in fields]

    def _tallied_facets(self, tallied: Sql, fields: Sequence[str]) -> Sequence[Facet]:
        """Of a dimension of the tallies, the rows of `status` are added up: each listing is in one of them."""
        sums = " UNION ALL ".join(
            f"SELECT {name!r}, {name if name in DIMENSIONS else 'value'}, sum(count)::int FROM tallies"
            f" WHERE field = {('status' if name in DIMENSIONS else name)!r} AND {tallied.where} GROUP BY 2"
            for name in fields
        )
        found: dict[str, dict[Any, int]] = {name: {} for name in fields}
        for name, value, count in self._asked(sums, Sql(values=tallied.values * len(fields))):
            if count:
                found[name][_facet_value(name, value or None)] = count
        return [Facet(name, most_frequent(found[name]), True) for name in fields]

    def hexagons(self, filter: Filter, resolution: int, box: Box | None = None) -> Sequence[Hexagon]:
        demand_resolution(resolution)
        level = next((each for each in TALLIED if resolution <= each), None)
        tallied = tally_condition(filter)
        if tallied and level:
            rows = self._asked(
                f"SELECT cell_at(value::bigint, {resolution}) AS found, sum(count)::int FROM tallies"
                f" WHERE field = 'hexagon{level}' AND value <> '' AND {tallied.where} GROUP BY 1 HAVING sum(count) > 0",
                tallied,
            )
        else:
            sql = where(filter)
            sql.add("cell IS NOT NULL")
            if box is not None:
                add_box(sql, widened(box, resolution))
            cell = f"cell_at(cell, {resolution})"
            rows = self._asked(f"SELECT {cell}, count(*)::int FROM summaries WHERE {sql.where} GROUP BY 1", sql)
        return hexagons({cell_name(cell): count for cell, count in rows}, box)

    def points(self, filter: Filter, box: Box, limit: int = MOST_POINTS) -> Sequence[MapPoint]:
        sql = where(filter)
        add_box(sql, box)
        columns = "portal, ref, longitude, latitude, price, currency"
        rows = self._asked(f"SELECT {columns} FROM summaries WHERE {sql.where} LIMIT %s", sql, min(limit, MOST_POINTS))
        return [MapPoint(*row) for row in rows]

    def detail(self, portal: str, ref: str) -> ListingDetail | None:
        listings = self._listings([portal], [ref])
        if not listings:
            return None
        facts = self.facts(portal, [ref]).get(ref, facts_of(listings[0]))
        return ListingDetail(
            listings[0],
            {name: facts[name] for name in DERIVED},
            self.history(portal, ref),
            self.prices(portal, ref),
            self.snapshots(portal, ref),
        )

    def facts(self, portal: str, refs: Sequence[str]) -> dict[str, dict[str, Any]]:
        listings = self._listings([portal] * len(refs), refs)
        statement = f"SELECT ref, {', '.join(_FROM_EVENTS)} FROM summaries WHERE portal = %s AND ref = ANY (%s)"
        rows = self._asked(statement, Sql(values=[portal, list(refs)]))
        moved = {ref: dict(zip(_FROM_EVENTS, values, strict=True)) for ref, *values in rows}
        return {each.ref: facts_of(each) | moved.get(each.ref, {}) for each in listings}

    def matching(self, filter: Filter = EVERYTHING) -> Iterator[Listing]:
        after: tuple[str, str] | None = None
        while True:
            sql = where(filter)
            if after is not None:
                sql.add("(portal, ref) > (%s, %s)", *after)
            order = "ORDER BY portal, ref LIMIT %s"
            keys = self._asked(f"SELECT portal, ref FROM summaries WHERE {sql.where} {order}", sql, _PAGE_ROWS)
            if keys:
                listings = self._listings(*map(list, zip(*keys, strict=True)))
                by_key = {(each.portal, each.ref): each for each in listings}
                yield from (by_key[key] for key in keys if key in by_key)
                after = keys[-1]
            if len(keys) < _PAGE_ROWS:
                return

    def query_time(self) -> datetime:
        ((now,),) = self._asked("SELECT now()", Sql())
        return now  # type: ignore[no-any-return]

    def _asked(self, statement: str, sql: Sql, *more: Any) -> list[tuple[Any, ...]]:
        """Execute the statement with the values of `sql` and these. A QueryError if it takes too long."""
        try:
            with self.connection.cursor() as cursor:
                limited = f"SET LOCAL statement_timeout = '{LONGEST_SECONDS}s'; {statement}"
                cursor.execute(limited, [*sql.values, *more])
                return list(cursor)
        except StoreAway as error:
            if isinstance(error.__cause__, QueryCanceled):
                raise QueryError(f"this takes longer than {LONGEST_SECONDS} seconds: add a condition") from error
            raise


_NEVER_MISSING = ("first_seen_at", "changed_at")


def _kept(names: Sequence[str]) -> list[str]:
    """The wanted columns of `summaries`, without those that every row has."""
    return [name for name in names if name in _KEPT]


def _facet_value(name: str, value: str | None) -> str | int | None:
    return int(value) if value is not None and name in _WHOLE_NUMBERS else value
