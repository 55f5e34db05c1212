"""Portals on a shared base: a value that a page does not have is not invented."""

import json
from typing import Any

import pytest

from realestate.authoring.document_parser import parse
from tests import recorded

WILLHABEN = "https://www.willhaben.at/iad/immobilien/d/{}/wien/{}-1500000001/"


def next_data(portal: str, name: str) -> dict[str, Any]:
    page = (recorded.FOLDER / portal / f"{name}.html").read_text("utf-8")
    given: dict[str, Any] = json.loads(page.partition('type="application/json">')[2].partition("</script")[0])
    return given


def listing(portal: str, data: dict[str, Any], url: str | None = None) -> dict[str, Any]:
    given: dict[str, Any] = parse(portal, json.dumps(data).encode(), url=url, stage="extract").values["listing"]
    return given


@pytest.mark.parametrize(
    ("section", "title", "operation"),
    [
        ("mietwohnungen", "wohnung", "rent"),
        ("haus-mieten", "haus", "rent"),
        ("eigentumswohnung", "vermietete-wohnung", "sale"),
        ("grundstuecke", "bauland", "sale"),
        ("neues", "wohnung", None),
    ],
)
def test_willhabens_operation_is_in_the_url_not_in_the_title(section: str, title: str, operation: str | None) -> None:
    data = next_data("willhaben", "listing-flat-sale")
    data["props"]["pageProps"]["advertDetails"]["id"] = "1500000001"  # the id in the URL
    assert listing("willhaben", data, WILLHABEN.format(section, title))["operation"] == operation


def test_a_rent_without_a_period_has_an_assumed_one_and_a_flag() -> None:
    data, url = next_data("willhaben", "listing-flat-rent"), WILLHABEN.format("mietwohnungen", "wohnung")
    data["props"]["pageProps"]["advertDetails"]["id"] = "1500000001"  # the id in the URL
    sure = listing("willhaben", data, url)
    assert (sure["rent_period"], sure["quality_flags"]) == ("month", [])
    attributes = data["props"]["pageProps"]["advertDetails"]["attributes"]["attribute"]
    attributes[:] = [each for each in attributes if each["name"] != "PRICE_FOR_DISPLAY"]
    likely = listing("willhaben", data, url)
    assert (likely["rent_period"], likely["quality_flags"]) == ("month", ["rent_period_assumed"])


def test_onthemarket_without_an_operation_has_none() -> None:
    data = next_data("onthemarket", "listing-flat-sale")
    del data["props"]["initialReduxState"]["property"]["forSale"]
    assert listing("onthemarket", data)["operation"] is None


def test_otodoms_size_without_a_category_is_the_homes_if_it_has_rooms() -> None:
    land, flat = next_data("otodom", "listing-land"), next_data("otodom", "listing-flat-sale")
    assert listing("otodom", land)["plot_m2"] == 402
    for data in (land, flat):
        del data["props"]["pageProps"]["ad"]["adCategory"]
    assert (listing("otodom", land)["area_m2"], listing("otodom", land)["plot_m2"]) == (None, None)
    assert listing("otodom", flat)["area_m2"]


@pytest.mark.parametrize("portal", ["daft", "willhaben", "otodom", "onthemarket"])
def test_bare_next_data_is_parsed_like_its_page(portal: str) -> None:
    expected = json.loads((recorded.FOLDER / portal / "listing-flat-sale.json").read_text("utf-8"))["listing"]
    made = listing(portal, next_data(portal, "listing-flat-sale"))
    assert (made["ref"], made["price"], made["title"]) == (expected["ref"], expected["price"], expected["title"])
