"""lalafo: its requests, how a large search is split, and damaged documents."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling.page_outcomes import BrokenPage, ListingGone
from realestate.crawling.paging import Numbers
from realestate.crawling.search_splitting import parts_of
from realestate.crawling.watermark import SearchProgress
from realestate.items import as_record
from realestate.simulator.lalafo import Lalafo
from realestate.simulator.world import World
from realestate.spiders.lalafo import HEADERS, LalafoSpider

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


def test_a_large_search_is_split_by_category_and_then_by_price() -> None:
    axes, reach = LalafoSpider.axes, LalafoSpider.paging.reach or 0
    leaves = parts_of(SEARCH, axes, 10_000, reach, [])
    assert len(leaves) == len(set(leaves)) > 50
    assert all("category_id=2029" not in leaf and "per-page=40" in leaf for leaf in leaves)
    bands = parts_of(leaves[0], axes, 10_000, reach, [50_000, 90_000, 120_000, 300_000])
    assert len(bands) > 1
    assert all("price%5Bfrom%5D" in band or "price%5Bto%5D" in band for band in bands)


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
    with pytest.raises(BrokenPage):
        listing(document(), DETAILS.replace("108000001", "108000009"))


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
        ("Günlük kirayə ev", "rent", "day"),
        ("İcarəyə verilir", "rent", None),
        ("Satılır, kirayə verilmir", None, None),
        ("Parentez", None, None),
    ],
)
def test_in_an_unknown_category_the_words_of_the_title_decide(title: str, operation: str, period: str) -> None:
    found = listing(document() | {"category_id": 99_999, "title": title})
    assert (found["operation"], found["rent_period"], found["property_type"]) == (operation, period, None)


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
        answer = site.answer(search.removeprefix(site.base), headers=HEADERS)
        results = spider.parse_search(response(answer.body, search))
        is_long = paging.is_first(search) and (results.total or 0) > (paging.reach or 0)
        parts = parts_of(search, spider.axes, results.total or 0, paging.reach or 0, results.prices) if is_long else []
        waiting += parts or SearchProgress().next_pages(paging, spider.newest_first, search, results)
        seen |= {found.ref for found in results.found if not parts}
    assert seen == {str(advert.ref) for advert in site.world.listed("lalafo")}
    assert asked < 250
