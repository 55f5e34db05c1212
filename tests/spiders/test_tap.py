"""tap.az: the query of a URL, and broken responses."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse

from realestate.crawling.field_tables import served_at
from realestate.crawling.page_outcomes import BrokenPage
from realestate.spiders.tap import PAGE_SIZE, TapSpider
from tests import recorded

SEARCH = "https://tap.az/elanlar/dasinmaz-emlak/menziller"
GRAPHQL = "https://tap.az/graphql"
FLAT = "https://tap.az/elanlar/dasinmaz-emlak/menziller/48000102"


@pytest.fixture
def spider() -> TapSpider:
    return TapSpider()


def variables(spider: TapSpider, query: str = "") -> dict[str, Any]:
    values: dict[str, Any] = json.loads(spider.search_request(SEARCH + query).body)["variables"]
    return values


def answer(values: object) -> TextResponse:
    return TextResponse(GRAPHQL, body=json.dumps(values).encode(), request=Request(GRAPHQL))


def found(change: Callable[[dict[str, Any]], None]) -> TextResponse:
    values = json.loads((recorded.FOLDER / "tap" / "search.page.json").read_text("utf-8"))
    change(values["data"]["adSearch"]["ads"])
    return answer(values)


def flat(change: Callable[[str], str], url: str = FLAT, **headers: str) -> HtmlResponse:
    text = change((recorded.FOLDER / "tap" / "listing-flat-rent.html").read_text("utf-8"))
    return HtmlResponse(url, body=text.encode(), encoding="utf-8", request=Request(url), headers=headers)


def test_a_url_becomes_a_graphql_query(spider: TapSpider) -> None:
    request = spider.search_request(SEARCH)
    assert (request.url, request.method) == (GRAPHQL, "POST")
    assert request.headers["Content-Type"] == b"application/json"
    assert variables(spider) == {"filters": {"categoryId": "Z2lkOi8vdGFwL0NhdGVnb3J5LzYzNQ"}, "first": PAGE_SIZE}


@pytest.mark.parametrize(
    ("query", "price"),
    [
        ("?q[price][]=100&q[price][]=900", {"from": 100, "to": 900}),
        ("?q[price][]=&q[price][]=900", {"from": None, "to": 900}),
        ("?q%5Bprice%5D%5B%5D=100&q%5Bprice%5D%5B%5D=", {"from": 100, "to": None}),
        ("?price_from=5&price_to=7", {"from": 5, "to": 7}),
        ("?q[price][]=100&q[price][]=900&price_from=500", {"from": 500, "to": 900}),
        ("?q[price][]=100&q[price][]=900&price_to=499", {"from": 100, "to": 499}),
    ],
)
def test_a_part_of_a_search_stays_within_the_searched_prices(spider: TapSpider, query: str, price: Any) -> None:
    assert variables(spider, query)["filters"]["price"] == price


def test_filters_of_the_web_page_are_kept(spider: TapSpider) -> None:
    values = variables(spider, "?q[region_id]=420&q[keywords]=ev&p[740]=3722&cursor=NTA&keywords_source=typewritten")
    assert values["filters"]["regionId"] == "Z2lkOi8vdGFwL1JlZ2lvbi80MjA"
    assert values["filters"]["propertyOptions"] == {"collection": [{"legacyId": 740, "value": "3722"}]}
    assert (values["after"], values["keywords"]) == ("NTA", "ev")


@pytest.mark.parametrize("url", [SEARCH + "?q[is_shop]=false", "https://tap.az/elanlar/elektronika", "https://tap.az/"])
def test_an_unknown_filter_is_refused(spider: TapSpider, url: str) -> None:
    with pytest.raises(ValueError, match=r"tap\.az"):
        spider.search_request(url)


@pytest.mark.parametrize(
    "values",
    [
        {"errors": [{"message": "Field 'totalCount' doesn't exist"}]},
        {"errors": [{"message": "Timeout"}], "data": {"adSearch": {"ads": {"nodes": [], "pageInfo": {}}}}},
        {"errors": "?", "data": {}},
        {"data": None},
        {"data": {"adSearch": None}},
        {"data": {"adSearch": {"ads": {"nodes": None, "pageInfo": {"hasNextPage": False}}}}},
        [],
        "Just a moment...",
    ],
)
def test_a_response_with_an_error_is_broken(spider: TapSpider, values: object) -> None:
    with pytest.raises(BrokenPage):
        spider.parse_search(answer(values))


def test_a_page_of_a_challenge_is_broken(spider: TapSpider) -> None:
    with pytest.raises(BrokenPage, match="neither data nor error"):
        spider.parse_search(TextResponse(GRAPHQL, body=b"<html><title>Just a moment...</title></html>"))


@pytest.mark.parametrize(
    "change",
    [
        lambda ads: ads["pageInfo"].pop("hasNextPage"),
        lambda ads: ads["pageInfo"].pop("endCursor"),
        lambda ads: ads.pop("pageInfo"),
        lambda ads: ads.update(nodes=[]),
        lambda ads: ads.update(nodes=[], pageInfo={"hasNextPage": False}),
    ],
)
def test_a_search_without_a_sign_of_the_end_goes_on(spider: TapSpider, change: Any) -> None:
    with pytest.raises(BrokenPage):
        spider.parse_search(found(change))


def test_a_search_without_a_total_is_parsed_too(spider: TapSpider) -> None:
    results = spider.parse_search(found(lambda ads: ads.pop("totalCount")))
    assert (results.total, results.after, len(results.found)) == (None, "NTA", 3)


def test_no_results_is_not_a_broken_page(spider: TapSpider) -> None:
    nothing = {"totalCount": 0, "nodes": [], "pageInfo": {"endCursor": None, "hasNextPage": False}}
    assert not spider.parse_search(answer({"data": {"adSearch": {"ads": nothing}}})).found


def test_a_similar_advert_is_not_the_advert_of_the_page(spider: TapSpider) -> None:
    page = flat(lambda text: text, url="https://tap.az/elanlar/dasinmaz-emlak/menziller/48000777")
    with pytest.raises(BrokenPage):
        list(spider.parse_listing(page))


def test_any_category_leads_to_the_advert(spider: TapSpider) -> None:
    (listing,) = spider.parse_listing(flat(lambda text: text, url="https://tap.az/elanlar/elektronika/x/48000102"))
    assert (listing.ref, listing.url, listing.property_type) == ("48000102", FLAT, "apartment")


@pytest.mark.parametrize(
    ("price", "expected"),
    [("650", (650, "total")), ("null", (None, "on_request")), ("0", (None, "on_request")), ('""', (None, None))],
)
def test_only_null_and_zero_are_prices_on_request(spider: TapSpider, price: str, expected: Any) -> None:
    (listing,) = spider.parse_listing(flat(lambda text: text.replace('"price":650', f'"price":{price}')))
    assert (listing.price, listing.price_basis) == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"photos":[', '"photos":7,"x":['),
        lambda text: text.replace('"shop":{"__ref":"Shop:1"}', '"shop":"Shop:1"'),
        lambda text: text.replace('"path":"/elanlar/dasinmaz-emlak/menziller/48000102"', '"path":"/"'),
        lambda text: text.replace('"hits":118', '"hits":"-"'),
    ],
)
def test_a_field_of_another_type_is_missing(spider: TapSpider, change: Any) -> None:
    (listing,) = spider.parse_listing(flat(change))
    assert (listing.rooms, listing.floor, listing.city) == (2, 5, "Bakı")


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.95])
def test_half_a_page_is_broken(spider: TapSpider, share: float) -> None:
    with pytest.raises(BrokenPage):
        list(spider.parse_listing(flat(lambda text: text[: int(len(text) * share)])))


def test_today_means_the_day_on_which_the_page_was_served(spider: TapSpider) -> None:
    text = (recorded.FOLDER / "tap" / "listing-old-house-sale.html").read_text("utf-8")
    url = "https://tap.az/elanlar/dasinmaz-emlak/heyet-evleri/48000500"
    page = HtmlResponse(
        url,
        body=text.replace("28 Avqust 2026", "Dünən, 23:46").encode(),
        encoding="utf-8",
        request=Request(url),
        headers={"Date": "Tue, 01 Sep 2026 09:00:00 GMT"},
    )
    (listing,) = spider.parse_listing(page)
    assert listing.updated_at == datetime(2026, 8, 31, 19, 46, tzinfo=UTC)


@pytest.mark.parametrize("date", ["", "soon", "Tue, 99 Sep 2026 09:00:00 GMT", f"Tue, {'9' * 20} Sep 2026"])
def test_a_page_without_a_date_header_counts_as_served_now(date: str) -> None:
    before = datetime.now(UTC)
    assert before <= served_at(HtmlResponse("https://tap.az/", headers={"Date": date} if date else None))


def test_telephones_are_requested_by_the_adverts_number(spider: TapSpider) -> None:
    request = spider.telephone_request(flat(lambda text: text))
    assert request is not None
    assert json.loads(request.body)["variables"] == {"adId": "Z2lkOi8vdGFwL0FkLzQ4MDAwMTAy"}
    assert b"createCall" in request.body


@pytest.mark.parametrize("entity", [["(050) 000-00-00"], [{"number": "(050) 000-00-00"}], ["(050) 000-00-00", None]])
def test_telephones_are_read(spider: TapSpider, entity: object) -> None:
    assert spider.parse_telephones(answer({"data": {"createCall": {"entity": entity}}})) == ["(050) 000-00-00"]


@pytest.mark.parametrize("values", [{"data": {"createCall": {"entity": None}}}, {"errors": [{"message": "no"}]}, 7])
def test_a_response_without_telephones_is_broken_and_not_an_empty_list(spider: TapSpider, values: object) -> None:
    with pytest.raises(BrokenPage):
        spider.parse_telephones(answer(values))
