"""Random listings: with valid values of every field, and with invalid values."""

import typing
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from realestate.items import Listing
from tests.examples import a_listing

_MOMENTS = st.datetimes(timezones=st.none() | st.timezones() | st.just(UTC))
_BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    datetime: _MOMENTS,
    float: st.floats() | st.integers(),
    Decimal: st.decimals() | st.floats() | st.integers() | st.just(Decimal("sNaN")),
    dict[str, Any]: st.just({}),
    tuple[datetime, datetime]: st.tuples(_MOMENTS, _MOMENTS),
}
_FOREIGN = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.decimals(), st.text(), st.binary()),
    *(_MOMENTS, st.just(timedelta(1)), st.just(date(2026, 1, 1)), st.just(UUID(int=1)), st.just(object())),
    *(st.lists(st.text() | st.integers()), st.frozensets(st.text() | st.integers()), st.just({"a": {1: object()}})),
    st.tuples(_MOMENTS | st.text(), _MOMENTS),
)


def _of_type(hint: Any) -> st.SearchStrategy[Any]:
    kinds = typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)
    return st.one_of(*(_BY_TYPE[kind] if kind in _BY_TYPE else st.from_type(kind) for kind in kinds))


_HINTS = typing.get_type_hints(Listing)
#: Every field has a value of its declared type: any number, NaN and infinity, any text, any time.
typed_listings = st.builds(Listing, **{f.name: _of_type(_HINTS[f.name]) for f in fields(Listing)})
#: A valid listing with random values in some fields.
spoilt_listings = st.dictionaries(st.sampled_from([f.name for f in fields(Listing)]), _FOREIGN, max_size=4).map(
    lambda changes: a_listing(**changes)
)
