from dataclasses import fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import jsonschema
import jsonschema_rs
import pytest

from realestate.items import FIELDS, Listing, as_record, content_hash
from realestate.schema import listing_schema
from tests.docstrings import field_docstrings
from tests.examples import a_listing

SCHEMA = listing_schema()
LATER = datetime(2026, 10, 1, tzinfo=UTC)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_a_draft_2020_12_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_has_every_field_and_no_other() -> None:
    assert set(SCHEMA["properties"]) == set(FIELDS)
    assert SCHEMA["additionalProperties"] is False


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_may_be_null_may_be_left_out_and_no_other(name: str) -> None:
    record = as_record(a_listing())
    without = {key: value for key, value in record.items() if key != name}
    assert VALIDATOR.is_valid(without) == VALIDATOR.is_valid({**record, name: None})


def test_a_good_listing_is_valid_for_both_validators() -> None:
    record = as_record(a_listing(delisted_at=(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))))
    VALIDATOR.validate(record)
    assert jsonschema_rs.Draft202012Validator(SCHEMA).is_valid(record)


BAD: list[dict[str, Any]] = [
    {"ref": ""},
    {"url": "ftp://x"},
    {"country": "be"},
    {"operation": None},
    {"operation": "lease"},
    {"property_type": None},
    {"price": Decimal(0)},
    {"price": Decimal(-1)},
    {"currency": None},
    {"currency": "€"},
    {"price": None},
    {"operation": "rent"},
    {"rent_period": "month"},
    {"area_m2": 0.0},
    {"rooms": -1},
    {"title": ""},
    {"latitude": 91.0},
    {"longitude": None},
    {"status": "gone"},
    {"energy_class": "H"},
    {"photos": ["not an address"]},
    {"posted_at": datetime(2026, 9, 1)},
    {"delisted_at": (datetime(2026, 9, 1), datetime(2026, 9, 2))},
]


@pytest.mark.parametrize("change", BAD, ids=str)
def test_a_bad_listing_is_invalid_for_both_validators(change: dict[str, Any]) -> None:
    record = as_record(a_listing(**change))
    assert not VALIDATOR.is_valid(record)
    assert not jsonschema_rs.Draft202012Validator(SCHEMA).is_valid(record)


def test_a_rent_has_a_period() -> None:
    assert VALIDATOR.is_valid(as_record(a_listing(operation="rent", rent_period="month")))


def test_a_record_is_plain_json() -> None:
    record = as_record(a_listing(price=Decimal("940.50"), charges=Decimal("20")))
    assert (record["price"], record["charges"]) == (940.5, 20)
    assert record["features"] == ["garden", "terrace"]
    assert record["posted_at"] == "2026-09-01T10:00:00+00:00"


@pytest.mark.parametrize(
    "change",
    [{"url": "https://other.example/"}, {"posted_at": None}, {"updated_at": LATER}, {"extra": {}}],
)
def test_the_hash_leaves_out_fields_that_do_not_describe_the_home(change: dict[str, Any]) -> None:
    assert content_hash(a_listing(**change)) == content_hash(a_listing())


@pytest.mark.parametrize(
    "change", [{"price": Decimal(349000)}, {"title": "Sold soon"}, {"status": "reserved"}, {"rooms": None}]
)
def test_the_hash_covers_what_the_portal_says_about_the_home(change: dict[str, Any]) -> None:
    assert content_hash(a_listing(**change)) != content_hash(a_listing())


def test_the_hash_does_not_depend_on_the_form_of_an_amount_or_the_order_of_a_set() -> None:
    written_otherwise = a_listing(price=Decimal("350000.00"), features=frozenset(["terrace", "garden"]))
    assert content_hash(written_otherwise) == content_hash(a_listing())


def test_a_record_is_made_of_values_of_a_kind_too() -> None:
    class Word(str):
        __slots__ = ()

    class Later(datetime):
        pass

    record = as_record(a_listing(title=Word("x"), posted_at=Later(2026, 10, 1, tzinfo=UTC), photos=(Word("y"),)))
    assert (record["title"], record["posted_at"], record["photos"]) == ("x", "2026-10-01T00:00:00+00:00", ["y"])


def test_every_rule_of_the_schema_has_a_name_and_says_what_must_hold() -> None:
    names = [rule["title"] for rule in SCHEMA["allOf"]]
    assert len(set(names)) == len(names)
    assert all(rule["description"] for rule in SCHEMA["allOf"])


def test_the_schema_gives_the_true_reason() -> None:
    assert [name for name, part in SCHEMA["properties"].items() if "anyOf" in part] == []


def test_every_field_has_a_docstring() -> None:
    explained = field_docstrings()
    assert [f.name for f in fields(Listing) if not explained.get(f.name)] == []


def test_a_value_that_no_store_can_keep_is_a_clear_error() -> None:
    with pytest.raises(TypeError, match="timedelta"):
        as_record(a_listing(title=timedelta(1)))
