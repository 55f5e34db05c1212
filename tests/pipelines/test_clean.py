from decimal import Decimal

import pytest

from realestate.items import content_hash
from realestate.pipelines.clean import CleanPipeline, clean
from realestate.storage import Quarantined
from tests.examples import a_listing


def test_price_per_m2_is_derived() -> None:
    assert clean(a_listing(price=Decimal(100_000), area_m2=66.5)).price_per_m2 == Decimal("1503.76")


def test_the_price_per_m2_of_land_is_by_its_plot() -> None:
    land = clean(a_listing(property_type="land", area_m2=None, plot_m2=600.0, price=Decimal(30_000)))
    assert land.price_per_m2 == Decimal("50.00")


def test_without_price_or_area_there_is_no_price_per_m2() -> None:
    assert clean(a_listing(area_m2=None)).price_per_m2 is None
    assert clean(a_listing(price=None, currency=None, price_basis="on_request")).price_per_m2 is None
    assert clean(a_listing(price_basis="per_m2")).price_per_m2 is None


def test_the_price_of_a_rent_without_period_moves_to_extra() -> None:
    rent = clean(a_listing(operation="rent", price=Decimal(50), currency="AZN"))
    assert (rent.price, rent.currency, rent.price_basis) == (None, None, None)
    assert rent.extra["price"] == "50"
    assert "rent_period_unknown" in rent.quality_flags


def test_the_hash_is_of_the_cleaned_listing() -> None:
    cleaned = clean(a_listing(operation="rent"))
    assert cleaned.content_hash == content_hash(cleaned)


def test_a_listing_that_cannot_be_cleaned_goes_to_quarantine() -> None:
    for change in ({"title": "half a pair \ud800"}, {"price": Decimal("Infinity")}, {"title": object()}):
        item = CleanPipeline().process_item(a_listing(**change))
        assert isinstance(item, Quarantined)
        assert item.ref == a_listing().ref


def test_other_items_pass_unchanged() -> None:
    item = {"any": "thing"}
    assert CleanPipeline().process_item(item) is item


@pytest.mark.parametrize(
    "bad",
    ["javascript:alert(1)", "file:///etc/passwd", "data:image/png;base64,AAAA", "ftp://x.example/1.jpg", "1.jpg", ""],
)
def test_a_photo_that_is_no_http_link_is_left_out(bad: str) -> None:
    photos = ["https://x.example/1.jpg", bad, "//x.example/2 b.jpg", "HTTPS://x.example/3.jpg"]
    cleaned = clean(a_listing(photos=photos))
    assert cleaned.photos == ["https://x.example/1.jpg", "https://x.example/2 b.jpg", "https://x.example/3.jpg"]
