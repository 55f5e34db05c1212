"""The fields of a listing that a filter, a sort order and a result row may name."""

from datetime import datetime
from decimal import Decimal
from typing import Literal, get_args, get_origin, get_type_hints

from realestate.items import FIELDS, Listing
from realestate.storage.field_types import FIELD_TYPES, FieldType

#: Fields that a filter cannot compare: long texts, lists and free-form values. Words of the description are found by
#: `text`, and the photos have `photo` and `photo_count`.
_NOT_COMPARED = ("description", "photos", "extra", "delisted_at", "content_hash")
#: Values that the store derives from a listing and its events.
DERIVED: dict[str, FieldType] = {
    "delisted_at": datetime,
    "changed_at": datetime,
    "price_changed_at": datetime,
    "cheaper_by": Decimal,
    "photo": str,
    "photo_count": int,
}
DERIVED_MEANING = {
    "delisted_at": "When it was first known to be gone.",
    "changed_at": "When its last event happened.",
    "price_changed_at": "When its price last changed.",
    "cheaper_by": "By how much percent the last change lowered the price. Negative: the price rose.",
    "photo": "Address of the first photo.",
    "photo_count": "Number of photos.",
}
#: field -> type, of all fields that a filter may compare.
QUERY_FIELDS: dict[str, FieldType] = {name: FIELD_TYPES[name] for name in FIELDS if name not in _NOT_COMPARED} | DERIVED
#: These change whenever a listing is seen, so they are not kept for searching: a filter reads them row by row.
SEEN_TIMES = ("last_seen_at", "last_fetched_at")
#: The fields of which `text` finds words.
TEXT_FIELDS = (
    "title",
    "street",
    "district",
    "city",
    "region",
    "metro_station",
    "postal_code",
    "subtype",
    "agency_name",
    "ref",
)


def _words_of(name: str) -> tuple[str, ...]:
    """The values that a field may have, if it is one of a few words."""
    hints = [get_type_hints(Listing)[name]] if name in FIELDS else []
    while hints:
        hint = hints.pop()
        if get_origin(hint) is Literal:
            return get_args(hint)
        hints += get_args(hint)
    return ()


#: field -> the words that it may have.
WORDS_OF: dict[str, tuple[str, ...]] = {name: words for name in QUERY_FIELDS if (words := _words_of(name))}
#: The fields of a result row, unless others are asked for.
ROW_FIELDS = (
    "portal",
    "ref",
    "url",
    "status",
    "country",
    "operation",
    "rent_period",
    "property_type",
    "price",
    "currency",
    "price_basis",
    "price_per_m2",
    "cheaper_by",
    "area_m2",
    "rooms",
    "floor",
    "floors_total",
    "city",
    "district",
    "latitude",
    "longitude",
    "title",
    "photo",
    "seller_type",
    "first_seen_at",
    "changed_at",
)
#: All fields that a result row may have.
ALL_FIELDS = tuple(dict.fromkeys((*FIELDS, *DERIVED)))
#: Fields of which the values are counted.
FACETS = (
    "portal",
    "country",
    "operation",
    "property_type",
    "status",
    "city",
    "district",
    "rooms",
    "seller_type",
    "currency",
)
