from decimal import Decimal
from typing import Any

import pytest

from realestate.parsing import unknown_json

HOME: dict[str, Any] = {
    "title": "Two rooms by the sea",
    "description": "Quiet.",
    "price": {"value": 1300, "currency": "GBP"},
    "bedrooms": "TWO",
    "area": 900,
    "location": {"lat": 50.1, "lon": -5.2, "city": "Truro"},
}


def test_the_object_with_the_most_known_keys_is_the_listing() -> None:
    document = {"pageProps": {"user": {"name": "x", "city": "y"}, "deep": {"home": HOME, "more": {"title": "Others"}}}}
    found = unknown_json.find_listing(document)
    assert found == HOME
    fields = unknown_json.fields(HOME)
    assert (fields["bedrooms"], fields["city"], fields["latitude"]) == (2, "Truro", 50.1)
    assert "area_m2" not in fields, "of what unit?"
    price = unknown_json.price(HOME)
    assert (price.amount, price.currency) == (Decimal(1300), "GBP")


def test_a_price_without_a_currency_is_empty() -> None:
    assert unknown_json.price({"price": 1300}).amount is None
    assert unknown_json.price({"price": "1,300"}).amount is None
    rent = unknown_json.price({"price": "£1,300 pcm"})
    assert (rent.amount, rent.currency, rent.period) == (Decimal(1300), "GBP", "month")


@pytest.mark.parametrize("odd", [None, [], {}, {"a": {}}, {"title": "Site", "name": "Site"}, [[HOME]], "text"])
def test_a_page_without_a_listing_has_none(odd: Any) -> None:
    assert unknown_json.find_listing(odd) is None


def test_the_search_in_a_large_document_is_limited() -> None:
    deep: dict[str, Any] = dict(HOME)
    for _ in range(2000):
        deep = {"inner": deep}
    assert unknown_json.find_listing(deep) is None
