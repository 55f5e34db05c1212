"""A field vanishes from a portal's pages: no stored value is lost, listings are flagged, a repair ends the flags."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from realestate.items import Listing, content_hash
from realestate.monitoring.drift import DRIFT, FieldDrift
from realestate.pipelines.drift import FieldWatch
from realestate.storage import Batch, FullStore, open_store
from tests.examples import a_listing

FLAG = "stale:area_m2"


@pytest.fixture(params=["store_url", "mongodb_url"])
def store(request: pytest.FixtureRequest) -> Iterator[FullStore]:
    store = open_store(str(request.getfixturevalue(request.param)))
    store.migrate()
    yield store
    store.close()


def page(number: int, **changes: Any) -> Listing:
    values: dict[str, Any] = {"ref": str(number), "area_m2": 50.0 + number, "price": Decimal(100_000), **changes}
    listing = a_listing(**values)
    return replace(listing, content_hash=content_hash(listing))


def write(store: FullStore, *batches: list[Listing]) -> None:
    watch = FieldWatch("immoweb")
    for listings in batches:
        watch.write(store, Batch([(each, "j") for each in listings]))


def areas(store: FullStore) -> dict[str, tuple[float | None, bool]]:
    """ref -> area, and whether it is flagged."""
    return {each["ref"]: (each["area_m2"], FLAG in each["quality_flags"]) for each in store.records("immoweb")}


def test_no_known_value_is_lost_and_every_listing_since_the_change_is_flagged(store: FullStore) -> None:
    write(store, [page(number) for number in range(300)])
    write(store, *[[page(number, area_m2=None)] for number in (*range(20), *range(300, 310))])
    found = areas(store)
    assert {found[str(number)] for number in range(20)} == {(50.0 + number, True) for number in range(20)}
    assert {found[str(number)] for number in range(300, 310)} == {(None, True)}, "nobody knows the area of new ones"
    assert not any(is_flagged for ref, (_, is_flagged) in found.items() if 20 <= int(ref) < 300)
    drift = FieldDrift.from_state(store.states(DRIFT)[DRIFT + "immoweb"])
    assert drift.vanished.keys() == {"area_m2"}
    assert drift.vanished["area_m2"].pages <= 50

    unchanged = len(store.history("immoweb", "19"))
    write(store, [page(number, area_m2=None) for number in range(20)])
    assert len(store.history("immoweb", "19")) == unchanged, "the same page again is no event"


def test_pages_of_a_repaired_parser_end_the_flags(store: FullStore) -> None:
    write(store, [page(number) for number in range(300)])
    write(store, [page(number, area_m2=None) for number in (*range(20), 300)])
    write(store, [page(number) for number in (*range(10), 300)])
    found = areas(store)
    assert {found[str(number)] for number in range(10)} == {(50.0 + number, False) for number in range(10)}
    assert found["300"] == (350.0, False)
    assert found["15"] == (65.0, True), "its page was not read again"
    read_again = [
        replace(page(number), last_fetched_at=each.state.listing.last_fetched_at)
        for number in range(10, 20)
        if (each := store.current("immoweb", [str(number)])[str(number)])
    ]
    assert store.correct(read_again, "reparse")["corrected"] == 10
    assert {areas(store)[str(number)] for number in range(20)} == {(50.0 + number, False) for number in range(20)}


def test_a_price_that_vanishes_is_kept_with_what_it_means(store: FullStore) -> None:
    write(store, [page(number) for number in range(300)])
    lost = {"price": None, "currency": None, "price_basis": None}
    write(store, *[[page(number, **lost)] for number in range(15)])
    stored = {each["ref"]: each for each in store.records("immoweb")}
    for number in range(15):
        listing = stored[str(number)]
        assert (listing["price"], listing["currency"], listing["price_basis"]) == (100_000, "EUR", "total")
        assert listing["price_per_m2"] is not None
        assert "stale:price" in listing["quality_flags"]


def test_a_value_that_one_listing_loses_is_gone(store: FullStore) -> None:
    write(store, [page(number) for number in range(300)], [page(1, area_m2=None)])
    assert areas(store)["1"] == (None, False)
