"""What a new field of `Listing` needs. Each test that fails says what is missing."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from realestate.items import FIELDS, OURS, Listing, as_record
from realestate.storage.field_types import FIELD_TYPES, TYPES, field_type, fields_of_type
from realestate.storage.mongo import documents
from realestate.storage.postgres import PostgresStore, rows
from realestate.storage.records import Numbering, StoredListing, listing_of
from tests.examples import a_listing

ROOT = Path(__file__).parents[2]
AT = datetime(2026, 11, 4, 12, 0, tzinfo=UTC)
#: A value of each type, other than any default.
VALUES: dict[type, Any] = {
    str: "text",
    bool: True,
    int: 7,
    float: 1.5,
    Decimal: Decimal("123.45"),
    datetime: AT,
    tuple: (AT, AT + timedelta(days=1)),
    frozenset: frozenset({"a", "b"}),
    list: ["https://x.example/1"],
    dict: {"a": [1, {"b": None}]},
}
HINTS = get_type_hints(Listing)
#: `data_type` of information_schema, where it differs from the name in a migration.
REPORTED = {"numeric(14, 2)": "numeric", "timestamptz": "timestamp with time zone", "text[]": "ARRAY"}
#: Every portal has these by its class or by a rule that all portals share.
NOT_SET_BY_NAME = {"portal", "country", "currency", "geo_precision", "rent_period"}


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (str | None, str),
        (Literal["sale", "rent"], str),
        (Literal["sale"] | None, str),
        (tuple[datetime, datetime] | None, tuple),
        (frozenset[str], frozenset),
        (dict[str, Any], dict),
    ],
)
def test_the_type_behind_an_annotation(hint: Any, expected: type) -> None:
    assert field_type(hint) is expected


def test_a_type_that_no_store_keeps_is_refused_in_one_sentence() -> None:
    with pytest.raises(
        TypeError, match=r"no store keeps values of type .*complex.*: use one of storage.field_types.TYPES"
    ):
        field_type(complex)


def test_every_field_has_a_type_and_every_type_a_column() -> None:
    assert tuple(FIELD_TYPES) == FIELDS
    assert set(TYPES) == set(rows.COLUMN_TYPES) == set(VALUES)
    assert fields_of_type(tuple) == ("delisted_at",)


def test_every_field_has_a_column_of_its_type(store: PostgresStore, sql: Any) -> None:
    columns = dict(sql("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'listings'"))
    for name, type in FIELD_TYPES.items():
        wanted = rows.COLUMN_TYPES[type]
        assert name in columns, (
            f"Listing.{name} has no column: add a file to realestate/storage/migrations/ with"
            f" ALTER TABLE listings ADD COLUMN {name} {wanted};"
        )
        assert columns[name] == REPORTED.get(wanted, wanted), (
            f"the column of Listing.{name} is {columns[name]}: add a migration that makes it {wanted}"
        )


def test_every_field_is_documented() -> None:
    documented = set(re.findall(r"(?m)^\| `(\w+)` \|", (ROOT / "docs/listing.md").read_text("utf-8")))
    for name in FIELDS:
        assert name in documented, f"Listing.{name} is not in the table of docs/listing.md: add a row"
    assert documented == set(FIELDS), "docs/listing.md has a field that Listing does not have: remove the row"


def test_every_field_of_the_portal_is_filled_by_a_portal() -> None:
    spiders = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "realestate/spiders").glob("*.py")))
    shared = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "realestate/crawling").glob("*.py")))
    for name in sorted(set(FIELDS) - OURS - NOT_SET_BY_NAME):
        assert re.search(rf"\b{name}\b", spiders + shared), (
            f"no portal fills Listing.{name}: set it in a spider under realestate/spiders/"
        )


def with_values() -> Listing:
    """A listing with a value in every field."""
    fixed = {"portal", "ref", "url", "country"}
    return a_listing(**{name: value(name, hint) for name, hint in HINTS.items() if name not in fixed})


def value(name: str, hint: Any) -> Any:
    """The last word of a Literal, else a value of the field's type."""
    for each in (hint, *get_args(hint)):
        if get_origin(each) is Literal:
            return get_args(each)[-1]
    return VALUES[FIELD_TYPES[name]]


def test_every_field_is_read_as_it_was_written_to_mongodb() -> None:
    listing = with_values()
    assert documents.listing_of(documents.listing_document(listing)) == listing


def test_every_field_is_read_as_it_was_written_to_postgres(store: PostgresStore) -> None:
    listing = with_values()
    store.restore([("numbering", Numbering(0)), ("listings", StoredListing(as_record(listing), 1, "job", None))])
    (found,) = store.records(listing.portal)
    assert listing_of(found) == listing


def test_a_document_older_than_a_field_has_its_default() -> None:
    document = documents.listing_document(a_listing())
    del document["features"], document["energy_class"]
    found = documents.listing_of(document)
    assert (found.features, found.energy_class) == (frozenset(), None)
