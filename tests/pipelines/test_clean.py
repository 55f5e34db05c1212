from decimal import Decimal

from realestate.items import content_hash
from realestate.pipelines.clean import CleanPipeline, clean
from realestate.storage import Quarantined
from tests.examples import a_listing


def test_price_per_m2_is_derived() -> None:
    assert clean(a_listing(price=Decimal(100_000), area_m2=66.5)).price_per_m2 == Decimal("1503.76")


def test_land_is_priced_by_its_plot() -> None:
    land = clean(a_listing(property_type="land", area_m2=None, plot_m2=600.0, price=Decimal(30_000)))
    assert land.price_per_m2 == Decimal("50.00")


def test_nothing_is_derived_from_what_is_missing() -> None:
    assert clean(a_listing(area_m2=None)).price_per_m2 is None
    assert clean(a_listing(price=None, currency=None, price_basis="on_request")).price_per_m2 is None
    assert clean(a_listing(price_basis="per_m2")).price_per_m2 is None


def test_a_rent_of_unknown_period_is_no_price_but_kept_aside() -> None:
    rent = clean(a_listing(operation="rent", price=Decimal(50), currency="AZN"))
    assert (rent.price, rent.currency, rent.price_basis) == (None, None, None)
    assert rent.extra["price"] == "50"
    assert "rent_period_unknown" in rent.quality_flags


def test_the_hash_is_of_the_cleaned_listing() -> None:
    cleaned = clean(a_listing(operation="rent"))
    assert cleaned.content_hash == content_hash(cleaned)


def test_what_cannot_be_cleaned_goes_to_quarantine() -> None:
    for change in ({"title": "half a pair \ud800"}, {"price": Decimal("Infinity")}, {"title": object()}):
        item = CleanPipeline().process_item(a_listing(**change))
        assert isinstance(item, Quarantined)
        assert item.ref == a_listing().ref


def test_other_items_pass_untouched() -> None:
    item = {"any": "thing"}
    assert CleanPipeline().process_item(item) is item
