"""The CUSUM of fields: a vanished field is named soon, and named only if it has vanished."""

import json
from collections.abc import Iterator, Mapping
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from realestate.monitoring.drift import LEAST_HISTORY, WATCHED, FieldDrift, missing_fields, observed
from tests.examples import a_listing

#: Pages of one type come in a row, as on a portal's search pages; types lack different fields.
ROW = 97
TYPES = ("apartment", "house", "land")
Shares = Mapping[str, tuple[float, float, float]]


def pages(random: Random, shares: Shares, count: int) -> Iterator[Any]:
    """Listings of which this many have a value of each field, by type."""
    for number in range(count):
        kind = number // ROW % len(TYPES)
        values = {name: 1 if random.random() < share[kind] else None for name, share in shares.items()}
        yield SimpleNamespace(operation="sale", price_basis="total", **{**values, "property_type": TYPES[kind]})


def any_shares(random: Random) -> dict[str, tuple[float, float, float]]:
    """Fields as they are: some are on every page, some on a few, some only of one type."""
    usual = (0.0, 1.0, 1.0, 0.999, 0.99, 0.95)
    fields = [name for name in WATCHED if name not in ("operation", "property_type")]
    return {
        name: (random.choice((*usual, random.random())), random.choice(usual), random.choice(usual)) for name in fields
    }


def named(drift: FieldDrift, listings: Iterator[Any]) -> list[tuple[int, str]]:
    """Each field that is named, with the number of the page."""
    found: list[tuple[int, str]] = []
    for number, listing in enumerate(listings, 1):
        before = set(drift.vanished)
        drift.observe(listing, f"page {number}", number)
        found += [(number, name) for name in drift.vanished.keys() - before]
    return found


@pytest.mark.parametrize(
    ("runs", "count"), [(4, 5_000), pytest.param(25, 20_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_there_is_at_most_one_false_alarm_in_half_a_million_pages(runs: int, count: int) -> None:
    alarms = []
    for seed in range(runs):
        random = Random(seed)
        alarms += named(FieldDrift(), pages(random, any_shares(random), count))
    assert len(alarms) <= runs * count / 500_000


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9, 0.99, 0.999, 1.0])
def test_a_vanished_field_is_named_within_fifty_pages_with_the_page_where_it_began(share: float) -> None:
    for seed in range(5):
        random = Random(seed)
        drift = FieldDrift()
        shares = {"area_m2": (share,) * 3, "title": (1.0,) * 3}
        assert named(drift, _whole(pages(random, shares, 2_000))) == []
        (found,) = named(drift, _whole(pages(random, {**shares, "area_m2": (0.0,) * 3}, 50)))
        assert found[1] == "area_m2"
        began = int(drift.vanished["area_m2"].since.removeprefix("page "))
        assert began == 1 or share < 1, "without a missing value before, the change began with the first page"
        assert list(drift.vanished) == ["area_m2"], "the title is still there"


def _whole(listings: Iterator[Any]) -> Iterator[Any]:
    """The listings, with a value of every other field."""
    for each in listings:
        yield SimpleNamespace(**{**dict.fromkeys(WATCHED, 1), **vars(each)})


def test_a_field_that_comes_back_is_over_and_its_history_is_kept() -> None:
    drift = FieldDrift()
    good = a_listing(operation="sale", property_type="house", area_m2=90.0)
    bad = a_listing(operation="sale", property_type="house", area_m2=None)
    named(drift, iter([good] * 300))
    assert [name for _, name in named(drift, iter([bad] * 400))] == ["area_m2"]
    assert drift.coverage()["area_m2"] > 0.95, "what is usual stays"
    named(drift, iter([good] * 10))
    assert not drift.vanished


def test_a_portal_that_gives_up_a_field_is_accepted() -> None:
    drift = FieldDrift()
    named(drift, iter([a_listing(area_m2=90.0)] * 300))
    bad = [a_listing(area_m2=None)] * 60
    named(drift, iter(bad))
    assert drift.accept("area_m2")
    assert not drift.accept("area_m2")
    assert named(drift, iter(bad)) == []


def test_nothing_is_named_before_there_is_a_history() -> None:
    drift = FieldDrift()
    named(drift, iter([a_listing(area_m2=90.0)] * (LEAST_HISTORY - 50)))
    assert named(drift, iter([a_listing(area_m2=None)] * 50)) == []


def test_a_type_that_was_never_read_is_not_compared_with_others() -> None:
    drift = FieldDrift()
    named(drift, iter([a_listing(property_type="apartment", rooms=2)] * 500))
    assert named(drift, iter([a_listing(property_type="land", rooms=None)] * 500)) == []


def test_a_type_that_vanishes_is_named_and_other_fields_are_still_judged() -> None:
    drift = FieldDrift()
    named(drift, iter([a_listing(property_type="apartment", rooms=2)] * 500))
    lost = iter([a_listing(property_type=None, rooms=None)] * 50)
    assert {name for _, name in named(drift, lost)} == {"property_type", "rooms"}


def test_a_price_on_request_is_not_missing() -> None:
    assert "price" in missing_fields(a_listing(price=None, price_basis=None))
    assert "price" not in missing_fields(a_listing(price=None, price_basis="on_request"))
    assert "floor" not in missing_fields(a_listing(floor=0))
    assert "photos" in missing_fields(a_listing(photos=[]))


def test_the_state_is_json_and_goes_on_where_it_was() -> None:
    listings = [a_listing(area_m2=90.0)] * 300 + [a_listing(area_m2=None)] * 12
    whole = FieldDrift()
    named(whole, iter(listings))
    state = None
    for each in listings:
        state = json.loads(json.dumps(observed(state, [each], "page 1", 1)))
    assert FieldDrift.from_state(state).vanished.keys() == whole.vanished.keys() == {"area_m2"}
