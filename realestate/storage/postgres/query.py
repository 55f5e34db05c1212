"""Questions about listings: from the table `summaries`. `listings` is read only for single rows, by its primary key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from psycopg2.errors import QueryCanceled

from realestate.items import FIELDS, Listing
from realestate.storage.errors import StoreAway
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.read import ListingReader, QuarantineAndPageIndex
from realestate.storage.postgres.rows import listing_of
from realestate.storage.postgres.sampling import sampled
from realestate.storage.query import (
    EVERYTHING,
    FACETS,
    QUERY_FIELDS,
    Box,
    Comparison,
    Count,
    Facet,
    Filter,
    Hexagon,
    ListingDetail,
    ListingQuery,
    MapPoint,
    Page,
    Polygon,
    Words,
    facts_of,
)
from realestate.storage.query.conditions import ON_THE_MARKET, Condition, Value
from realestate.storage.query.fields import DERIVED, SEEN_TIMES, TEXT_FIELDS
from realestate.storage.query.folding import LONGEST_WORD
from realestate.storage.query.hexagons import TALLIED, cell_name, demand_resolution, hexagons, parts, widened
from realestate.storage.query.listing_query import Place
from realestate.storage.query.places import FEWEST_OF_DISTRICT, MOST_DISTRICTS, District, PricedPlace, PricedPlaces
from realestate.storage.query.results import (
    COUNTED,
    LONGEST_SECONDS,
    MOST_POINTS,
    TooSlow,
    demand_facets,
    most_frequent,
)

#: PostgreSQL takes for the edge of a polygon what is nearer than a millionth, of an area: with degrees that would be a
#: hundred metres beside a short edge. So polygons are compared in millionths of a degree.
_MILLIONTH = 1000000.0
#: Fields of summaries that are sets.
_SETS = tuple(name for name, kind in QUERY_FIELDS.items() if kind is frozenset)


@dataclass(slots=True)
class Sql:
    """A condition with its parameters, in the style of psycopg2."""

    conditions: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, condition: str, *values: Any) -> None:
        self.conditions.append(condition)
        self.values += values

    @property
    def where(self) -> str:
        return " AND ".join(self.conditions) or "true"


def where(filter: Filter) -> Sql:
    """Return the condition of the filter."""
    sql = Sql()
    for condition in filter:
        _add(sql, condition)
    return sql


def _add(sql: Sql, condition: Condition) -> None:
    match condition:
        case Comparison(field="status", operator="=", values=values) if set(values) <= set(ON_THE_MARKET):
            sql.add("on_market")  # the condition of the partial indexes
            if set(values) != set(ON_THE_MARKET):
                sql.add("status = ANY (%s)", list(values))
        case Comparison():
            _compare(sql, condition)
        case Words():
            _add_words(sql, condition)
        case Box():
            add_box(sql, condition)
        case Polygon():
            add_box(sql, condition.box)
            corners = ",".join(f"({x * _MILLIONTH!r},{y * _MILLIONTH!r})" for x, y in condition.corners)
            within = f"point(longitude * {_MILLIONTH}, latitude * {_MILLIONTH}) <@ %s::polygon"
            sql.add(within, f"({corners})")


#: The fields by which tallies are kept apart.
DIMENSIONS = ("portal", "country", "operation")


def tally_condition(filter: Filter) -> Sql | None:
    """Return the condition of the filter on the table `tallies`; None if the tallies do not know enough."""
    sql = Sql()
    for condition in filter:
        match condition:
            case Comparison(field="status", operator="=", values=values) if set(values) == set(ON_THE_MARKET):
                sql.add("on_market")
            case Comparison(field=name, operator="=", values=values) if name in DIMENSIONS and None not in values:
                sql.add(f"{name} = ANY (%s)", list(values))
            case _:
                return None
    return sql


def add_box(sql: Sql, box: Box) -> None:
    corners = f"({box.west!r},{box.south!r}),({box.east!r},{box.north!r})"
    sql.add("place <@ %s::box", corners)


def _compare(sql: Sql, comparison: Comparison) -> None:
    name = _column(comparison.field)
    known = [value for value in comparison.values if value is not None]
    with_missing = len(known) < len(comparison.values)
    if comparison.operator not in ("=", "!="):
        sql.add(f"{name} {comparison.operator} {_parameter(known[0])}", known[0])
        return
    choices: list[str] = []
    values: list[Any] = []
    if comparison.field in _SETS:
        if known:
            choices.append(f"{name} && %s")
            values.append(known)
        if with_missing:
            choices.append(f"{name} = '{{}}'")
    else:
        if len(known) > 1 and not any(isinstance(each, timedelta) for each in known):
            choices.append(f"{name} = ANY (%s{_cast(comparison.field)})")
            values.append(known)
        elif known:  # one value is not a list of one: the order of an index is of use then
            choices += [f"{name} = {_parameter(each)}" for each in known]
            values += known
        if with_missing:
            choices.append(f"{name} IS NULL")
    either = " OR ".join(choices)
    sql.add(f"({either})" if comparison.operator == "=" else f"({either}) IS NOT TRUE", *values)


def _column(name: str) -> str:
    """The column, or for a time that summaries do not have, its value in the listing.

    A subquery with LIMIT is executed for one row at a time, by the primary key."""
    if name in SEEN_TIMES:
        return _of_listing(name)
    return name


def _of_listing(expression: str) -> str:
    return (
        f"(SELECT {expression} FROM listings AS known"
        " WHERE known.portal = summaries.portal AND known.ref = summaries.ref LIMIT 1)"
    )


def _parameter(value: Value) -> str:
    return "now() - %s" if isinstance(value, timedelta) else "%s"


#: The types of arrays: psycopg2 cannot know them of every value.
_ARRAYS: dict[type, str] = {Decimal: "::numeric[]", float: "::double precision[]", str: "::text[]"}


def _cast(field: str) -> str:
    return _ARRAYS.get(QUERY_FIELDS[field], "")


def _add_words(sql: Sql, words: Words) -> None:
    """`words` of a summary has the words of all text fields, so the index finds candidates also for one field."""
    if words.field in ("text", *TEXT_FIELDS):
        beginnings = " & ".join(f"'{word[:LONGEST_WORD]}':*" for word in words.words)
        sql.add("words @@ %s::tsquery", beginnings)
    if words.field == "text":
        return
    name = _of_listing("description") if words.field == "description" else words.field
    text = f"listing_words({name})"
    patterns = [f"% {word}%" for word in words.words]
    sql.add(f"{text} LIKE ALL (%s)" if len(patterns) > 1 else f"{text} LIKE %s", _one_or_all(patterns))


def _one_or_all(values: Sequence[str]) -> Any:
    return list(values) if len(values) > 1 else values[0]


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
            rows = self._tallied_hexagons(tallied, resolution, level, box)
        else:
            sql = where(filter)
            sql.add("cell IS NOT NULL")
            if box is not None:
                add_box(sql, widened(box, resolution))
            cell = f"cell_at(cell, {resolution})"
            rows = self._asked(f"SELECT {cell}, count(*)::int FROM summaries WHERE {sql.where} GROUP BY 1", sql)
        return hexagons({cell_name(cell): count for cell, count in rows}, box)

    def _tallied_hexagons(self, tallied: Sql, resolution: int, level: int, box: Box | None) -> list[tuple[Any, ...]]:
        """With a box, only the tallies of its parts are read: of the finest cells there are very many."""
        source, values = "tallies", tallied.values
        if box is not None and level == TALLIED[-1] and (found := parts(box, level)):
            source = (
                "unnest(%s::text[], %s::text[]) AS part (low, high)"
                f" JOIN tallies ON field = 'hexagon{level}' AND value BETWEEN low AND high"
            )
            values = [*(list(map(str, ends)) for ends in zip(*found, strict=True)), *values]
        return self._asked(
            f"SELECT cell_at(value::bigint, {resolution}) AS found, sum(count)::int FROM {source}"
            f" WHERE field = 'hexagon{level}' AND value <> '' AND {tallied.where} GROUP BY 1 HAVING sum(count) > 0",
            Sql(values=values),
        )

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
                raise TooSlow from error
            raise


_NEVER_MISSING = ("first_seen_at", "changed_at")


def _kept(names: Sequence[str]) -> list[str]:
    """The wanted columns of `summaries`, without those that every row has."""
    return [name for name in names if name in _KEPT]


def _facet_value(name: str, value: str | None) -> str | int | None:
    return int(value) if value is not None and name in _WHOLE_NUMBERS else value


_DISTRICTS = f"""
    SELECT country, coalesce(city, ''), coalesce(district, city), avg(longitude), avg(latitude), count(*)::int
    FROM summaries WHERE on_market AND place IS NOT NULL AND coalesce(district, city) IS NOT NULL
    GROUP BY 1, 2, 3 HAVING count(*) >= {FEWEST_OF_DISTRICT} ORDER BY 6 DESC, 1, 2, 3 LIMIT {MOST_DISTRICTS}
"""
_PRICED = "SELECT longitude, latitude, price_per_m2::float8, currency FROM {summaries} WHERE {where} LIMIT %s"


class Places(PostgresQueries):
    """See `PlaceStore`."""

    def priced_places(self, filter: Filter, box: Box, limit: int) -> PricedPlaces:
        sql = where(filter)
        add_box(sql, box)
        sql.add("price_per_m2 IS NOT NULL AND currency IS NOT NULL")
        rows = self._asked(_PRICED.format(summaries="summaries", where=sql.where), sql, limit + 1)
        is_sample = len(rows) > limit
        if is_sample:
            # The first rows of an index are those of one place; a sample of the table has all places.
            sample = sampled("summaries", limit)
            rows = self._asked(_PRICED.format(summaries=sample, where=sql.where), sql, limit)
        return PricedPlaces([PricedPlace(*row) for row in rows], is_sample)

    def districts(self) -> Sequence[District]:
        return [District(*row) for row in self._asked(_DISTRICTS, Sql())]
