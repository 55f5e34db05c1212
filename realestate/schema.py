"""The JSON Schema of each kind of item, derived from its dataclass."""

from typing import Any

import msgspec

from realestate.items import Listing
from realestate.items.others import OTHERS


def listing_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a record that `as_record` returns."""
    return _schema(Listing, _RULES)


def other_schemas() -> dict[str, dict[str, Any]]:
    """Return kind -> JSON Schema of a record that `other_record` returns."""
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
    "price_and_currency_apart", "`currency` is present exactly when `price` is", _exactly_when("currency", "price")
)

#: Rules between fields. Rules that a schema cannot express are in pipelines/rules.py.
_RULES = [
    _rule("operation_missing", "`operation` is always present", _present("operation")),
    _rule("property_type_missing", "`property_type` is always present", _present("property_type")),
    _PRICE_AND_CURRENCY,
    _rule(
        "rent_period_of_a_sale",
        "a sale has no `rent_period`",
        {"if": _IS_SALE, "then": _absent("rent_period")},
    ),
    _rule(
        "rent_without_period",
        "a rent with a `price` has a `rent_period`",
        {"if": {"allOf": [_present("price"), _IS_RENT]}, "then": _present("rent_period")},
    ),
    _rule(
        "latitude_and_longitude_apart",
        "`longitude` is present exactly when `latitude` is",
        _exactly_when("longitude", "latitude"),
    ),
]


def _money_as_number(part: Any) -> Any:
    """Return the schema with numbers for money. msgspec describes Decimal as text, but a record has numbers."""
    if isinstance(part, list):
        return [_money_as_number(each) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("format") == "decimal":
        kept = {key: value for key, value in part.items() if key != "format"}
        return {**kept, "type": "number"}
    return {key: _money_as_number(value) for key, value in part.items()}


def _or_null(part: dict[str, Any]) -> dict[str, Any]:
    """Return `anyOf` with null as a list of types. The same values are valid, and errors are easier to understand."""
    match part:
        case {"anyOf": [dict(part), {"type": "null"}], **rest} if "enum" in part:
            return {**part, "enum": [*part["enum"], None], **rest}
        case {"anyOf": [dict(part), {"type": "null"}], **rest}:
            return {**part, "type": [part["type"], "null"], **rest}
        case _:
            return part
