from decimal import Decimal
from typing import Any

import pytest

from realestate.parsing import microdata, schemaorg

HOME: dict[str, Any] = {
    "@type": "RealEstateListing",
    "name": "Four rooms",
    "about": {
        "@type": "House",
        "numberOfBedrooms": "4",
        "floorSize": {"value": 1200, "unitCode": "FTK"},
        "address": [{"addressLocality": "Prestbury", "addressCountry": {"name": "ZA"}}],
        "geo": {"latitude": "-29.6", "longitude": 30.3},
    },
    "offers": [{"priceSpecification": {"price": "1395000", "priceCurrency": "ZAR", "unitCode": "MON"}}],
    "image": [{"url": "https://x.test/1.jpg"}, "https://x.test/2.jpg", "/3.jpg", None],
}


def test_reads_a_home_inside_the_listing() -> None:
    fields = schemaorg.fields(HOME)
    assert fields["property_type"] == "house"
    assert (fields["title"], fields["bedrooms"], fields["city"]) == ("Four rooms", 4, "Prestbury")
    assert fields["area_m2"] == pytest.approx(111.48, abs=0.01)
    assert (fields["latitude"], fields["longitude"]) == (-29.6, 30.3)
    assert fields["photos"] == ["https://x.test/1.jpg", "https://x.test/2.jpg"]
    assert schemaorg.country(HOME) == "ZA"


def test_a_price_has_its_currency_and_period() -> None:
    price = schemaorg.price(HOME)
    assert (price.amount, price.currency, price.period) == (Decimal(1395000), "ZAR", "month")
    bare = {"offers": {"price": 5}}
    assert schemaorg.price(bare).amount is None
    assert schemaorg.price(bare, "GBP").currency == "GBP"


def test_an_offer_may_be_sold_out() -> None:
    assert schemaorg.is_gone({"offers": {"availability": "https://schema.org/SoldOut"}})
    assert not schemaorg.is_gone(HOME)


@pytest.mark.parametrize(
    "odd", [None, [], "text", 5, {"offers": "no"}, {"about": [[]]}, {"geo": [], "image": {"url": 5}}]
)
def test_a_value_that_is_not_a_node_has_no_fields(odd: Any) -> None:
    assert schemaorg.fields(odd) == {}
    assert schemaorg.price(odd).amount is None
    assert not schemaorg.is_gone(odd)


def test_reads_microdata_like_json_ld() -> None:
    page = """<div itemscope itemtype="https://schema.org/House"><b itemprop="name">Four rooms</b>
        <div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
        <meta itemprop="price" content="900"><meta itemprop="priceCurrency" content="EUR"></div></div>"""
    (node,) = microdata.nodes(page)
    assert schemaorg.fields(node) == {"title": "Four rooms", "property_type": "house"}
    assert schemaorg.price(node).amount == 900


@pytest.mark.parametrize("page", ["", "<p>itemscope", "<div itemscope>" * 3000, "<div itemscope itemprop>\x00"])
def test_broken_microdata_raises_no_error(page: str) -> None:
    assert isinstance(microdata.nodes(page), list)
