"""The simulated immoweb: its pages say what the truth says, and its search finds all of it."""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import pytest
from selectolax.lexbor import LexborHTMLParser

from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb import Immoweb, results
from realestate.simulator.immoweb.query import REGIONS
from realestate.simulator.site import Site
from realestate.simulator.world import World

Embedded = Callable[[bytes], dict[str, Any]]

#: field of the record: where `window.classified` has it
SAME = {
    "price": "price.mainValue",
    "area_m2": "property.netHabitableSurface",
    "plot_m2": "property.land.surface",
    "rooms": "property.roomCount",
    "bedrooms": "property.bedroomCount",
    "bathrooms": "property.bathroomCount",
    "floor": "property.location.floor",
    "floors_total": "property.building.floorCount",
    "year_built": "property.building.constructionYear",
    "energy_class": "transaction.certificates.epcScore",
    "energy_kwh_m2": "transaction.certificates.primaryEnergyConsumptionPerSqm",
    "facades": "property.building.facadeCount",
    "region": "property.location.region",
    "city": "property.location.locality",
    "district": "property.location.district",
    "postal_code": "property.location.postalCode",
    "latitude": "property.location.latitude",
    "longitude": "property.location.longitude",
    "is_new_building": "flags.isNewlyBuilt",
    "agency_ref": "externalReference",
}
FLAGS = {
    "garden": "property.hasGarden",
    "terrace": "property.hasTerrace",
    "balcony": "property.hasBalcony",
    "swimming_pool": "property.hasSwimmingPool",
    "lift": "property.hasLift",
    "fireplace": "property.fireplaceExists",
    "double_glazing": "property.energy.hasDoubleGlazing",
    "heat_pump": "property.energy.hasHeatPump",
    "photovoltaic_panels": "property.energy.hasPhotovoltaicPanels",
    "air_conditioning": "property.hasAirConditioning",
    "basement": "property.hasBasement",
    "armored_door": "property.hasArmoredDoor",
}
WORDS = ("house-and-apartment", "kot", "office", "business", "industry", "land", "garage")


def at(document: Any, path: str) -> Any:
    for key in path.split("."):
        document = None if document is None else document[key]
    return document


def search(site: Site, query: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(site.response(f"/en/search-results/{query}").body)
    return found


def ids(site: Site, query: str) -> Counter[int]:
    """How often each advert is on the pages of a search, the promoted ones left out."""
    seen: Counter[int] = Counter()
    page = 1
    while (response := search(site, f"{query}&page={page}"))["results"]:
        first = int(response["hasPremiumPosition"])
        seen.update(result["id"] for result in response["results"][first:])
        page += 1
    return seen


@pytest.fixture(scope="module")
def adverts(world: World) -> list[Advert]:
    return world.listed("immoweb")


def test_the_truth_equals_the_values_of_the_pages(immoweb: Site, adverts: list[Advert], embedded: Embedded) -> None:
    for advert in adverts:
        page, truth = embedded(immoweb.page(advert).body), immoweb.truth(advert)
        assert {field: at(page, path) for field, path in SAME.items()} == {field: truth[field] for field in SAME}
        shown = {word for word, path in FLAGS.items() if at(page, path)}
        assert shown == set(truth["features"]) - {"furnished", "parking"}
        assert truth["ref"] == str(page["id"])
        assert truth["status"] == ("reserved" if page["flags"]["isUnderOption"] else "active")


def test_the_truth_takes_words_and_money_from_the_page(
    immoweb: Site, adverts: list[Advert], embedded: Embedded
) -> None:
    for advert in adverts:
        page, truth = embedded(immoweb.page(advert).body), immoweb.truth(advert)
        deal = page["transaction"]["rental"] or page["transaction"]["sale"]
        parking = [value for key, value in page["property"].items() if key.startswith("parkingCount")]
        assert ("furnished" in truth["features"]) == (deal["isFurnished"] is True)
        assert ("parking" in truth["features"]) == any(parking)
        assert truth["charges"] == page["price"]["additionalValue"] == deal.get("monthlyRentalCosts")
        assert (truth["currency"], truth["price_basis"]) == (
            ("EUR", "total") if page["price"]["mainValue"] else (None, "on_request")
        )
        assert (truth["description"] is None) == (page["property"]["description"] == "-")
        assert truth["photos"] == [picture["largeUrl"] for picture in page["media"]["pictures"]]


def test_a_title_is_from_the_seller_or_from_the_page(immoweb: Site, adverts: list[Advert], embedded: Embedded) -> None:
    own = 0
    for advert in adverts:
        page, truth = immoweb.page(advert).body, immoweb.truth(advert)
        title = embedded(page)["property"]["title"]
        own += title is not None
        meta = LexborHTMLParser(page).css_first('meta[property="og:title"]')
        assert meta is not None
        assert truth["title"] == " ".join((title or meta.attributes["content"] or "").split())
    assert 0 < own < len(adverts)


def test_texts_contain_traps_for_careless_parsers(immoweb: Site, adverts: list[Advert]) -> None:
    pages = b"".join(immoweb.page(advert).body for advert in adverts)
    for snare in (b"};", b'\\"', rb"<\/script>", "\u00a0".encode(), b"\\n", b"-1", b'+0000"', b'Z"'):
        assert snare in pages


def test_a_page_holds_what_is_around_the_object_too(immoweb: Site, adverts: list[Advert]) -> None:
    for advert in adverts[:20]:
        page, url = LexborHTMLParser(immoweb.page(advert).body), immoweb.truth(advert)["url"]
        canonical = page.css_first("link[rel=canonical]")
        assert canonical is not None
        assert canonical.attributes["href"] == url
        for selector in (
            "div.classified > script",
            "h1.classified__title",
            "p.classified__price span.sr-only",
            "tr.classified-table__row > th.classified-table__header",
            "tr.classified-table__row > td.classified-table__data",
        ):
            assert page.css_first(selector) is not None, selector


def test_every_kind_of_gap_occurs(immoweb: Site, adverts: list[Advert], embedded: Embedded) -> None:
    pages = [embedded(immoweb.page(advert).body) for advert in adverts]
    truths = [immoweb.truth(advert) for advert in adverts]
    hidden = [page for page in pages if page["property"]["location"]["latitude"] is None]
    assert any(page["customers"][0]["location"]["latitude"] for page in hidden)
    assert {page["property"]["type"] for page in pages} >= {"APARTMENT_GROUP", "LAND", "GARAGE", "KOT", "OFFICE"}
    assert {truth["geo_precision"] for truth in truths} == {None, "exact", "approximate"}
    assert {truth["status"] for truth in truths} == {"active", "reserved"}
    assert {truth["seller_type"] for truth in truths} == {"agency", "owner", "developer"}
    assert any(truth["floor"] == 0 for truth in truths)
    assert any(truth["price_basis"] == "on_request" for truth in truths)


def units_of(page: dict[str, Any]) -> list[dict[str, Any]]:
    groups = (page["cluster"] or {"units": []})["units"]
    return [unit for group in groups for unit in group["items"]]


def test_searches_and_the_pages_of_projects_show_every_advert_once(
    immoweb: Site, adverts: list[Advert], embedded: Embedded
) -> None:
    seen: Counter[int] = Counter()
    for word in WORDS:
        for deal in ("for-sale", "for-rent"):
            seen += ids(immoweb, f"{word}/{deal}?countries=BE&orderBy=newest")
    units = [unit for advert in adverts for unit in units_of(embedded(immoweb.page(advert).body))]
    assert units, "a world without projects proves nothing"
    assert seen + Counter(unit["id"] for unit in units) == Counter(advert.ref for advert in adverts)


def test_the_page_of_a_project_has_the_values_of_its_homes(
    immoweb: Site, adverts: list[Advert], embedded: Embedded
) -> None:
    own = {advert.ref: advert for advert in adverts}
    for advert in adverts:
        page = embedded(immoweb.page(advert).body)
        assert (page["cluster"] is None) == (not page["property"]["type"].endswith("_GROUP"))
        for unit in units_of(page):
            truth = immoweb.truth(own[unit["id"]])
            assert (truth["price"], truth["bedrooms"], truth["area_m2"]) == (
                unit["price"],
                unit["bedroomCount"],
                unit["surface"],
            )
            assert f"{truth['property_type'].upper()}_GROUP" == page["property"]["type"]


def test_homes_of_a_project_that_is_gone_are_found_by_searches() -> None:
    world = World(seed=7, listings=400)
    site = Immoweb(world, "http://immoweb.test")
    projects = [advert for advert in world.listed("immoweb") if site.projects.units(advert)]
    for _ in range(60):
        world.advance()
        if lost := [advert for advert in projects if advert.gone is not None and site.projects.units(advert)]:
            break
    site.drop_pages(())
    shown = ids(site, "house-and-apartment/for-sale?countries=BE")
    assert all(shown[unit.ref] == 1 for unit in site.projects.units(lost[0]))
    assert not any(shown[unit.ref] for each in projects if each.gone is None for unit in site.projects.units(each))


def test_new_projects_come_with_new_homes_and_the_same_whenever_they_are_looked_at() -> None:
    """An incremental crawl finds them. A world that is first read later is the same world."""
    worlds = [World(seed=7, listings=1000) for _ in range(2)]
    early, late = (Immoweb(world, "http://immoweb.test") for world in worlds)
    for world in worlds:
        world.adverts["immoweb"]
    first = {advert.ref for advert in worlds[0].adverts["immoweb"].values()}
    for _ in range(12):
        early.projects.every()
        for world in worlds:
            world.advance()

    def shared(site: Immoweb) -> dict[int, list[int]]:
        return {each.ref: [unit.ref for unit in site.projects.units(each)] for each in site.projects.every()}

    shown = shared(early)
    assert shown == shared(late)
    new = {project: units for project, units in shown.items() if project not in first}
    assert any(new.values())
    assert not first.intersection(unit for units in new.values() for unit in units)


def test_promoted_results_repeat_an_advert_that_may_not_match(immoweb: Site, adverts: list[Advert]) -> None:
    response = search(immoweb, "house/for-sale?countries=BE&maxPrice=250000&page=1")
    assert response["hasPremiumPosition"]
    assert len(response["results"]) == 1 + min(30, response["totalItems"])
    assert response["results"][0]["id"] in {advert.ref for advert in adverts}


def test_filters_and_orders_are_honoured(immoweb: Site) -> None:
    response = search(immoweb, "house/for-sale?minPrice=200000&maxPrice=400000&orderBy=cheapest&page=2")
    prices = [result["price"]["mainValue"] for result in response["results"] if result["price"]["mainValue"]]
    assert prices == sorted(prices)
    assert all(200_000 <= price <= 400_000 for price in prices)
    response = search(immoweb, "apartment/for-rent?postalCodes=BE-9000,1000&minSurface=40&maxSurface=90&page=1")
    for result in response["results"][1:]:
        assert result["property"]["location"]["postalCode"] in ("9000", "1000")
        assert 40 <= result["property"]["netHabitableSurface"] <= 90


def test_splitting_by_price_loses_nothing(immoweb: Site) -> None:
    whole = ids(immoweb, "house-and-apartment/for-sale?countries=BE")
    cheap = ids(immoweb, "house-and-apartment/for-sale?countries=BE&maxPrice=299999")
    dear = ids(immoweb, "house-and-apartment/for-sale?countries=BE&minPrice=300000")
    assert cheap + dear == whole


def test_splitting_by_region_loses_nothing(immoweb: Site) -> None:
    whole = ids(immoweb, "house-and-apartment/for-sale?countries=BE")
    regions = [ids(immoweb, f"house-and-apartment/for-sale?regions={each}") for each in REGIONS.values()]
    assert all(regions)
    assert sum(regions, Counter()) == whole


def test_nothing_is_shown_past_page_333(immoweb: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "house-and-apartment/for-sale?countries=BE"
    assert results.LAST_PAGE == 333
    monkeypatch.setattr(results, "LAST_PAGE", 3)
    assert search(immoweb, f"{query}&page=3")["results"]
    past = search(immoweb, f"{query}&page=4")
    assert past["results"] == []
    assert past["totalItems"] > 90


def test_other_spellings_of_a_url_redirect_to_the_right_one(immoweb: Site, adverts: list[Advert]) -> None:
    for advert in adverts:
        right = immoweb.path(advert)
        for wrong in (f"/en/classified/{advert.ref}", right.replace("/for-", "/nicely-for-")):
            response = immoweb.response(wrong)
            assert (response.status, response.location) == (301, immoweb.base + right)
        assert immoweb.response(right).status == 200
        assert immoweb.response(unquote(right)).status == 200


def test_accents_in_an_address_are_percent_encoded(immoweb: Site, adverts: list[Advert]) -> None:
    liege = next(advert for advert in adverts if advert.home.place.city == "Liège")
    assert re.fullmatch(r"/en/classified/[a-z-]+/for-(sale|rent)/li%C3%A8ge/4000/\d{8}", immoweb.path(liege))
    assert quote(unquote(immoweb.path(liege))) == immoweb.path(liege)
