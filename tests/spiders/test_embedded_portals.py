"""The smaller portals: sellers, projects, states, and documents that are saved without their page."""

import json
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

from realestate.authoring.document_parser import parse
from realestate.crawling.page_outcomes import BrokenPage, ItemGone, ListingGone
from realestate.items import Listing, as_record
from tests import recorded


def next_page(props: dict[str, Any]) -> bytes:
    data = json.dumps({"props": props}).encode()
    return b'<html><script id="__NEXT_DATA__" type="application/json">' + data + b"</script></html>"


def read(portal: str, body: bytes, url: str, **meta: Any) -> list[Any]:
    spider = recorded.spider(portal)
    request = Request(url, meta=meta)
    response = HtmlResponse(url, body=body, encoding="utf-8", request=request)
    return list(spider.parsed(response, "extract"))


def values(portal: str, body: bytes, url: str) -> dict[str, Any]:
    listing, *_ = read(portal, body, url)
    assert isinstance(listing, Listing)
    return as_record(listing)


# ----- bina


def bina(item: dict[str, Any]) -> dict[str, Any]:
    page = next_page({"pageProps": {"currentItemData": {"id": "4000001", "leased": False, "rooms": 2, **item}}})
    return values("bina", page, "https://bina.az/items/4000001")


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"business": {"name": "Uydurma Emlak"}, "contactName": "Nümunə Şəxs"}, ("agency", "Uydurma Emlak")),
        (
            {"business": {"name": "Uydurma Emlak"}, "company": {"name": "Nümunə Şəxs"}, "contactName": "Nümunə Şəxs"},
            ("agency", "Uydurma Emlak"),
        ),
        ({"company": {"name": "NÜMUNƏ  ŞƏXS"}, "contactName": "Nümunə Şəxs"}, (None, None)),
        ({"company": {"name": "Uydurma MTK"}, "contactName": "Nümunə Şəxs"}, ("agency", "Uydurma MTK")),
        ({"contactName": "Nümunə Şəxs", "contactTypeName": "vasitəçi (agent)"}, ("agency", None)),
        ({"business": True, "contactName": "Nümunə Şəxs", "contactTypeName": "mülkiyyətçi"}, ("owner", None)),
    ],
)
def test_the_agency_is_the_firm_and_the_contacts_name_reaches_nothing(
    item: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    found = bina(item)
    assert (found["seller_type"], found["agency_name"]) == expected
    assert "şəxs" not in json.dumps(found, ensure_ascii=False).lower()


# ----- otodom

OTODOM = "https://www.otodom.pl/pl/oferta/nowa-ID4abcd"


def otodom(ad: dict[str, Any], url: str = OTODOM) -> bytes:
    base = {"id": 7, "slug": "nowa-ID4abcd", "title": "Dom", "adCategory": {"name": "FLAT", "type": "SELL"}}
    return next_page({"pageProps": {"ad": base | ad}})


@pytest.mark.parametrize(
    "ad",
    [
        {"adCategory": {"name": "INVESTMENT", "type": "SELL"}},
        {"adCategory": {"name": "FLAT", "type": "INVESTMENT"}},
    ],
)
def test_a_developers_project_is_for_sale_new_and_leads_to_its_homes(ad: dict[str, Any]) -> None:
    rows = [
        {"key": "area_from", "value": "30"},
        {"key": "area_to", "value": "90"},
        {"key": "price_per_m_from", "value": "9000"},
    ]
    kinds = [{"label": "offered_estates_types_project", "values": ["offered_estates_types_project::flats"]}]
    units = [{"slug": "lokal-ID4abce"}, {"url": "https://www.otodom.pl/pl/oferta/lokal-ID4abcf"}, {"slug": ""}, None]
    more = {
        "characteristics": rows,
        "topInformation": kinds,
        "agency": {"name": "Wymyślony Deweloper", "type": "developer"},
        "paginatedUnits": {"items": units},
    }
    listing, *others = read("otodom", otodom(ad | more), OTODOM)
    found = as_record(listing)
    assert (found["operation"], found["property_type"], found["subtype"]) == ("sale", "apartment", "project")
    assert (found["is_new_building"], found["price"], found["area_m2"]) == (True, None, None)
    assert (found["seller_type"], found["agency_name"]) == ("developer", "Wymyślony Deweloper")
    assert [each.ref for each in others] == ["4abce", "4abcf"]


@pytest.mark.parametrize(
    ("ad", "expected"),
    [
        ({"advertiserType": "business", "agency": {"name": "Biuro", "type": "agency"}}, ("agency", "Biuro")),
        ({"advertiserType": "business", "agency": {"name": "Dom SA", "type": "developer"}}, ("developer", "Dom SA")),
        ({"advertiserType": "business", "owner": {"name": "Dom SA", "type": "developer"}}, ("developer", "Dom SA")),
        ({"advertiserType": "private", "owner": {"name": "Jan Zmyślony", "type": "private"}}, ("owner", None)),
        ({"owner": {"name": "Jan Zmyślony"}}, (None, None)),
    ],
)
def test_the_seller_of_otodom_is_never_a_private_person_by_name(
    ad: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    found = values("otodom", otodom(ad), OTODOM)
    assert (found["seller_type"], found["agency_name"]) == expected
    assert "zmyślony" not in json.dumps(found, ensure_ascii=False).lower()


@pytest.mark.parametrize(("market", "is_new"), [("PRIMARY", True), ("secondary", False), (None, None)])
def test_the_market_says_whether_a_home_is_new(market: str | None, is_new: bool | None) -> None:
    assert values("otodom", otodom({"market": market}), OTODOM)["is_new_building"] is is_new
    rows = [{"key": "market", "value": market}]
    assert values("otodom", otodom({"characteristics": rows}), OTODOM)["is_new_building"] is is_new


# ----- onthemarket

ONTHEMARKET = "https://www.onthemarket.com/details/9000001/"


def onthemarket(**ad: Any) -> bytes:
    base = {"id": "9000001", "propertyTitle": "2 bedroom flat", "price": "£200,000", "forSale": True}
    return next_page({"initialReduxState": {"property": base | ad}})


@pytest.mark.parametrize(
    ("ad", "status"),
    [
        ({}, "active"),
        ({"propertyLabels": ["Sold STC"]}, "reserved"),
        ({"propertyLabels": [{"text": "SOLD STC"}]}, "reserved"),
        ({"propertyLabels": ["Premium", "Under Offer"]}, "reserved"),
        ({"propertyLabels": ["Let agreed"]}, "reserved"),
        ({"propertyLabels": ["Sold"]}, "sold"),
        ({"propertyLabels": ["Sold with tenants"], "retracted": False}, "active"),
        ({"propertyLabels": None, "retracted": None}, "active"),
    ],
)
def test_the_labels_of_onthemarket_give_the_state(ad: dict[str, Any], status: str) -> None:
    assert values("onthemarket", onthemarket(**ad), ONTHEMARKET)["status"] == status


@pytest.mark.parametrize("name", ["retracted", "retracted?"])
def test_a_retracted_advert_is_gone(name: str) -> None:
    with pytest.raises(ListingGone, match="retracted"):
        read("onthemarket", onthemarket(**{name: True}), ONTHEMARKET)


# ----- the page of another listing

PAGES = {
    "onthemarket": (onthemarket(), ONTHEMARKET, "9000001", "9000002"),
    "otodom": (otodom({}), OTODOM, "4abcd", "4zzzz"),
}


@pytest.mark.parametrize("portal", PAGES)
def test_a_page_of_another_id_is_refused(portal: str) -> None:
    body, url, own, other = PAGES[portal]
    assert read(portal, body, url)
    with pytest.raises(BrokenPage, match=f"the page is of {own}, and {other} was asked for"):
        read(portal, body, url.replace(own, other))


@pytest.mark.parametrize(
    "expected",
    [path for path in recorded.expectations() if "listing" in json.loads(path.read_text("utf-8"))],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_every_recorded_listing_is_refused_if_another_was_asked_for(expected: Any) -> None:
    """On all portals but `generic`, whose sites have no common form of ids."""
    portal = expected.parent.name
    if portal == "generic" or expected.stem == "listing-old-house-sale":  # old pages of tap do not name their id
        return
    given = json.loads(expected.read_text("utf-8"))
    page = recorded.page_of(expected).read_bytes()
    spider = recorded.spider(portal)
    url = given["url"].replace(given["listing"]["ref"], "99999999"[: len(given["listing"]["ref"])])
    response = HtmlResponse(url, body=page, encoding="utf-8", request=Request(url))
    with pytest.raises((BrokenPage, ItemGone)):
        list(spider.parsed(response, "extract", **given.get("hints", {})))


def test_a_redirect_to_another_listing_means_that_the_first_is_not_there() -> None:
    body, url, own, other = PAGES["onthemarket"]
    with pytest.raises(ItemGone, match="redirected") as gone:
        read("onthemarket", body, url, redirect_urls=[url.replace(own, other)])
    assert gone.value.evidence == "absent"


# ----- property24

ROWS = {
    "Listing Number": "100000001",
    "Type of Property": "Apartment / Flat",
    "Floor Size": "61 m²",
    "Bedroom": "1",
    "Bathrooms": "2",
}
PROPERTY24 = "https://www.property24.com/to-rent/a-suburb/a-town/a-province/1/100000001"


def property24(rows: dict[str, str], head: str = "") -> bytes:
    made = "".join(
        f'<div class="p24_propertyOverviewRow"><div class="p24_propertyOverviewKey">{label}</div>'
        f'<div class="p24_info">{value}</div></div>'
        for label, value in rows.items()
    )
    return (
        f"<html><head>{head}</head><body><div class='p24_listingContent'><div class='p24_listingFeaturesWrapper'>"
        f"<div class='p24_price'>R 9 500</div><h1>1 Bedroom Flat to Rent</h1>"
        f"<a class='p24_address'>1 Invented Rd, A Suburb, A Town</a></div>{made}</div></body></html>"
    ).encode()


def test_a_page_of_property24_without_json_ld_is_read_by_its_rows() -> None:
    found = values("property24", property24(ROWS), PROPERTY24)
    names = ("ref", "operation", "property_type", "price", "currency", "area_m2", "bedrooms", "bathrooms", "title")
    expected = ("100000001", "rent", "apartment", 9500, "ZAR", 61.0, 1, 2, "1 Bedroom Flat to Rent")
    assert tuple(found[name] for name in names) == expected
    assert (found["district"], found["city"]) == ("A Suburb", "A Town")
    with pytest.raises(BrokenPage, match="no rows of a listing"):
        read("property24", property24({"Floor Size": "61 m²"}), PROPERTY24)


def test_json_ld_with_an_escaped_type_is_read() -> None:
    node = {"@type": "RealEstateListing", "name": "From JSON-LD", "url": PROPERTY24}
    head = f'<script type="application/ld&#x2B;json">{json.dumps({"@graph": [node]})}</script>'
    assert values("property24", property24(ROWS, head), PROPERTY24)["title"] == "From JSON-LD"


# ----- bare JSON


def daft_results() -> dict[str, Any]:
    listing = {
        "id": 55,
        "seoFriendlyPath": "/for-rent/apartment-1-invented-street/55",
        "price": "€1,200 per month",
        "saleType": ["To Let"],
    }
    return {"listings": [{"listing": listing}], "paging": {"totalResults": 1}}


@pytest.mark.parametrize(
    "envelope",
    [
        lambda results: results,
        lambda results: {"pageProps": results, "__N_SSP": True},
        lambda results: {"props": {"pageProps": results}, "page": "/search", "buildId": "x"},
    ],
    ids=["the gateway", "/_next/data", "__NEXT_DATA__"],
)
def test_the_bare_json_of_a_search_is_parsed(envelope: Any) -> None:
    found = parse("daft", json.dumps(envelope(daft_results())).encode()).values
    assert (found["total"], [each["ref"] for each in found["found"]]) == (1, ["55"])
    assert (found["found"][0]["price"], found["found"][0]["rent_period"]) == (1200.0, "month")


def test_bare_json_of_a_search_of_another_portal_is_parsed() -> None:
    page = recorded.FOLDER / "otodom" / "search.html"
    body = page.read_text("utf-8")
    data = body[body.index("{") : body.rindex("}") + 1]
    expected = json.loads(page.with_suffix(".json").read_text("utf-8"))
    for bare in (data, json.dumps(json.loads(data)["props"])):
        found = parse("otodom", bare.encode()).values["found"]
        assert [each["ref"] for each in found] == [each["ref"] for each in expected["found"]]


def test_the_bare_json_of_a_listing_at_the_gateway_is_parsed() -> None:
    listing = daft_results()["listings"][0]["listing"]
    assert parse("daft", json.dumps({"listing": listing}).encode()).values["listing"]["ref"] == "55"


def test_a_document_that_is_no_next_data_is_not_wrapped() -> None:
    spider = recorded.spider("daft")
    for document in (b"", b"<p>", b"[]", b'{"a": 1}'):
        assert spider.wrapped(document) == document
