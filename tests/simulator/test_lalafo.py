"""The simulated lalafo: its documents say what the truth says, and its feed has the feedback of the real one."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from realestate.simulator.adverts import Advert
from realestate.simulator.lalafo import feed as feeding
from realestate.simulator.server import Simulator
from realestate.simulator.site import Site
from realestate.simulator.world import World

HEADERS = {"device": "pc", "country-id": "13", "language": "az_AZ"}
ROOT = "category_id=2029&expand=url"


def feed(site: Site, query: str, headers: Mapping[str, str] = HEADERS) -> dict[str, Any]:
    response = site.response(f"/api/search/v3/feed/search?{query}", headers=headers)
    assert response.status == 200
    found: dict[str, Any] = json.loads(response.body)
    return found


def details(site: Site, ref: int, headers: Mapping[str, str] = HEADERS) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        site.response(f"/api/search/v3/feed/details/{ref}?expand=url", headers=headers).body
    )
    return found


def number(value: Any) -> float | None:
    return None if value is None else float(str(value).replace(",", "."))


def time_of(value: int) -> datetime:
    return datetime.fromtimestamp(value / 1000 if value > 10**11 else value, UTC)


@pytest.fixture(scope="module")
def adverts(world: World) -> list[Advert]:
    return world.listed("lalafo")


def test_the_truth_equals_the_values_of_the_details(lalafo: Site, adverts: list[Advert]) -> None:
    shapes = set()
    for advert in adverts:
        truth, page = lalafo.truth(advert), details(lalafo, advert.ref)
        named = {param["name"]: param["value"] for param in page["params"]}
        plot = number(named.get("Torpaq sahəsi (Sot)"))
        assert truth["ref"] == str(page["id"])
        assert truth["url"] == lalafo.base + page["url"]
        assert (truth["price"] or 0) == (page["price"] or 0)
        assert truth["currency"] == (page["currency"] if page["price"] else None)
        assert truth["area_m2"] == number(named.get("Sahə (m2)"))
        assert truth["plot_m2"] == (None if plot is None else plot * 100)
        assert truth["rooms"] == number(named.get("Otaqların sayı"))
        assert truth["floor"] == number(named.get("Mərtəbə"))
        assert truth["floors_total"] == number(named.get("Mərtəbələrin sayı"))
        assert truth["description"] == "\n".join(" ".join(line.split()) for line in page["description"].splitlines())
        assert truth["title"] == " ".join(page["title"].split())
        assert datetime.fromisoformat(truth["posted_at"]) == time_of(page["created_time"])
        assert datetime.fromisoformat(truth["updated_at"]) == time_of(page["updated_time"])
        assert truth["latitude"] == (page["lat"] or None)
        shapes.add((type(named.get("Sahə (m2)")), page["updated_time"] > 10**11, type(page["price"]), page["lat"] == 0))
    assert {kind for kind, *_ in shapes} >= {str, float, type(None)}
    assert {ms for _, ms, *_ in shapes} == {True, False}
    assert {price for _, _, price, _ in shapes} == {int, type(None)}
    assert {at_sea for *_, at_sea in shapes} == {True, False}


def test_without_the_headers_of_its_application_the_api_returns_no_data(lalafo: Site, adverts: list[Advert]) -> None:
    for path in ("search?category_id=2029", f"details/{adverts[0].ref}"):
        assert lalafo.response(f"/api/search/v3/feed/{path}").status == 417
    assert feed(lalafo, ROOT, HEADERS | {"country-id": "12"})["_meta"]["totalCount"] == 0
    az, ru = (details(lalafo, adverts[0].ref, HEADERS | {"language": each})["params"] for each in ("az_AZ", "ru_RU"))
    assert [param["id"] for param in az] == [param["id"] for param in ru]
    assert {param["name"] for param in az}.isdisjoint(param["name"] for param in ru)


def test_the_feed_finds_every_advert_newest_first_and_more_than_was_asked_for(
    lalafo: Site, adverts: list[Advert]
) -> None:
    seen: Counter[int] = Counter()
    order: list[int] = []
    for page in range(1, 11):
        response = feed(lalafo, f"{ROOT}&sort_by=newest&per-page=40&page={page}")
        paid = 4 if response["_meta"]["feed"] == "ppv-category" else 0
        assert len(response["items"]) == 40 + paid
        assert all(item["is_ppv"] for item in response["items"][:paid])
        seen.update(item["id"] for item in response["items"][paid:])
        order += [item["created_time"] for item in response["items"][paid:]]
        assert ("next" in response["_links"]) == (page < 10)
    assert seen == Counter(advert.ref for advert in adverts)
    assert order == sorted(order, reverse=True)


def test_the_feed_leaves_out_params_and_unless_asked_the_address(lalafo: Site) -> None:
    (item, *_) = feed(lalafo, "category_id=2029")["items"]
    assert item["params"] == []
    assert "url" not in item
    assert "mobile" not in item


def test_only_the_parameter_with_a_hyphen_is_used(lalafo: Site) -> None:
    sizes = [
        feed(lalafo, f"{ROOT}&{size}")["_meta"]["perPage"] for size in ("per-page=40", "per_page=40", "per-page=99")
    ]
    assert sizes == [40, 20, 50]


def test_past_the_end_the_feed_is_filled_with_other_adverts(lalafo: Site) -> None:
    response = feed(lalafo, f"{ROOT}&per-page=40&page=11")
    assert "next" not in response["_links"]
    assert response["_meta"]["currentPage"] > response["_meta"]["pageCount"]
    assert 1423 in {item["category_id"] for item in response["items"]}
    assert details(lalafo, response["items"][-1]["id"])["category_id"] == 1423


def test_a_query_shows_and_counts_a_limited_number_of_adverts(lalafo: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeding, "MOST_ROWS", 100)
    assert feed(lalafo, f"{ROOT}&per-page=40")["_meta"]["totalCount"] == 100
    last = feed(lalafo, f"{ROOT}&per-page=40&page=3&sort_by=newest")
    assert (len(last["items"]), "next" in last["_links"]) == (20, False)


def test_leaves_cities_and_prices_share_out_the_whole(lalafo: Site, adverts: list[Advert]) -> None:
    def total(query: str) -> int:
        return int(feed(lalafo, query)["_meta"]["totalCount"])

    leaves = {details(lalafo, advert.ref)["category_id"] for advert in adverts}
    assert len(leaves) > 8
    assert sum(total(f"category_id={leaf}") for leaf in leaves) == len(adverts)
    assert sum(total(f"{ROOT}&city_id={city}") for city in (103261, 103262, 103268)) == len(adverts)
    bands = ("price%5Bto%5D=999", "price%5Bfrom%5D=1000&price%5Bto%5D=99999", "price%5Bfrom%5D=100000")
    shares = [total(f"{ROOT}&{band}") for band in bands]
    assert sum(shares) == len(adverts)
    assert all(shares)


def test_the_page_carries_the_answer_it_was_made_of(lalafo: Site, adverts: list[Advert]) -> None:
    def queries(path: str) -> dict[str, Any]:
        found = re.search(rb'<script id="__NEXT_DATA__"[^>]*>(.*?)</script>', lalafo.response(path).body, re.DOTALL)
        assert found is not None
        state = json.loads(found[1])["props"]["pageProps"]["dehydratedState"]
        return {query["queryKey"][0]: query["state"]["data"] for query in state["queries"]}

    assert queries(lalafo.path(adverts[0]))["detail"] == details(lalafo, adverts[0].ref)
    page = queries("/baku/nedvizhimost?page=2")["listing"]["pages"][0]
    assert {item["city"] for item in page["items"]} == {"Bakı"}
    assert (page["_meta"]["currentPage"], page["_meta"]["perPage"]) == (2, 20)


def test_any_slug_leads_to_the_right_address(lalafo: Site, adverts: list[Advert]) -> None:
    for advert in adverts[:20]:
        for wrong in (f"/baku/ads/x-id-{advert.ref}", f"/azerbaijan/ads/id-{advert.ref}"):
            response = lalafo.response(wrong)
            assert (response.status, response.location) == (301, lalafo.base + lalafo.path(advert))
        assert lalafo.response(lalafo.path(advert)).status == 200


def test_a_removed_advert_is_unknown_or_no_longer_active(simulator: Simulator) -> None:
    site, ways = simulator.sites["lalafo"], set()
    for _ in range(4):
        for ref, how in simulator.advance()["portals"]["lalafo"]["removed"].items():
            ways.add(how)
            response = site.response(f"/api/search/v3/feed/details/{ref}", headers=HEADERS)
            page = site.response(site.path(simulator.world.adverts["lalafo"][int(ref)]))
            assert response.status == page.status == (404 if how == "404" else 200)
            assert how == "404" or json.loads(response.body)["status_id"] == 7
    assert ways == {"404", "deactivated"}


def test_a_renewed_advert_is_among_the_new_ones_with_its_old_id(simulator: Simulator) -> None:
    site, returned = simulator.sites["lalafo"], list[str]()
    while not returned:
        changes = simulator.advance()["portals"]["lalafo"]
        returned = changes["returned"]
    first = feed(site, f"{ROOT}&sort_by=newest&per-page=40")["items"][4:]
    assert set(returned) <= {str(item["id"]) for item in first[: len(returned) + len(changes["listed"])]}
