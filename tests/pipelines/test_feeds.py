"""What leaves a crawl by `-o` and FEEDS, and what CLOSESPIDER_* counts."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import get_args

import msgspec

from realestate.items import FIELDS, Sighting, Sightings
from realestate.items.others import OTHERS, Other, Product
from realestate.pipelines import store
from realestate.pipelines.feeds import INTERNAL, exported
from realestate.storage.no_store import EmptyStore
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.store import Store
from realestate.storage.validators import PageRead
from tests.examples import a_listing


def test_a_listing_is_exported_whole_as_json_values() -> None:
    listing = replace(
        a_listing(),
        price=Decimal("1234.50"),
        features=frozenset({"lift", "balcony"}),
        posted_at=datetime(2026, 11, 1, tzinfo=UTC),
    )
    record = exported(listing)
    assert tuple(record) == FIELDS
    assert msgspec.json.decode(msgspec.json.encode(record)) == record
    assert record["price"] == 1234.5
    assert record["features"] == ["balcony", "lift"]
    assert record["posted_at"] == "2026-11-01T00:00:00+00:00"


def test_an_item_of_another_kind_is_exported_as_json_values() -> None:
    product = Product(portal="shop", ref="1", url="https://shop.example/1", name="Chair", price=Decimal("9.90"))
    assert exported(product)["price"] == 9.9


def test_an_item_of_the_user_is_exported_as_it_is() -> None:
    assert exported({"own": 1}) == {"own": 1}


def test_every_item_that_only_the_store_needs_is_internal() -> None:
    never_items = {PageRead, SnapshotRef}  # the store pipeline makes them itself
    stored = set(get_args(store.StoredItem)) - never_items
    public = {each for each in stored if each.__name__ == "Listing"} | set(OTHERS.values())
    assert set(get_args(Other)) == set(OTHERS.values())
    assert stored - public <= set(INTERNAL)
    assert isinstance(Sightings((Sighting(portal="x", ref="1", url="u"),)), INTERNAL)


def test_the_empty_store_answers_only_what_a_store_answers() -> None:
    answers = {name for name in vars(EmptyStore) if not name.startswith("_")}
    assert answers <= set(dir(Store))
