"""The type of each field of `Listing`. Columns, conversions and readers of all stores are derived from it."""

from datetime import datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from realestate.items import Listing

FieldType = type
#: Every type a field of a listing may have. A store knows how to write and read each of them.
TYPES: tuple[FieldType, ...] = (str, bool, int, float, Decimal, datetime, tuple, frozenset, list, dict)


def field_type(hint: Any) -> FieldType:
    """Return the plain type of an annotation: str for `Text | None` and for `Literal["sale", "rent"]`.

    Raises TypeError for a type that no store supports."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) is Literal:
        return str
    found = get_origin(hint) or hint
    if found not in TYPES:
        raise TypeError(f"no store keeps values of type {hint}: use one of storage.field_types.TYPES")
    return found  # type: ignore[no-any-return]


#: field -> type, in the order of the fields.
FIELD_TYPES: dict[str, FieldType] = {name: field_type(hint) for name, hint in get_type_hints(Listing).items()}


def fields_of_type(*types: FieldType) -> tuple[str, ...]:
    return tuple(name for name, type in FIELD_TYPES.items() if type in types)
