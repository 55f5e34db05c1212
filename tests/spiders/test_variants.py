"""Documents in other forms than the recorded ones. Sites serve these too."""

import json
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

from realestate.crawling.page_outcomes import BrokenPage
from tests import recorded

ITEM = "https://bina.az/items/5800001"


def read(portal: str, url: str, body: str) -> tuple[Any, list[Any]]:
    response = HtmlResponse(url, body=body.encode(), encoding="utf-8", request=Request(url))
    listing, *others = recorded.spider_class(portal)().parse_listing(response)
    return listing, others


def linked(**changed: Any) -> str:
    offered = {
        "numberOfRooms": 3,
        "floorSize": {"value": 85, "unitCode": "MTK"},
        "address": {"streetAddress": "Nümunə küç. 1", "addressLocality": "Bakı"},
    }
    node: dict[str, Any] = {"@type": "Product", "name": "Satılır 3 otaqlı yeni tikili 85 m², Nümunə m."}
    node |= {"offers": {"price": 158000, "priceCurrency": "AZN", "itemOffered": offered}} | changed
    return f'<script type="application/ld+json">{json.dumps([node])}</script>'


def test_an_item_that_is_only_in_json_ld_is_parsed() -> None:
    listing, _ = read("bina", ITEM, linked())
    assert (listing.ref, listing.operation, listing.price, listing.currency) == ("5800001", "sale", 158000, "AZN")
    assert (listing.property_type, listing.is_new_building, listing.rooms, listing.area_m2) == (
        "apartment",
        True,
        3,
        85,
    )
    assert (listing.city, listing.street) == ("Bakı", "Nümunə küç. 1")


@pytest.mark.parametrize("changed", [{"name": "Nümunə"}, {"name": None}, {"offers": None}, {"offers": {"price": 1}}])
def test_json_ld_without_an_offer_is_not_a_listing(changed: dict[str, Any]) -> None:
    with pytest.raises(BrokenPage):
        read("bina", ITEM, linked(**changed))


def test_land_in_square_metres_is_land() -> None:
    rows = "".join(
        f"<dd><span class=label>{label}</span>{value}</dd>"
        for label, value in (("Əmlakın növü", "Torpaq"), ("Sahə", "600 m2"))
    )
    page = f"<h1 class=title>Satılır 600 m2 torpaq</h1><dl class=technical-characteristics>{rows}</dl>"
    listing, _ = read("emlak", "https://emlak.az/840009-x.html", page)
    assert (listing.property_type, listing.area_m2, listing.plot_m2) == ("land", None, 600)


@pytest.mark.parametrize(
    "units",
    [
        [{"items": [{"id": 21500301, "price": 255000}]}],
        [{"items": [{"id": "21500301", "price": 255000}]}, {"items": None}, None],
        [{"id": 21500301, "price": 255000}],
    ],
)
def test_homes_of_a_project_are_in_groups_or_alone(units: Any) -> None:
    ad = {"id": 21500300, "property": {"type": "APARTMENT_GROUP"}, "cluster": {"units": units}}
    url = "https://www.immoweb.be/en/classified/21500300"
    _, (unit,) = read("immoweb", url, f"<script>window.classified = {json.dumps(ad)};</script>")
    assert (unit.ref, unit.sighting.price) == ("21500301", 255000)


def test_an_advert_without_params_is_a_listing() -> None:
    ad = {"id": 72500423, "category_id": 2046, "title": "Mənzil", "price": 90000, "currency": "AZN", "params": None}
    listing, _ = read("lalafo", "https://lalafo.az/api/search/v3/feed/details/72500423", json.dumps(ad))
    assert (listing.ref, listing.property_type, listing.operation, listing.price) == (
        "72500423",
        "apartment",
        "sale",
        90000,
    )


@pytest.mark.parametrize("rows", [-1, True, 1e30, "x", {"key": "m"}])
def test_rows_of_another_type_are_ignored(rows: Any) -> None:
    ad = {"id": 1, "title": "Dom", "characteristics": rows, "adCategory": {"name": "HOUSE", "type": "SELL"}}
    data = json.dumps({"props": {"pageProps": {"ad": ad}}})
    page = f'<script id="__NEXT_DATA__" type="application/json">{data}</script>'
    listing, _ = read("otodom", "https://www.otodom.pl/pl/oferta/dom-ID4aaaa", page)
    assert (listing.title, listing.area_m2) == ("Dom", None)
