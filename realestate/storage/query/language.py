"""The filter language: `portal=bina,tap rooms>=2 price<150000 city~"bak" bbox=49.7,40.3,50.1,40.6 new_since=7d`.

Conditions are separated by spaces and must all hold. docs/query.md describes it. The same parser reads filters of
addresses, of the command line and of saved searches.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from itertools import pairwise

from realestate.items import is_storable_time
from realestate.storage.field_types import FieldType
from realestate.storage.query.conditions import Box, Comparison, Condition, Filter, Operator, Polygon, Value, Words
from realestate.storage.query.errors import QueryError
from realestate.storage.query.fields import QUERY_FIELDS, WORDS_OF
from realestate.storage.query.folding import LONGEST_WORD, words_of

LONGEST_FILTER = 8000
MOST_CONDITIONS = 50
MOST_VALUES = 500
MOST_CORNERS = 200
_LARGEST_INTEGER = 2**31 - 1
_LARGEST_AMOUNT = Decimal(10) ** 12

#: name -> the field of which it is the earliest time.
_SINCE = {
    "new_since": "first_seen_at",
    "changed_since": "changed_at",
    "price_changed_since": "price_changed_at",
}
#: Names of conditions that are not fields.
SPECIAL = ("text", "bbox", "polygon", *_SINCE)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r"!=|<=|>=|=|<|>|~")
_BARE = re.compile(r'[^\s,"]+')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SPACE = re.compile(r"\s*")
_AGO = re.compile(r"(\d{1,6})(w|d|h|m)")
_AGO_UNIT = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
}
_LONGEST_AGO = timedelta(days=36_500)


@dataclass(frozen=True, slots=True)
class _Given:
    """A value as it was written."""

    text: str
    position: int
    is_quoted: bool


@dataclass(frozen=True, slots=True)
class _Term:
    """One condition as it was written."""

    name: str
    operator: str
    values: tuple[_Given, ...]
    position: int
    after_operator: int

    @property
    def at_operator(self) -> int:
        return self.after_operator - len(self.operator)


def parse_filter(text: str) -> Filter:
    """Return the filter. Raises QueryError with the position of what is wrong."""
    if len(text) > LONGEST_FILTER:
        raise QueryError(f"the filter has {len(text)} characters; at most {LONGEST_FILTER} are allowed")
    if "\0" in text:
        raise QueryError("a filter may not contain the character NUL", text.index("\0") + 1)
    try:
        text.encode()
    except UnicodeEncodeError as error:  # bytes of the command line that are not UTF-8
        raise QueryError("a filter is text in UTF-8", error.start + 1) from None
    conditions: list[Condition] = []
    any_status = False
    for term in _terms(text):
        if len(conditions) == MOST_CONDITIONS:
            raise QueryError(f"at most {MOST_CONDITIONS} conditions are allowed", term.position)
        if term.name == "status" and _plain_texts(term) == ["any"] and term.operator == "=":
            any_status = True
            continue
        conditions.append(_condition(term))
    return Filter(tuple(conditions), any_status, text)


def parse_box(text: str) -> Box:
    """Return the box of `west,south,east,north` in degrees."""
    return _box(_Term("bbox", "=", tuple(_Given(each, 1, False) for each in text.split(",")), 1, 1))


def _plain_texts(term: _Term) -> list[str]:
    return [each.text for each in term.values if not each.is_quoted]


def _terms(text: str) -> Iterator[_Term]:
    place = _end(_SPACE, text, 0)
    while place < len(text):
        name = _NAME.match(text, place)
        if name is None:
            raise QueryError(f"the name of a field is expected here, not {text[place]!r}", place + 1)
        operator = _OPERATOR.match(text, name.end())
        if operator is None:
            raise QueryError(f"one of = != < <= > >= ~ is expected after {name[0]!r}, without a space", name.end() + 1)
        values, after = _values(text, operator.end())
        yield _Term(name[0].lower(), operator[0], values, place + 1, operator.end() + 1)
        if after < len(text) and not text[after].isspace():
            raise QueryError(f"a space is expected here, not {text[after]!r}", after + 1)
        place = _end(_SPACE, text, after)


def _values(text: str, place: int) -> tuple[tuple[_Given, ...], int]:
    """The values from here on, separated by commas, and where they end."""
    values = []
    while True:
        quoted = _QUOTED.match(text, place)
        found = quoted or _BARE.match(text, place)
        if found is None:
            if text[place : place + 1] == '"':
                raise QueryError("this quotation mark is never closed", place + 1)
            raise QueryError("a value is expected here; a value with spaces needs quotation marks", place + 1)
        written = re.sub(r"\\(.)", r"\1", quoted[1], flags=re.DOTALL) if quoted else found[0]
        values.append(_Given(written, place + 1, quoted is not None))
        if len(values) > MOST_VALUES:
            raise QueryError(f"at most {MOST_VALUES} values are allowed", place + 1)
        place = found.end()
        if text[place : place + 1] != ",":
            return tuple(values), place
        place += 1


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _condition(term: _Term) -> Condition:
    if special := _CONDITIONS.get(term.name):
        return special(term)
    if term.name not in QUERY_FIELDS and not (term.operator == "~" and term.name == "description"):
        raise QueryError(_unknown(term.name), term.position)
    if term.operator == "~":
        return _text(term)
    return _comparison(term, term.name)


def _unknown(name: str) -> str:
    if name == "description":
        return 'description is searched by words only: description~"sea view"'
    names = [*QUERY_FIELDS, *SPECIAL]
    near = get_close_matches(name, names, 1, 0.6)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"there is no field {name!r}; {hint}The fields are: {', '.join(sorted(names))}"


def _comparison(term: _Term, field: str) -> Comparison:
    kind = QUERY_FIELDS[field]
    operator: Operator = term.operator  # type: ignore[assignment]  # `~` was handled before
    if operator not in ("=", "!="):
        if kind in (str, bool, frozenset):
            raise QueryError(f"{field} has no order: use = or !=", term.after_operator)
        if len(term.values) > 1:
            raise QueryError(f"{operator} takes one value", term.values[1].position)
    values = tuple(_value(field, kind, given) for given in term.values)
    if operator not in ("=", "!=") and values[0] is None:
        raise QueryError(f"'none' has no order: use {field}=none or {field}!=none", term.values[0].position)
    return Comparison(field, operator, values)


def _value(field: str, kind: FieldType, given: _Given) -> Value:
    if given.text == "none" and not given.is_quoted:
        return None
    if kind in (str, frozenset):
        words = WORDS_OF.get(field)
        if words and given.text not in words:
            allowed = ", ".join((*words, "any") if field == "status" else words)
            raise QueryError(f"{field} is one of {allowed}, not {given.text!r}", given.position)
        return given.text
    return _READ[kind](field, given)


def _flag(field: str, given: _Given) -> bool:
    match given.text.lower():
        case "yes" | "true":
            return True
        case "no" | "false":
            return False
    raise QueryError(f"{field} is yes, no or none, not {given.text!r}", given.position)


def _whole(field: str, given: _Given) -> int:
    number = _decimal(field, given)
    if number != number.to_integral_value():
        raise QueryError(f"{field} is a whole number, not {given.text!r}", given.position)
    if abs(number) > _LARGEST_INTEGER:
        raise QueryError(f"{given.text!r} is too large for {field}", given.position)
    return int(number)


def _number(field: str, given: _Given) -> float:
    return float(_decimal(field, given))


def _decimal(field: str, given: _Given) -> Decimal:
    text = given.text.removesuffix("%") if field == "cheaper_by" else given.text
    if len(text) > 40 or not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)", text, re.ASCII):
        raise QueryError(f"{field} is a number such as 150000 or 72.5, not {given.text!r}", given.position)
    try:
        number = Decimal(text)
    except InvalidOperation:  # pragma: no cover  # the pattern leaves nothing for this
        raise QueryError(f"{field} is a number, not {given.text!r}", given.position) from None
    if abs(number) >= _LARGEST_AMOUNT:
        raise QueryError(f"{given.text!r} is too large for {field}", given.position)
    return number


def _time(field: str, given: _Given) -> datetime | timedelta:
    if found := _AGO.fullmatch(given.text):
        ago = int(found[1]) * _AGO_UNIT[found[2]]
        if ago > _LONGEST_AGO:
            raise QueryError(f"{given.text!r} is more than a hundred years ago", given.position)
        return ago
    try:
        time = datetime.fromisoformat(given.text)
    except ValueError:
        raise QueryError(
            f"{field} is a time such as 2026-11-18, 2026-11-18T20:00:00Z, or 7d for seven days ago (w d h m), "
            f"not {given.text!r}",
            given.position,
        ) from None
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    if not is_storable_time(aware):
        raise QueryError(f"{given.text!r} is out of range", given.position)
    return aware.astimezone(UTC)


_READ: Mapping[FieldType, Callable[[str, _Given], Value]] = {
    bool: _flag,
    int: _whole,
    float: _number,
    Decimal: _decimal,
    datetime: _time,
}


def _text(term: _Term) -> Words:
    if term.name != "text" and QUERY_FIELDS.get(term.name, str) is not str:
        raise QueryError(f"{term.name} is not a text field: compare it with = or <", term.after_operator)
    _demand_one(term)
    given = term.values[0]
    words = tuple(dict.fromkeys(words_of(given.text)))
    if not words:
        raise QueryError(f"{given.text!r} has no letter or digit to search for", given.position)
    if too_long := next((word for word in words if len(word) > LONGEST_WORD), None):
        raise QueryError(f"the word {too_long[:20]!r}… is longer than {LONGEST_WORD} letters", given.position)
    return Words(term.name, words)


def _words_anywhere(term: _Term) -> Words:
    if term.operator not in ("~", "="):
        raise QueryError('text takes ~: text~"sea view"', term.at_operator)
    return _text(term)


def _since(term: _Term) -> Comparison:
    if term.operator != "=":
        raise QueryError(f"{term.name} takes =: {term.name}=7d", term.at_operator)
    _demand_one(term)
    field = _SINCE[term.name]
    return Comparison(field, ">=", (_time(term.name, term.values[0]),))


def _demand_one(term: _Term) -> None:
    if len(term.values) > 1:
        raise QueryError(f"{term.name}{term.operator} takes one value", term.values[1].position)


def _box(term: _Term) -> Box:
    _demand_equals(term)
    if len(term.values) != 4:
        raise QueryError("bbox takes four numbers: west,south,east,north in degrees", term.after_operator)
    west, south, east, north = (
        _degrees(given, 180 if place % 2 == 0 else 90) for place, given in enumerate(term.values)
    )
    if west > east:
        raise QueryError("west must be smaller than east: the order is west,south,east,north", term.after_operator)
    if south > north:
        raise QueryError("south must be smaller than north: the order is west,south,east,north", term.after_operator)
    return Box(west, south, east, north)


def _polygon(term: _Term) -> Polygon:
    """Corners are separated by semicolons, so the values between commas are `lon`, `lat;lon`, …, `lat`."""
    _demand_equals(term)
    corners = []
    text = ",".join(given.text for given in term.values)
    for corner in text.rstrip(";").split(";"):
        degrees = corner.split(",")
        if len(degrees) != 2:
            raise QueryError(
                f"polygon takes corners such as 49.7,40.3;50.1,40.3;50,40.6 (longitude,latitude), not {corner[:40]!r}",
                term.after_operator,
            )
        longitude, latitude = (_Given(each, term.after_operator, False) for each in degrees)
        corners.append((_degrees(longitude, 180), _degrees(latitude, 90)))
        if len(corners) > MOST_CORNERS + 1:
            raise QueryError(f"a polygon has at most {MOST_CORNERS} corners", term.after_operator)
    if corners[0] == corners[-1]:
        corners.pop()
    if len(set(corners)) < 3:
        raise QueryError("a polygon has at least three different corners", term.after_operator)
    if any(abs(one[0] - other[0]) > 180 for one, other in pairwise(corners)):
        raise QueryError("a polygon may not cross the 180th meridian: write two searches", term.after_operator)
    return Polygon(tuple(corners))


def _demand_equals(term: _Term) -> None:
    if term.operator != "=":
        raise QueryError(f"{term.name} takes =", term.at_operator)


def _degrees(given: _Given, limit: int) -> float:
    number = float(_decimal("a degree", given))
    if not -limit <= number <= limit:
        raise QueryError(f"{given.text!r} is not between -{limit} and {limit} degrees", given.position)
    return number


_CONDITIONS: Mapping[str, Callable[[_Term], Condition]] = {
    "text": _words_anywhere,
    "bbox": _box,
    "polygon": _polygon,
    **dict.fromkeys(_SINCE, _since),
}
