"""A page of a search: filter, sort order, cursor, fields and page size."""

import base64
import binascii
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from realestate.items import is_storable_time
from realestate.storage.field_types import FieldType
from realestate.storage.query.conditions import EVERYTHING, Filter
from realestate.storage.query.errors import QueryError
from realestate.storage.query.fields import ALL_FIELDS, QUERY_FIELDS, ROW_FIELDS

#: Fields by which listings can be sorted. Listings without a value come last, in both directions.
SORTS = ("first_seen_at", "changed_at", "price", "price_per_m2", "area_m2", "rooms", "cheaper_by")
DEFAULT_SORT = "-first_seen_at"
LARGEST_PAGE = 500
_LONGEST_CURSOR = 2000


class Place(NamedTuple):
    """The last listing of a page: its value of the sort field, then portal and ref."""

    value: Any
    portal: str
    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingQuery:
    """One page of the listings that match. Raises QueryError if it cannot be asked.

    Pages are continued after a listing, not after a number of rows, so no listing comes twice or is left out because
    others were added or left. A listing whose sort value changes meanwhile may come again, or not at all."""

    filter: Filter = EVERYTHING
    sort: str = DEFAULT_SORT
    """A field of SORTS; with a minus the largest come first. Equal ones are in the order of portal and ref."""
    cursor: str | None = None
    """`Page.next` of the page before."""
    fields: tuple[str, ...] = ROW_FIELDS
    page_size: int = 50
    after: Place | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.sort_field not in SORTS:
            both = ", ".join(f"{name}, -{name}" for name in SORTS)
            raise QueryError(f"sort is one of {both}, not {self.sort[:50]!r}")
        if not 1 <= self.page_size <= LARGEST_PAGE:
            raise QueryError(f"the page size is between 1 and {LARGEST_PAGE}, not {self.page_size}")
        if unknown := [name for name in self.fields if name not in ALL_FIELDS]:
            raise QueryError(f"there is no field {unknown[0][:50]!r}; the fields are: {', '.join(sorted(ALL_FIELDS))}")
        if not self.fields:
            raise QueryError("at least one field is needed")
        if self.cursor is not None:
            object.__setattr__(self, "after", self._read(self.cursor))

    @property
    def sort_field(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        return self.sort.startswith("-")

    def cursor_after(self, place: Place) -> str:
        """The cursor of the page that follows this listing."""
        value = str(place.value) if isinstance(place.value, Decimal) else place.value
        parts = msgspec.json.encode([self._question(), value, place.portal, place.ref])
        return base64.urlsafe_b64encode(parts).decode().rstrip("=")

    def _question(self) -> str:
        """A hash of filter and order: a cursor continues only the search that returned it."""
        return blake2b(f"{self.sort} {self.filter}".encode(), digest_size=6).hexdigest()

    def _read(self, cursor: str) -> Place:
        wrong = QueryError("the cursor is not one that was returned: use `next` of the last page, or start without one")
        if len(cursor) > _LONGEST_CURSOR:
            raise wrong
        try:
            parts = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            question, value, portal, ref = msgspec.json.decode(parts, type=tuple[str, Any, str, str])
            if question == self._question():
                value = _value(QUERY_FIELDS[self.sort_field], value)
        except (ValueError, binascii.Error, msgspec.DecodeError, ArithmeticError, TypeError):
            raise wrong from None
        if "\0" in portal or "\0" in ref:
            raise wrong
        if question != self._question():
            raise QueryError("the cursor belongs to another filter or sort order: start without one")
        return Place(value, portal, ref)


def _value(kind: FieldType, value: Any) -> Any:
    """A value of a cursor as the type of its field."""
    if value is None:
        return None
    if kind is Decimal:
        number = Decimal(msgspec.convert(value, str))
        if not number.is_finite() or abs(number) > Decimal(10) ** 13 or int(number.as_tuple().exponent) < -20:
            raise ValueError(value)
        return number
    if kind is int:
        whole = msgspec.convert(value, int)
        if abs(whole) > 2**31:
            raise ValueError(value)
        return whole
    if kind is datetime:
        time = msgspec.convert(value, datetime)
        if time.tzinfo is None or not is_storable_time(time):
            raise ValueError(value)
        return time
    return msgspec.convert(value, float)
