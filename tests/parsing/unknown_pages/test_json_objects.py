"""Listings in the JSON documents of a page."""

import json
from typing import Any

import pytest

from realestate.parsing.unknown_pages import json_fields, json_objects
from realestate.parsing.unknown_pages.document import Document
from tests.parsing.unknown_pages.pages import URL, next_data, page

HOME: dict[str, Any] = {
    "id": 1234567,
    "title": "Two rooms by the sea",
    "price": {"value": 130000, "currency": "GBP"},
    "bedrooms": "TWO",
    "area": 900,
    "livingArea": {"value": 861, "unit": "sqft"},
    "propertyType": "APARTMENT",
    "location": {"lat": 50.1, "lon": -5.2, "city": "Truro", "postcode": "TR1 2AB"},
    "agency": {"name": "x", "city": "London", "street": "Elsewhere 1"},
    "features": [{"label": "Year built", "value": "1990"}, {"key": "bathrooms", "value": 1}],
}
OTHER = {"id": 7654321, "title": "Other", "price": 5, "bedrooms": 9, "city": "Bath", "street": "x"}


def read(body: str, url: str = URL) -> dict[str, Any] | None:
    document = Document(page(body), url)
    found = json_fields.best(document, json_objects.read(document).own())
    return found[1] if found else None


@pytest.mark.parametrize(
    "body",
    [
        next_data({"deep": {"home": HOME}, "similarHomes": [OTHER, OTHER]}),
        next_data({"cache": json.dumps({"query": {"home": HOME, "padding": "x" * 300}})}),
        f"<script>window.__STATE__ = {json.dumps({'home': HOME, 'list': [OTHER, OTHER]})};\n</script>",
        f"<script>window.x = JSON.parse({json.dumps(json.dumps({'home': HOME}))});</script>",
        "<script>self.__next_f.push([1,"
        + json.dumps('2:T5,ab\ncd3:["$","div",null,' + json.dumps({"home": HOME}) + "]\n")
        + "])</script>"
        + f"<!-- {'x' * 200} -->",
        f'<script type="application/json">{json.dumps([OTHER, HOME, OTHER][1:2])}</script>',
    ],
)
def test_the_object_with_the_pages_id_is_read(body: str) -> None:
    found = read(body)
    assert found is not None
    assert (found["bedrooms"], found["bathrooms"], found["year_built"]) == (2, 1, 1990)
    assert (found["city"], found["postal_code"], found["latitude"]) == ("Truro", "TR1 2AB", 50.1)
    assert (found["price"].amount, found["price"].currency) == (130000, "GBP")
    assert found["area_m2"] == pytest.approx(79.99, abs=0.01)
    assert "area_any" not in found, "900 of what?"
    assert "street" not in found, "the agency's"


def test_an_object_without_the_id_counts_only_alone() -> None:
    without_id = {name: value for name, value in HOME.items() if name != "id"}
    assert read(next_data({"home": without_id})) is not None
    assert read(next_data({"home": without_id, "other": dict(without_id, price=5)})) is None
    assert read(next_data({"results": [without_id, OTHER, OTHER]})) is None


@pytest.mark.parametrize("odd", [None, [], {}, {"a": {}}, {"title": "Site", "name": "Site"}, "text", 5])
def test_a_page_without_a_listing_has_none(odd: Any) -> None:
    assert read(next_data(odd)) is None


def test_a_list_of_homes_is_seen() -> None:
    document = Document(page(next_data({"results": [OTHER, dict(OTHER, id=5), dict(OTHER, id=6)]})), URL)
    assert json_objects.read(document).is_list_of_homes()


def test_a_price_without_a_currency_is_left_out() -> None:
    found = read(next_data({"home": dict(HOME, price=130000)}))
    assert found is not None
    assert "price" not in found
