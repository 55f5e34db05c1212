"""A listing for tests that need one and do not care which."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from realestate.items import Listing

_LISTING = Listing(
    portal="immoweb",
    ref="21000001",
    url="https://www.immoweb.be/en/classified/21000001",
    country="BE",
    operation="sale",
    property_type="house",
    subtype="villa",
    price=Decimal("350000"),
    currency="EUR",
    price_basis="total",
    area_m2=140.0,
    plot_m2=800.0,
    rooms=8,
    bedrooms=3,
    features=frozenset({"garden", "terrace"}),
    city="Namur",
    district="Namur",
    latitude=50.46,
    longitude=4.86,
    geo_precision="exact",
    title="House with a garden",
    photos=["https://photos.example/1.jpg"],
    posted_at=datetime(2026, 9, 1, 10, 0, tzinfo=UTC),
    extra={"views": 12},
)


def a_listing(**changes: Any) -> Listing:
    return replace(_LISTING, **changes)
