"""Translates a filter to an SQL condition on the table `summaries`. Values are always parameters, never text of SQL."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from realestate.storage.query import QUERY_FIELDS, Box, Comparison, Filter, Polygon, Words
from realestate.storage.query.conditions import ON_THE_MARKET, Condition, Value
from realestate.storage.query.fields import SEEN_TIMES, TEXT_FIELDS
from realestate.storage.query.folding import LONGEST_WORD

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
        if known and not any(isinstance(each, timedelta) for each in known):
            choices.append(f"{name} = ANY (%s{_cast(comparison.field)})")
            values.append(known)
        elif known:
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
