"""The JSON Schema of each kind of item: what others may rely on, derived from the dataclass."""

from typing import Any

import msgspec

from realestate.items import Listing
from realestate.items.others import OTHERS


def listing_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a record as `as_record` makes it."""
    return _schema(Listing, _RULES)


def other_schemas() -> dict[str, dict[str, Any]]:
    """Of the other kinds, by their names: of a record as `other_record` makes it."""
    return {name: _schema(kind, [_PRICE_AND_CURRENCY]) for name, kind in OTHERS.items()}


def _schema(kind: type, rules: list[dict[str, Any]]) -> dict[str, Any]:
    (schema,), components = msgspec.json.schema_components([kind])
    derived = components[schema["$ref"].rpartition("/")[2]]
    properties = {name: _or_null(_money_as_number(part)) for name, part in derived["properties"].items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.__name__,
        "type": "object",
        "properties": properties,
        "required": [name for name, part in properties.items() if not _may_be_null(part)],
        "additionalProperties": False,
        "allOf": rules,
    }


def _may_be_null(part: dict[str, Any]) -> bool:
    return "null" in part.get("type", ()) or None in part.get("enum", ())


def _present(name: str) -> dict[str, Any]:
    return {"properties": {name: {"not": {"type": "null"}}}, "required": [name]}


def _absent(name: str) -> dict[str, Any]:
    return {"properties": {name: {"type": "null"}}}


def _exactly_when(name: str, other: str) -> dict[str, Any]:
    return {"if": _present(other), "then": _present(name), "else": _absent(name)}


def _rule(name: str, says: str, condition: dict[str, Any]) -> dict[str, Any]:
    return {"title": name, "description": says, **condition}


_IS_SALE = {"properties": {"operation": {"const": "sale"}}}
_IS_RENT = {"properties": {"operation": {"const": "rent"}}}
_PRICE_AND_CURRENCY = _rule(
    "price_and_currency_apart", "`currency` is there exactly when `price` is", _exactly_when("currency", "price")
)

#: What must hold between fields; pipelines/rules.py has what a schema cannot say.
_RULES = [
    _rule("operation_missing", "`operation` is always there", _present("operation")),
    _rule("property_type_missing", "`property_type` is always there", _present("property_type")),
    _PRICE_AND_CURRENCY,
    _rule(
        "rent_period_of_a_sale",
        "a sale has no `rent_period`",
        {"if": _IS_SALE, "then": _absent("rent_period")},
    ),
    _rule(
        "rent_without_period",
        "a rent with a `price` has its `rent_period`",
        {"if": {"allOf": [_present("price"), _IS_RENT]}, "then": _present("rent_period")},
    ),
    _rule(
        "latitude_and_longitude_apart",
        "`longitude` is there exactly when `latitude` is",
        _exactly_when("longitude", "latitude"),
    ),
]


def _money_as_number(part: Any) -> Any:
    """msgspec writes Decimal as text; a record carries money as a number."""
    if isinstance(part, list):
        return [_money_as_number(each) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("format") == "decimal":
        kept = {key: value for key, value in part.items() if key != "format"}
        return {**kept, "type": "number"}
    return {key: _money_as_number(value) for key, value in part.items()}


def _or_null(part: dict[str, Any]) -> dict[str, Any]:
    """`anyOf` with null written as one type: the same values pass, and an error names the true reason."""
    match part:
        case {"anyOf": [dict(part), {"type": "null"}], **rest} if "enum" in part:
            return {**part, "enum": [*part["enum"], None], **rest}
        case {"anyOf": [dict(part), {"type": "null"}], **rest}:
            return {**part, "type": [part["type"], "null"], **rest}
        case _:
            return part
