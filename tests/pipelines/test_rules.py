"""Every rule is checked with listings that keep it and that break it, at its limits, and with random listings."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings

from realestate.items import Listing, PropertyType, RentPeriod
from realestate.pipelines.clean import clean
from realestate.pipelines.medians import Medians
from realestate.pipelines.rules import AREAS, LOWEST_RENT, RULES, broken_by
from tests.any_listing import typed_listings
from tests.examples import a_listing

NOW = datetime(2026, 9, 2, 10, 0, tzinfo=UTC)
#: Houses of Namur are for sale at 2,500 a square metre, land at 100.
MEDIANS = Medians(
    ("BE", "Namur", "Namur", "sale", kind, None, "EUR", median, 20) for kind, median in (("house", 2500), ("land", 100))
)
BAKU = timezone(timedelta(hours=4))


def broken(medians: Medians = MEDIANS, **changes: Any) -> list[str]:
    return [rule for rule, _ in broken_by(a_listing(**changes), NOW, medians)]


def per_m2(price: str, **changes: Any) -> dict[str, Any]:
    return {"price_per_m2": Decimal(price), **changes}


def rent(**changes: Any) -> dict[str, Any]:
    return {"operation": "rent", "rent_period": "month", "price": Decimal(900), **changes}


def land(plot_m2: float | None, **changes: Any) -> dict[str, Any]:
    return {"property_type": "land", "plot_m2": plot_m2, "area_m2": None, "rooms": None, "bedrooms": None, **changes}


#: rule: (listings that keep it, listings that break it, and no other rule)
EXAMPLES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "floor_above_building": (
        [{"floor": 5, "floors_total": 5}, {"floor": -1, "floors_total": 0}, {"floor": 12}, {"floors_total": 2}],
        [{"floor": 7, "floors_total": 5}, {"floor": 45, "floors_total": 4}],
    ),
    "floor_under_roof": ([{"floor": 5, "floors_total": 5}], [{"floor": 6, "floors_total": 5}]),
    "area_impossible": (
        [{"area_m2": 8.0, "rooms": None}, {"area_m2": 20_000.0}, land(100_000_000.0), land(None, area_m2=600.0)],
        [
            {"area_m2": 7.9, "rooms": None},
            {"area_m2": 20_001.0},
            {"property_type": "apartment", "area_m2": 102_900.0},
            land(0.5),
            land(100_000_001.0),
            land(None, area_m2=0.5),
        ],
    ),
    "area_unusual": (
        [{"area_m2": 25.0}, {"area_m2": 1500.0}, {"property_type": "garage", "area_m2": 12.0, "rooms": None}],
        [{"area_m2": 24.9}, {"area_m2": 1500.1}, land(29.0), land(1_000_001.0)],
    ),
    "plot_unusual": ([{"plot_m2": 5.0}, {"plot_m2": 1e6}], [{"plot_m2": 4.9}, {"plot_m2": 1e6 + 1}]),
    "more_bedrooms_than_rooms": (
        [{"rooms": 3, "bedrooms": 3}, {"rooms": None, "bedrooms": 9}, {"rooms": 0, "bedrooms": 0}],
        [{"rooms": 2, "bedrooms": 3}],
    ),
    "too_many_rooms_for_area": ([{"area_m2": 30.0, "rooms": 10}], [{"area_m2": 30.0, "rooms": 11}]),
    "price_per_m2_beyond_district": (
        [
            per_m2("50"),
            per_m2("125000"),
            per_m2("1", city="Dinant", district="Dinant"),
            per_m2("1", quality_flags=frozenset({"life_annuity"})),
            per_m2("0.5", **land(600.0)),
        ],
        [per_m2("49.99"), per_m2("125000.01"), per_m2("1", district="a district nobody knows")],
    ),
    "price_per_m2_unlike_district": (
        [per_m2("250"), per_m2("25000"), per_m2("240", rent_period="month")],
        [
            per_m2("249"),
            per_m2("25000.01"),
            per_m2("0.5", **land(600.0)),
            per_m2("1", quality_flags=frozenset({"public_sale"})),
        ],
    ),
    "price_tiny": (
        [{"price": Decimal(500)}, rent(price=Decimal(15)), {"price": Decimal(3), "price_basis": "per_m2"}],
        [{"price": Decimal("499.99")}, {"price": Decimal(1)}, rent(price=Decimal(14))],
    ),
    "price_though_on_request": (
        [{"price": None, "currency": None, "price_basis": "on_request"}, {"price_basis": None}],
        [{"price_basis": "on_request"}],
    ),
    "charges_of_a_sale": ([rent(charges=Decimal(50))], [{"charges": Decimal(50)}]),
    "charges_above_rent": (
        [rent(charges=Decimal(900)), rent(charges=Decimal(901), price=None)],
        [rent(charges=Decimal(901))],
    ),
    "built_in_future": ([{"year_built": 2036}, {"year_built": 1850}], [{"year_built": 2037}]),
    "coordinates_at_zero": (
        [{"latitude": 0.0, "longitude": None}, {"country": "GA", "latitude": 0.0, "longitude": 9.5}],
        [{"latitude": 0.0, "longitude": 0.0}, {"country": "GA", "latitude": 0, "longitude": -0.0}],
    ),
    "coordinates_outside_country": (
        [
            {"latitude": 49.5, "longitude": 5.8},
            {"country": "FR", "latitude": -20.9, "longitude": 55.5},
            {"country": "XX", "latitude": 1.0, "longitude": 1.0},
        ],
        [{"latitude": 48.85, "longitude": 2.35}, {"latitude": 4.86, "longitude": 50.46}, {"country": "AZ"}],
    ),
    "date_impossible": (
        [{"posted_at": datetime.min.replace(tzinfo=UTC)}, {"updated_at": None}],
        [
            {"posted_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=4)))},
            {"updated_at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-4)))},
        ],
    ),
    "date_in_future": (
        [{"posted_at": NOW + timedelta(days=1)}, {"updated_at": (NOW + timedelta(days=1)).astimezone(BAKU)}],
        [{"posted_at": NOW + timedelta(days=1, seconds=1)}, {"updated_at": NOW + timedelta(days=400)}],
    ),
    "date_before_the_web": (
        [{"posted_at": datetime(1995, 1, 1, tzinfo=UTC)}],
        [
            {"posted_at": datetime(1970, 1, 1, tzinfo=UTC)},
            {"updated_at": datetime(1, 1, 1, tzinfo=UTC), "posted_at": None},
        ],
    ),
    "posted_after_updated": (
        [{"posted_at": NOW, "updated_at": NOW - timedelta(days=1)}, {"posted_at": NOW, "updated_at": None}],
        [{"posted_at": NOW, "updated_at": NOW - timedelta(days=1, seconds=1)}],
    ),
}
KEPT = [(rule, changes) for rule, (kept, _) in EXAMPLES.items() for changes in kept]
BROKEN = [(rule, changes) for rule, (_, broken) in EXAMPLES.items() for changes in broken]


def test_every_rule_has_examples() -> None:
    assert list(EXAMPLES) == list(RULES)
    assert all(kept and broken for kept, broken in EXAMPLES.values())


@pytest.mark.parametrize(("rule", "changes"), KEPT, ids=str)
def test_a_rule_is_kept(rule: str, changes: dict[str, Any]) -> None:
    assert rule not in broken(**changes)


@pytest.mark.parametrize(("rule", "changes"), BROKEN, ids=str)
def test_a_rule_is_broken_and_says_why(rule: str, changes: dict[str, Any]) -> None:
    ((name, why),) = broken_by(a_listing(**changes), NOW, MEDIANS)
    assert name == rule
    assert why


def test_only_these_rules_are_errors() -> None:
    errors = {name for name, rule in RULES.items() if rule.severity == "error"}
    assert errors == {"floor_above_building", "area_impossible", "price_per_m2_beyond_district", "date_impossible"}


def test_swapped_coordinates_are_named_in_the_message() -> None:
    ((_, why),) = broken_by(a_listing(latitude=4.86, longitude=50.46), NOW, MEDIANS)
    assert why == "4.86, 50.46 is not in BE, but would be if swapped"


@pytest.mark.parametrize("kind", get_args(PropertyType))
def test_every_property_type_has_bounds(kind: PropertyType) -> None:
    bounds = AREAS[kind]
    assert list(bounds) == sorted(bounds)
    size = "plot_m2" if kind == "land" else "area_m2"
    for area in (edge * factor for edge in bounds for factor in (0.999, 1, 1.001)):
        changes: dict[str, Any] = {"property_type": kind, "rooms": None, size: area}
        rules = [rule for rule in broken(**changes) if rule.startswith("area")]
        if not bounds.impossible_below <= area <= bounds.impossible_above:
            assert rules == ["area_impossible"], area
        elif not bounds.odd_below <= area <= bounds.odd_above:
            assert rules == ["area_unusual"], area
        else:
            assert rules == [], area


def test_every_rent_period_has_a_lowest_price() -> None:
    assert set(LOWEST_RENT) == set(get_args(RentPeriod))


@pytest.mark.parametrize("name", [f.name for f in fields(Listing) if f.name not in ("portal", "ref", "url", "country")])
def test_a_missing_field_breaks_no_rule(name: str) -> None:
    rented = a_listing(**rent(charges=Decimal(50), floor=2, floors_total=3, year_built=1990, updated_at=NOW))
    for listing in (clean(a_listing()), rented):
        if name not in ("features", "photos", "quality_flags", "status", "extra", "parser_version"):
            setattr(listing, name, None)
        assert broken_by(listing, NOW, MEDIANS) == []


def test_an_empty_listing_breaks_no_rule() -> None:
    assert broken_by(Listing(portal="x", ref="1", url="https://x.example/", country="BE"), NOW, MEDIANS) == []


@given(typed_listings)
@settings(max_examples=40)
@example(a_listing(posted_at=datetime.max.replace(tzinfo=UTC), updated_at=datetime.min.replace(tzinfo=BAKU)))
@example(a_listing(posted_at=datetime(2026, 1, 1), updated_at=NOW))
@example(a_listing(price=Decimal("sNaN"), charges=Decimal("NaN"), price_per_m2=Decimal("-Infinity")))
@example(a_listing(area_m2=10**400, rooms=10**400, price=10**400, latitude=float("nan"), longitude=float("inf")))
def test_no_rule_ever_raises(listing: Listing) -> None:
    for rule, why in broken_by(listing, NOW, MEDIANS):
        assert rule in RULES
        assert why


@pytest.mark.parametrize("price", ["0.00000001", "Infinity", "-Infinity", "NaN", "sNaN", "1e999", "-5"])
@pytest.mark.parametrize("median", [1e-300, 1e300])
def test_no_price_and_no_median_makes_the_comparison_raise(price: str, median: float) -> None:
    medians = Medians([("BE", "Namur", "Namur", "sale", "house", None, "EUR", median, 20)])
    assert "price_per_m2_beyond_district" in broken(medians, price_per_m2=Decimal(price))
