"""lalafo: its requests, how a large search is split, and damaged documents."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest
from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling.page_outcomes import BrokenPage, ListingGone
from realestate.crawling.paging import Numbers
from realestate.crawling.results import Found
from realestate.crawling.search_splitting import parts_of
from realestate.crawling.search_urls import parameters
from realestate.crawling.watermark import SearchProgress
from realestate.items import as_record
from realestate.simulator.lalafo import Lalafo
from realestate.simulator.world import World
from realestate.spiders.lalafo import HEADERS, LalafoSpider
from realestate.spiders.lalafo_category_words import names_in

FOLDER = Path(__file__).parents[1] / "portals" / "lalafo"
DETAILS = "https://lalafo.az/api/search/v3/feed/details/108000001?expand=url"
SHOWN = "https://lalafo.az/baku/ads/satilir-3-otaqli-menzil-id-108000001"
SEARCH = LalafoSpider.seed_urls()[0]
NOTHING: tuple[Any, ...] = ("", None, [], {})


def response(body: bytes | str, url: str = DETAILS) -> TextResponse:
    return TextResponse(
        url, body=body if isinstance(body, bytes) else body.encode(), encoding="utf-8", request=Request(url)
    )


def document(name: str = "listing-flat-sale") -> dict[str, Any]:
    values: dict[str, Any] = json.loads((FOLDER / f"{name}.page.json").read_text("utf-8"))
    return values


def listing(values: Any, url: str = DETAILS) -> dict[str, Any]:
    (found,) = LalafoSpider().parse_listing(response(json.dumps(values), url))
    return as_record(found)


@pytest.mark.parametrize("url", [SHOWN, DETAILS, "https://lalafo.az/baku/ads/id-108000001"])
def test_a_listing_is_requested_from_the_api_with_the_headers_of_its_application(url: str) -> None:
    spider = LalafoSpider()
    request = spider.listing_request(url)
    assert (spider.ref_of(url), request.url) == ("108000001", DETAILS)
    for asked in (request, spider.search_request(SEARCH)):
        values = {name: asked.headers.get(name) for name in ("device", "country-id", "language")}
        assert values == {"device": b"pc", "country-id": b"13", "language": b"az_AZ"}


TREE = [
    {"id": 1423, "name": "Elektronika", "children": [{"id": 1424, "name": "Mənzil üçün telefon satışı"}]},
    {
        "id": 2029,
        "name": "Daşınmaz əmlak",
        "children": [
            {
                "id": 777,
                "name": "Mənzillər",
                "children": [
                    {"id": 90_001, "name": "Yeni tikili satışı", "params": [{"id": 5, "value": "x"}]},
                    {"id": 90_002, "name": "Günlük kirayə", "children": []},
                    {"id": 90_003, "name": "Mənzil alıram"},
                ],
            },
            {"id": 90_004, "name": "Torpaq / satış"},
        ],
    },
]


def searches_in_tree(tree: Any) -> list[str]:
    (search,) = parts_of(SEARCH, LalafoSpider.axes, 10_000, 9_000, [])
    request = LalafoSpider().search_request(search)
    assert request.url == "https://lalafo.az/api/proxy/catalog/v3/categories/tree"
    request.meta["search"] = search
    page = TextResponse(request.url, body=json.dumps(tree, ensure_ascii=False), encoding="utf-8", request=request)
    results = LalafoSpider().parse_search(page)
    assert (results.found, results.total) == ((), None)
    return list(results.searches)


def test_a_large_search_is_split_by_the_sites_tree_of_categories_and_then_by_price() -> None:
    leaves = searches_in_tree(TREE)
    assert [parameters(leaf)["category_id"] for leaf in leaves] == ["90001", "90002", "90003", "90004"]
    assert all("per-page=40" in leaf and "/api/search/v3/feed/search?" in leaf for leaf in leaves)
    reach = LalafoSpider.paging.reach or 0
    bands = parts_of(leaves[0], LalafoSpider.axes, 10_000, reach, [50_000, 90_000, 120_000, 300_000])
    assert len(bands) > 1
    assert all("price%5Bfrom%5D" in band or "price%5Bto%5D" in band for band in bands)
    assert all(names_in(band) == "Mənzillər/Yeni tikili satışı" for band in bands), "the names stay with the parts"
    assert "#" not in LalafoSpider().search_request(leaves[0]).url, "and are not sent"


def test_adverts_of_people_who_look_for_a_home_are_counted_and_left_out() -> None:
    values = document("search")
    for item in values["items"]:
        item["category_id"] = 90_003
    search = searches_in_tree(TREE)[2]
    assert names_in(search) == "Mənzillər/Mənzil alıram"
    request = Request(LalafoSpider().search_request(search).url, meta={"search": search})
    page = TextResponse(request.url, body=json.dumps(values).encode(), encoding="utf-8", request=request)
    results = LalafoSpider().parse_search(page)
    assert (list(results.found), results.total) == ([], values["_meta"]["totalCount"])
    ad = response(json.dumps(document() | {"category_id": 90_003}))
    with pytest.raises(BrokenPage, match="looks for a home"):
        list(LalafoSpider().parse_listing(ad, category="Mənzillər/Mənzil alıram"))


def test_a_flat_tree_names_the_parents() -> None:
    flat = [
        {"id": 2029, "name": "Daşınmaz əmlak", "parent_id": None},
        {"id": 777, "name": "Evlər", "parent_id": 2029},
        {"id": 90_005, "name": "Kirayə", "parent_id": 777},
    ]
    assert [names_in(search) for search in searches_in_tree(flat)] == ["Evlər/Kirayə"]


@pytest.mark.parametrize("tree", ["", "<html>", [], {}, {"name": "Not Found", "status": 404}, [{"id": 2029}]])
def test_without_a_tree_a_search_is_split_by_the_table(tree: Any) -> None:
    leaves = searches_in_tree(tree)
    assert len(leaves) == len(set(leaves)) > 50
    assert all("category_id=2029" not in leaf and "#" not in leaf for leaf in leaves)


def test_a_hostile_tree_ends() -> None:
    tree: Any = {"id": 2029, "name": "x"}
    for number in range(300):
        tree = {"id": 2029 if number % 2 else number, "name": "x", "children": [tree, {"id": 2029, "name": "y"}]}
    assert len(searches_in_tree([tree] * 50)) > 0


@pytest.mark.parametrize(
    ("category", "names", "expected"),
    [
        (90_001, "Mənzillər/Yeni tikili satışı", ("apartment", "sale", None, "new_building", True)),
        (90_002, "Mənzillər/Günlük kirayə", ("apartment", "rent", "day", None, None)),
        (90_006, "Həyət evləri/Uzunmüddətli kirayə", ("house", "rent", "month", None, None)),
        (90_007, "Bağ evləri/Satış", ("house", "sale", None, "garden_house", None)),
        (90_008, "Kommersiya obyektləri/Mağazaların icarəsi", ("commercial", "rent", "month", "shop", None)),
        (90_009, "Квартиры/Продажа квартир", ("apartment", "sale", None, None, None)),
        (90_010, "Дома/Долгосрочная аренда домов", ("house", "rent", "month", None, None)),
        (2031, None, ("house", "sale", None, None, None)),
        (4793, None, ("apartment", "sale", None, "new_building", True)),
        (4800, None, ("apartment", "sale", None, "old_building", False)),
        (5304, None, ("garage", "sale", None, None, None)),
    ],
)
def test_a_category_is_known_by_its_names_in_the_tree_or_by_its_number(
    category: int, names: str | None, expected: tuple[Any, ...]
) -> None:
    ad = document() | {"category_id": category, "title": "Başlıq", "description": "Mətn", "params": []}
    (found,) = LalafoSpider().parse_listing(response(json.dumps(ad)), **({"category": names} if names else {}))
    record = as_record(found)
    fields = ("property_type", "operation", "rent_period", "subtype", "is_new_building")
    assert tuple(record[name] for name in fields) == expected
    assert "category_unknown" not in record["quality_flags"]


def test_the_names_of_the_category_go_from_the_search_to_its_listings() -> None:
    values = document("search")
    for item in values["items"]:
        item["category_id"] = 90_001
    search = searches_in_tree(TREE)[0]
    request = Request(LalafoSpider().search_request(search).url, meta={"search": search})
    page = TextResponse(request.url, body=json.dumps(values).encode(), encoding="utf-8", request=request)
    results = LalafoSpider().parse_search(page)
    assert results.found
    assert {found.hints["category"] for found in results.found if isinstance(found, Found)} == {
        "Mənzillər/Yeni tikili satışı"
    }


def test_a_paid_advert_of_an_unknown_category_is_kept_if_its_words_are_those_of_a_home() -> None:
    values = document("search")
    home = {"id": 108_000_090, "category_id": 90_001, "is_ppv": True, "title": "Mənzil satılır"}
    phone = {"id": 108_000_091, "category_id": 90_002, "is_ppv": True, "title": "Telefon satılır"}
    values["items"] += [home, phone]
    refs = {found.ref for found in LalafoSpider().parse_search(response(json.dumps(values), SEARCH)).found}
    assert "108000090" in refs
    assert "108000091" not in refs


@pytest.mark.parametrize(
    ("values", "params", "expected"),
    [
        ({"title": "Yeni tikili, 61 kv. m"}, {"Kredit": "Kredit yoxdur"}, ("apartment", "sale")),
        ({"title": "Gözəl yer"}, {"Otaqların sayı": "3", "Torpaq sahəsi (Sot)": "4"}, ("house", None)),
        ({"title": "4 sot"}, {"Torpaq sahəsi (Sot)": "4", "Sənədlər": "Kupça"}, ("land", "sale")),
        ({"title": "Gözəl yer", "url": "/baku/ads/menzil-kiraye-verilir-id-108000001"}, {}, ("apartment", "rent")),
        ({"title": "Gözəl yer", "description": "Qaraj satılır."}, {}, ("garage", "sale")),
        ({"title": "Gözəl yer"}, {"Heyvanlar": "İcazə var"}, (None, "rent")),
    ],
)
def test_in_an_unknown_category_other_evidence_decides_and_the_listing_is_flagged(
    values: dict[str, Any], params: dict[str, str], expected: tuple[str | None, str | None]
) -> None:
    rows = [
        {"id": 60_000 + number, "name": name, "value": value} for number, (name, value) in enumerate(params.items())
    ]
    ad = document() | {"category_id": 99_999, "description": "Mətn", "url": None, "params": rows} | values
    found = listing(ad)
    assert (found["property_type"], found["operation"]) == expected
    assert "category_unknown" in found["quality_flags"]


def test_words_that_contradict_the_category_decide_and_are_flagged() -> None:
    ad = document() | {"category_id": 4800, "title": "Kirayə mənzil mərkəzdə", "description": "Uzun müddətə verilir"}
    found = listing(ad)
    assert (found["operation"], found["property_type"]) == ("rent", "apartment")
    assert "category_contradicted" in found["quality_flags"]
    found = listing(ad | {"description": "Satılır. Kirayə də olar."})
    assert (found["operation"], "category_contradicted" in found["quality_flags"]) == ("sale", False)


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("Metro stansiyası", "m. Nümunə", "metro_station", "Nümunə"),
        ("Metro stansiyası", "Nümunə m.", "metro_station", "Nümunə"),
        ("Metro stansiyası", "Memar Nümunə", "metro_station", "Memar Nümunə"),
        ("Sənədlər", "Kupça (Çıxarış), Texniki pasport", "has_deed", True),
        ("Sənədlər", "Bələdiyyə, Kupça (Çıxarış)", "has_deed", True),
        ("Sənədlər", "Müqavilə", "has_deed", False),
        ("Sənədlər", "Texniki pasport", "has_deed", None),
        ("Təklifin növü", "Makler", "seller_type", "agency"),
        ("Təklifin növü", "Maklerlər narahat etməsin, Mülkiyyətçi", "seller_type", "owner"),
        ("Təklifin növü", "Maklerlər narahat etməsin", "seller_type", None),
        ("Təmir", "Yeni təmirli", "condition", "newly_renovated"),
    ],
)
def test_the_words_of_params(name: str, value: str, field: str, expected: Any) -> None:
    assert listing(document() | {"user": {}, "params": [{"id": 1, "name": name, "value": value}]})[field] == expected


def test_paid_adverts_of_another_search_are_left_out() -> None:
    values = document("search")
    spider = LalafoSpider()
    for search, refs in (
        (SEARCH, {"108000010", "108000012", "108000014", "108000015"}),
        (SEARCH.replace("2029", "2046"), {"108000012", "108000014", "108000015"}),
        (f"{SEARCH}&city_id=103262", {"108000012", "108000014", "108000015"}),
    ):
        results = spider.parse_search(response(json.dumps(values), search))
        assert {found.ref for found in results.found} == refs
        assert results.unreadable == 1


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"items": []}',
        '{"items": {}, "_meta": {"totalCount": 3}}',
        '{"items": [], "_meta": {"totalCount": "3"}}',
        '{"items": [], "_meta": {"totalCount": 3, "pageCount": 1, "currentPage": 1, "perPage": 40}}',
        "<!DOCTYPE html><title>Just a moment...</title>",
        '<script id="__NEXT_DATA__" type="application/json">{"props": {}}</script>',
    ],
)
def test_a_page_without_a_feed_is_broken(body: str) -> None:
    with pytest.raises(BrokenPage):
        LalafoSpider().parse_search(response(body, SEARCH))
    with pytest.raises(BrokenPage):
        list(LalafoSpider().parse_listing(response(body)))


def test_a_page_of_another_advert_is_broken() -> None:
    other = response(json.dumps(document()), DETAILS.replace("108000001", "108000009"))
    with pytest.raises(BrokenPage, match="108000001"):
        list(LalafoSpider().parsed(other, "extract"))


def test_an_advert_that_looks_for_a_home_is_not_a_listing() -> None:
    with pytest.raises(BrokenPage, match="looks for a home"):
        listing(document() | {"category_id": 2041})


@pytest.mark.parametrize(
    ("values", "expected"), [("3", 3), (3, 3), ("3 otaq", 3), ("2 комнаты", 2), ("6+", None), ("Студия", None)]
)
def test_rooms_are_a_count_or_nothing(values: Any, expected: int | None) -> None:
    ad = document()
    ad["params"] = [{"id": 69, "name": "Otaqların sayı", "value": values}]
    found = listing(ad)
    assert found["rooms"] == expected
    assert found["extra"].get("Otaqların sayı") == (None if expected else values)


@pytest.mark.parametrize(
    ("title", "operation", "period"),
    [
        ("Satılır 3 otaqlı", "sale", None),
        ("Günlük kirayə", "rent", "day"),
        ("İcarəyə verilir", "rent", None),
        ("Satılır, kirayə verilmir", None, None),
        ("Parentez", None, None),
    ],
)
def test_in_an_unknown_category_the_words_of_the_title_decide(title: str, operation: str, period: str) -> None:
    ad = document() | {"category_id": 99_999, "title": title, "params": [], "url": None, "description": None}
    found = listing(ad)
    assert (found["operation"], found["rent_period"]) == (operation, period)
    assert "category_unknown" in found["quality_flags"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"price": None}, (None, None, "on_request")),
        ({"price": 0}, (None, None, "on_request")),
        ({"price": 11500, "currency": "USD"}, (11500, "USD", "total")),
        ({"price": "11500"}, (11500, "AZN", "total")),
        ({"price": 11500, "currency": None, "symbol": "$"}, (None, None, None)),
        ({"price": 11500, "currency": None, "symbol": None}, (None, None, None)),
        ({"price": ""}, (None, None, None)),
        ({"price": "1.7K"}, (None, None, None)),
        ({"price": -1}, (None, None, None)),
    ],
)
def test_a_price_has_a_currency_or_is_missing(values: dict[str, Any], expected: tuple[Any, ...]) -> None:
    found = listing(document() | values)
    assert (found["price"], found["currency"], found["price_basis"]) == expected


def damaged(whole: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Copies of a document, each with one node removed or emptied."""

    def at(document: Any) -> Any:
        for step in path:
            document = document[step]
        return document

    node = at(whole)
    for step in list(node) if isinstance(node, dict) else range(len(node)):
        dropped = deepcopy(whole)
        del at(dropped)[step]
        yield (*path, step), dropped
        for nothing in NOTHING:
            emptied = deepcopy(whole)
            at(emptied)[step] = nothing
            yield (*path, step), emptied
        if isinstance(node[step], dict | list):
            yield from damaged(whole, (*path, step))


@pytest.mark.parametrize("name", ["listing-flat-sale", "listing-house-russian", "listing-office-rent-daily"])
def test_a_damaged_value_is_missing_and_never_wrong(name: str) -> None:
    whole = document(name)
    url = DETAILS.replace("108000001", str(whole["id"]))
    right, variants = listing(whole, url), 0
    for path, variant in damaged(whole):
        variants += 1
        try:
            found = listing(variant, url)
        except BrokenPage:
            continue
        for field, value in found.items():
            if field in ("extra", "quality_flags") or value == right[field] or value in (None, []):
                continue
            is_flagged = field == "rent_period" and "rent_period_assumed" in found["quality_flags"]
            assert is_flagged or (field, path[0]) in {
                ("url", "url"),  # the address of the API, which leads to the page too
                ("price_basis", "price"),  # null is a price on request
                ("photos", "images"),
                ("features", "params"),
            }
    assert variants > 100


def test_half_a_document_is_broken() -> None:
    body = json.dumps(document())
    for end in range(1, len(body), 97):
        with pytest.raises(BrokenPage):
            list(LalafoSpider().parse_listing(response(body[:end])))


def test_only_an_explicit_status_means_gone() -> None:
    with pytest.raises(ListingGone):
        listing(document() | {"status_id": 3})
    for nothing in NOTHING:
        assert listing(document() | {"status_id": nothing})["status"] == "active"


def test_a_search_with_more_than_the_portal_shows_is_found_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realestate.simulator.lalafo.feed.MOST_ROWS", 200)
    site, spider = Lalafo(World(seed=3, listings=1500), LalafoSpider.site), LalafoSpider()
    paging, waiting, seen, asked = Numbers("page", size=40, most=180), [SEARCH], set[str](), 0
    while waiting:
        search = waiting.pop()
        asked += 1
        page = site.response(urldefrag(search).url.removeprefix(site.base), headers=HEADERS)
        results = spider.parse_search(response(page.body, search))
        is_long = paging.is_first(search) and (results.total or 0) > (paging.reach or 0)
        parts = list(results.searches)
        if is_long:
            parts = parts_of(search, spider.axes, results.total or 0, paging.reach or 0, results.prices)
        waiting += parts or SearchProgress().next_pages(paging, spider.newest_first, search, results)
        seen |= {found.ref for found in results.found if not parts}
    assert seen == {str(advert.ref) for advert in site.world.listed("lalafo")}
    assert asked < 250
