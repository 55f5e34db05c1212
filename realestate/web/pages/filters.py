"""The filter of the listings page: the form, chips and links that change it, and the address that it is part of.

The filter of an address is in the language of the API. The fields of the form are conditions of that language too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from realestate.storage.query import (
    DEFAULT_SORT,
    SORTS,
    Box,
    Comparison,
    Facet,
    Filter,
    Polygon,
    QueryError,
    Words,
    parse_filter,
)
from realestate.web.pages.formats import Formats, words

PATH = "/listings"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form: its name there, and the condition that it stands for."""

    name: str
    label: str
    field: str
    operator: str = "="
    unit: str = ""


#: The fields of the form that hold a number.
NUMBERS = (
    Field("price_min", "Price from", "price", ">="),
    Field("price_max", "Price to", "price", "<="),
    Field("area_min", "Area from", "area_m2", ">=", "m²"),
    Field("area_max", "Area to", "area_m2", "<=", "m²"),
    Field("rooms_min", "Rooms from", "rooms", ">="),
)
CHOICES = (Field("operation", "For", "operation"), Field("property_type", "Type", "property_type"))
TEXT = Field("text", "Words", "text", "~")
#: What the listings can be sorted by, in words.
SORT_WORDS = {
    "first_seen_at": ("newest first", "oldest first"),
    "changed_at": ("changed last", "unchanged longest"),
    "price": ("dearest first", "cheapest first"),
    "price_per_m2": ("dearest per m²", "cheapest per m²"),
    "area_m2": ("largest first", "smallest first"),
    "rooms": ("most rooms", "fewest rooms"),
    "cheaper_by": ("largest price cut", "largest price rise"),
}
#: The columns that listings can be sorted by: label, and the minus of the order that is wanted first.
SORT_HEADS = {
    "price": ("Price", ""),
    "price_per_m2": ("Per m²", ""),
    "area_m2": ("m²", "-"),
    "rooms": ("Rooms", "-"),
    "first_seen_at": ("First seen", "-"),
}
_COMPARED = {"=": "", "!=": "not ", "<=": "at most ", ">=": "at least ", "<": "below ", ">": "above "}
_NAMES = {
    "area_m2": "area",
    "plot_m2": "plot",
    "first_seen_at": "first seen",
    "changed_at": "changed",
    "price_changed_at": "price changed",
    "cheaper_by": "cheaper by %",
    "price_per_m2": "price per m²",
    "property_type": "type",
    "seller_type": "seller",
}


@dataclass(frozen=True, slots=True)
class Chip:
    """A condition in words, and the address without it."""

    text: str
    without: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet, and the address with or without it."""

    label: str
    count: int
    address: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class SortHead:
    """The heading of a column, and the address of the same listings in its order."""

    field: str
    label: str
    direction: str
    """`ascending` or `descending` if it is the order now; empty otherwise."""
    words: str
    """The order that the address has."""
    address: str


@dataclass(frozen=True, slots=True)
class ShownFacet:
    name: str
    label: str
    choices: Sequence[Choice]
    is_exact: bool


def address(filter: Filter, sort: str = DEFAULT_SORT, path: str = PATH, **more: str | None) -> str:
    """The address of the listings that match, in this order."""
    asked: dict[str, str] = {}
    if text := written(filter):
        asked["where"] = text
    if sort != DEFAULT_SORT:
        asked["sort"] = sort
    asked |= {name: value for name, value in more.items() if value}
    return f"{path}?{urlencode(asked)}" if asked else path


def written(filter: Filter) -> str:
    """The filter in its language, without quotation marks where it needs none: addresses are read by people."""
    parts = [_plain(condition) for condition in filter.conditions]
    return " ".join([*parts, *(["status=any"] if filter.any_status else [])])


def _plain(condition: Any) -> str:
    text = str(condition)
    if not isinstance(condition, Comparison | Words):
        return text
    bare = text.replace('"', "")
    try:
        is_same = parse_filter(bare).conditions == (condition,)
    except QueryError:
        return text
    return bare if is_same else text


def with_form(filter: Filter, given: Mapping[str, str]) -> Filter:
    """The filter with what was filled into the form instead of the same conditions. Raises QueryError."""
    kept = [each for each in filter.conditions if _field_of(each) is None]
    texts = []
    for each in (*CHOICES, *NUMBERS):
        if value := given.get(each.name, "").strip():
            texts.append(f"{each.field}{each.operator}{_quoted(_number(value) if each in NUMBERS else value)}")
    if value := given.get(TEXT.name, "").strip():
        texts.append(f"text~{_quoted(value)}")
    made = parse_filter(" ".join(texts))
    return replace(filter, conditions=(*made.conditions, *kept))


def _number(text: str) -> str:
    """`150 000` and `1,5` as people write them."""
    plain = "".join(text.replace("\u202f", "").replace("’", "").split())
    if plain.count(",") + plain.count(".") > 1 or (len(plain.replace(",", ".").rpartition(".")[2]) == 3):
        return plain.replace(",", "").replace(".", "")
    return plain.replace(",", ".")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _field_of(condition: Any) -> Field | None:
    """The field of the form that shows a condition; None if it is shown as a chip."""
    if isinstance(condition, Words):
        return TEXT if condition.field == "text" else None
    if not isinstance(condition, Comparison) or len(condition.values) != 1 or condition.values[0] is None:
        return None
    for each in (*CHOICES, *NUMBERS):
        if (each.field, each.operator) == (condition.field, condition.operator):
            return each
    return None


def form_values(filter: Filter) -> dict[str, str]:
    """What the form shows for a filter. Of two conditions on the same field, the last one."""
    values = {each.name: "" for each in (*CHOICES, *NUMBERS, TEXT)}
    for condition in filter.conditions:
        field = _field_of(condition)
        if field is TEXT and isinstance(condition, Words):
            values[TEXT.name] = " ".join(condition.words)
        elif field is not None and isinstance(condition, Comparison):
            value = condition.values[0]
            values[field.name] = (
                f"{value:f}" if isinstance(value, Decimal) else f"{value:g}" if isinstance(value, float) else str(value)
            )
    return values


def rest(filter: Filter) -> Filter:
    """The conditions that the form does not show."""
    return replace(filter, conditions=tuple(each for each in filter.conditions if _field_of(each) is None))


def chips(filter: Filter, sort: str, fmt: Formats) -> list[Chip]:
    """All conditions in words, each with the address without it."""
    found = [
        Chip(_in_words(condition, fmt), address(_without(filter, [condition]), sort)) for condition in filter.conditions
    ]
    if filter.any_status:
        found.append(Chip("also what left the market", address(replace(filter, any_status=False), sort)))
    return found


def _in_words(condition: Any, fmt: Formats) -> str:
    match condition:
        case Words(field=field, words=texts):
            return f"{'' if field == 'text' else words(field) + ' '}“{' '.join(texts)}”"
        case Box():
            return "within a rectangle"
        case Polygon(corners=corners):
            return f"within the area drawn ({len(corners)} corners)"
        case Comparison(field=field, operator=operator, values=values):
            shown = " or ".join(_value(each, fmt) for each in values)
            is_time = field.endswith("_at")
            compared = ("since " if operator in (">", ">=") else "before ") if is_time else _COMPARED[operator]
            return f"{_NAMES.get(field, words(field))} {compared}{shown}"
    return str(condition)


def _value(value: Any, fmt: Formats) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case int() | float() | Decimal():
            return fmt.number(value, 2)
        case str():
            return words(value)
    return str(Comparison("x", "=", (value,))).partition("=")[2]


def _without(filter: Filter, conditions: Iterable[Any]) -> Filter:
    gone = list(conditions)
    return replace(filter, conditions=tuple(each for each in filter.conditions if each not in gone))


def shown_facets(facets: Sequence[Facet], filter: Filter, sort: str) -> list[ShownFacet]:
    """The facets with more than one value, or with one that was chosen."""
    found = []
    for facet in facets:
        own = [each for each in filter.conditions if isinstance(each, Comparison) and each.field == facet.field]
        chosen = {value for each in own if each.operator == "=" for value in each.values}
        choices = [_choice(facet.field, each.value, each.count, chosen, filter, own, sort) for each in facet.values]
        if len(choices) > 1 or chosen:
            label = _NAMES.get(facet.field, words(facet.field)).capitalize()
            found.append(ShownFacet(facet.field, label, choices, facet.is_exact))
    return found


def _choice(
    field: str, value: Any, count: int, chosen: set[Any], filter: Filter, own: Sequence[Comparison], sort: str
) -> Choice:
    base = _without(filter, own)
    is_chosen = value in chosen
    if not is_chosen:
        base = replace(base, conditions=(*base.conditions, Comparison(field, "=", (value,))))
    return Choice("unknown" if value is None else words(str(value)), count, address(base, sort), is_chosen)


def sort_heads(filter: Filter, sort: str) -> list[SortHead]:
    """The headings of the columns with numbers. Choosing the one that is the order now reverses it."""
    found = []
    for field, (label, first) in SORT_HEADS.items():
        direction = {field: "ascending", f"-{field}": "descending"}.get(sort, "")
        prefix = {"ascending": "-", "descending": "", "": first}[direction]
        words_of = SORT_WORDS[field][0 if prefix else 1]
        found.append(SortHead(field, label, direction, words_of, address(filter, prefix + field)))
    return found


def sort_choices(sort: str) -> list[tuple[str, str, bool]]:
    """The orders as value, words, and whether it is the current one."""
    return [
        (prefix + name, SORT_WORDS[name][place], prefix + name == sort)
        for name in SORTS
        for place, prefix in enumerate(("-", ""))
    ]
