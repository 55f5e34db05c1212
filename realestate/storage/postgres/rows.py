"""Listings as rows, rows as listings, and parameters as tables."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from realestate.items import FIELDS, Listing
from realestate.storage.history import State, Suspect
from realestate.storage.postgres.copying import array, elements, encoded, ready

_WORDS = dict.fromkeys(("features", "photos", "quality_flags"), "text[]")
_MONEY = dict.fromkeys(("price", "charges", "price_per_m2"), "numeric(14, 2)")
_MEASURES = dict.fromkeys(("area_m2", "plot_m2", "energy_kwh_m2", "latitude", "longitude"), "double precision")
_YES_OR_NO = dict.fromkeys(("is_new_building", "has_deed", "has_mortgage"), "boolean")
_COUNTS = dict.fromkeys(
    ("rooms", "bedrooms", "bathrooms", "floor", "floors_total", "year_built", "facades", "parser_version"), "integer"
)
_MOMENTS = dict.fromkeys(("posted_at", "updated_at"), "timestamptz")
#: Mostly long.
_LONG = ("title", "description", "features", "photos", "quality_flags", "extra")
#: Its fields, but for the times at which we saw it: those are the database's own.
COLUMNS = {
    **dict.fromkeys(_LONG, "text"),
    **{name: "text" for name in FIELDS if name not in ("first_seen_at", "last_seen_at", "last_fetched_at")},
    **_WORDS,
    **_MONEY,
    **_MEASURES,
    **_YES_OR_NO,
    **_COUNTS,
    **_MOMENTS,
    "delisted_at": "tstzrange",
    "extra": "jsonb",
}
#: What a store knows of a listing: its fields, and these.
STATE = (*FIELDS, "revision", "suspect_price", "suspect_run")

_values = attrgetter(*COLUMNS)
_DELISTED = list(COLUMNS).index("delisted_at") - len(_LONG)
_READ_DELISTED, _READ_SETS = FIELDS.index("delisted_at"), [FIELDS.index("features"), FIELDS.index("quality_flags")]


def recordset(parameter: str, columns: Mapping[str, str]) -> str:
    """A parameter, a list of JSON objects, as a table: for what comes now and then."""
    typed = ", ".join(f"{column} {type}" for column, type in columns.items())
    return f"json_to_recordset(%({parameter})s) AS {parameter} ({typed})"


def unnested(name: str, columns: Mapping[str, str]) -> str:
    """Parameters, an array for each column (see `arrays`), as a table whose rows have their `place`. Of all ways into a
    statement this costs the least."""
    given = ", ".join(f"%({name}_{column})s::{type}[]" for column, type in columns.items())
    return f"unnest({given}) WITH ORDINALITY AS {name} ({', '.join(columns)}, place)"


def arrays(name: str, columns: Collection[str], rows: Iterable[Sequence[Any]]) -> dict[str, str]:
    """The values of `unnested`. A JSON array in braces is an array of PostgreSQL's, as a row is one of CSV's."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    return {f"{name}_{column}": f"{{{elements(each)}}}" for column, each in zip(columns, values, strict=True)}


def joined(value: Any, more: Any) -> bytes:
    """Two objects as one."""
    return encoded(value)[:-1] + b"," + encoded(more)[1:]


def as_json(objects: Iterable[bytes]) -> str:
    """A list of objects that are JSON already."""
    return (b"[" + b",".join(objects) + b"]").decode()


def fields_of(listing: Listing) -> Sequence[Any]:
    """The values of COLUMNS, as `copying` takes them."""
    values = _values(listing)
    title, description, features, photos, flags, extra = values[: len(_LONG)]
    long = ready(title, description, array(features), array(photos), array(flags), encoded(extra))
    others: Sequence[Any] = values[len(_LONG) :]
    if gone := others[_DELISTED]:
        others = [*others[:_DELISTED], f"[{gone[0]},{gone[1]}]", *others[_DELISTED + 1 :]]
    return (long, *others)


def listing_of(row: tuple[Any, ...]) -> Listing:
    """From the columns of FIELDS."""
    values = list(row)
    gone = values[_READ_DELISTED]
    values[_READ_DELISTED] = (gone.lower, gone.upper) if gone is not None else None
    for place in _READ_SETS:
        values[place] = frozenset(values[place])
    return Listing(**dict(zip(FIELDS, values, strict=True)))


def state_of(row: tuple[Any, ...]) -> State:
    """From the columns of STATE."""
    *fields, revision, price, run = row
    return State(listing_of(tuple(fields)), revision, None if price is None else Suspect(price, run))
