"""bina.az: the query of a URL, failed responses, and broken pages."""

import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, TextResponse

from realestate.crawling.page_outcomes import Banned, BrokenPage
from realestate.crawling.results import Found
from realestate.crawling.seeds import BadSeed
from realestate.spiders.bina import BinaSpider
from tests.crawling.fake_fleet import FakeFleet
from tests.recorded import FOLDER

HASH = "ab" * 32
SEARCH = "https://bina.az/baki/alqi-satqi/menziller"
LISTING = "https://bina.az/items/6150005"


@pytest.fixture
def fleet() -> FakeFleet:
    return FakeFleet()


@pytest.fixture
def spider(make_crawler: Callable[..., Crawler], fleet: FakeFleet) -> BinaSpider:
    crawler = make_crawler(BinaSpider, BINA_QUERY_HASH=HASH)
    fleet.register(crawler)
    spider = crawler.spider = BinaSpider.from_crawler(crawler)
    return spider


def variables(request: Request) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(parse_qs(urlsplit(request.url).query)["variables"][0])
    return values


def answered(body: Any, search: str = SEARCH, status: int = 200) -> TextResponse:
    text = body if isinstance(body, str) else json.dumps(body)
    request = Request("https://bina.az/graphql?x=1", meta={"search": search, "stage": "discover"})
    return TextResponse(request.url, status, body=text, encoding="utf-8", request=request)


def connection(edges: list[Any], total: Any = 40, more: bool = False, cursor: str | None = None) -> dict[str, Any]:
    page = {"hasNextPage": more, "endCursor": cursor}
    return {"data": {"itemsConnection": {"totalCount": total, "pageInfo": page, "edges": edges}}}


# ----- the query of a URL


@pytest.mark.parametrize(
    ("search", "filter"),
    [
        ("/items/all", {}),
        ("/items/all?page=3", {}),
        ("/alqi-satqi", {"leased": False}),
        ("/baki/alqi-satqi/menziller", {"cityId": "1", "leased": False, "categoryId": "1"}),
        ("/kiraye/heyet-evleri/", {"leased": True, "categoryId": "5"}),
        ("/gunluk-kiraye", {"leased": True, "paidDaily": True}),
        ("/kiraye?price_from=100&price_to=900", {"leased": True, "priceFrom": 100, "priceTo": 900}),
        ("/kiraye?room_ids%5B%5D=2&room_ids[]=3", {"leased": True, "roomIds": ["2", "3"]}),
        ("/kiraye?has_bill_of_sale=true&area_to=80", {"leased": True, "hasBillOfSale": True, "areaTo": 80}),
    ],
)
def test_a_url_becomes_a_query(spider: BinaSpider, search: str, filter: dict[str, Any]) -> None:
    request = spider.search_request("https://bina.az" + search)
    asked = {"first": 16, "filter": filter, "sort": "BUMPED_AT_DESC"}
    assert variables(request) == asked
    assert HASH in request.url
    assert urlsplit(request.url).path == "/graphql"
    assert request.headers["Apollo-Require-Preflight"] == b"true"


def test_a_cursor_is_one_more_parameter(spider: BinaSpider) -> None:
    assert variables(spider.search_request(f"{SEARCH}?cursor=MTc%3D"))["cursor"] == "MTc="


@pytest.mark.parametrize(
    "search",
    [
        "/",
        "/gence/alqi-satqi/menziller",
        "/alqi-satqi/villalar",
        "/alqi-satqi/menziller/yeni-tikili",
        "/alqi-satqi?rooms[]=3",
        "/alqi-satqi?price_from=abc",
        "/alqi-satqi?has_mortgage=maybe",
        "/elanlar",
    ],
)
def test_an_unknown_filter_is_refused(spider: BinaSpider, search: str) -> None:
    with pytest.raises(BadSeed):
        spider.search_request("https://bina.az" + search)


def test_sitemaps_of_the_portal_are_requested_unchanged(spider: BinaSpider) -> None:
    url = "https://bina.azstatic.com/uploads/sitemaps/sitemap_items.xml"
    assert spider.owns(url)
    assert spider.search_request(url).url == url


def test_a_sitemap_leads_to_the_site(spider: BinaSpider) -> None:
    url = "https://bina.azstatic.com/uploads/sitemaps/sitemap_items1.xml"
    body = f'<urlset xmlns="x"><url><loc>{LISTING}</loc></url><url><loc>https://bina.az/kiraye</loc></url></urlset>'
    response = TextResponse(url, body=body.encode(), request=Request(url))
    (results,) = spider.parsed(response, "plan")
    assert [each.sighting.url for each in results.found] == [LISTING]


# ----- failed responses


UNKNOWN = {"errors": [{"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}}]}


@pytest.mark.parametrize("status", [200, 400])
def test_an_unknown_query_hash_is_a_ban(
    spider: BinaSpider, fleet: FakeFleet, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def read() -> list[Any]:
        return [each async for each in spider.read_search(answered(UNKNOWN, status=status))]

    assert asyncio.run(read()) == []
    assert spider.crawler.stats is not None
    stats = spider.crawler.stats.get_stats()
    assert (stats["ban/bina/persisted_query"], stats["page/discover/banned"]) == (1, 1)
    assert [letter["reason"] for letter in fleet.dead_letters] == ["ban"]
    (logged,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert logged.getMessage().startswith("ban/bina/persisted_query ")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>Just a moment...</html>",
        {},
        {"data": None, "errors": [{"message": "Query has complexity of 1340"}]},
        {"data": {"itemsConnection": None}},
        connection([], total=None),
        connection([], total=40),
        connection([], total=40, more=True),
        connection([{"node": {"id": "1"}}], more=True, cursor=None),
        {**connection([{"node": {"id": "1"}}]), "errors": [{"message": "half of it"}]},
    ],
    ids=str,
)
def test_an_incomplete_response_is_broken_and_not_empty(spider: BinaSpider, body: Any) -> None:
    with pytest.raises(BrokenPage):
        spider.parse_search(answered(body))


def test_no_results_is_a_valid_response(spider: BinaSpider) -> None:
    assert spider.parse_search(answered(connection([], total=0))).total == 0
    assert spider.parse_search(answered(connection([]), f"{SEARCH}?cursor=x")).is_last


def test_a_result_without_an_id_is_counted(spider: BinaSpider) -> None:
    nodes = [{"node": {"id": "1", "price": {"total": 5, "currency": "AZN"}}}, {"node": None}, {"node": {"id": "x"}}, 7]
    results = spider.parse_search(answered(connection(nodes)))
    assert ([each.ref for each in results.found], results.unreadable) == (["1"], 3)


@pytest.mark.parametrize(
    ("price", "amount", "basis"),
    [
        ({"total": 215000, "currency": "AZN"}, 215000, "total"),
        ({"value": 120, "currency": "USD"}, 120, "total"),
        ({"total": None, "currency": "AZN"}, None, "on_request"),
        ({"total": 0, "currency": "AZN"}, None, "on_request"),
        ({"currency": "AZN"}, None, None),
        ({"total": 5, "currency": "shells"}, None, None),
        (None, None, None),
    ],
)
def test_a_missing_price_is_none(spider: BinaSpider, price: Any, amount: Any, basis: Any) -> None:
    (found,) = spider.parse_search(answered(connection([{"node": {"id": "1", "price": price}}]))).found
    assert isinstance(found, Found)
    assert (found.sighting.price, found.sighting.price_basis) == (amount, basis)


# ----- pages


def page(text: str, url: str = LISTING, **headers: str) -> HtmlResponse:
    return HtmlResponse(url, 200, headers, text.encode(), encoding="utf-8", request=Request(url))


def recorded(name: str) -> str:
    return (FOLDER / "bina" / f"{name}.html").read_text("utf-8")


def test_a_similar_item_is_not_the_item_of_the_page(spider: BinaSpider) -> None:
    with pytest.raises(BrokenPage):
        list(spider.parse_listing(page(recorded("listing-flat-sale"), "https://bina.az/items/6159999")))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Bugün 10:37", datetime(2026, 9, 2, 10, 37)),
        ("Dünən 23:46", datetime(2026, 9, 1, 23, 46)),
        ("28.08.2026, 09:05", datetime(2026, 8, 28, 9, 5)),
        ("13 Oktyabr 2023", datetime(2023, 10, 13)),
    ],
)
def test_today_means_the_day_on_which_the_page_was_served(spider: BinaSpider, written: str, expected: datetime) -> None:
    text = recorded("listing-flat-old").replace("13 Oktyabr 2023", written)
    served = page(text, "https://bina.az/items/6150007", Date="Wed, 02 Sep 2026 08:00:00 GMT")
    (listing,) = spider.parse_listing(served)
    assert listing.updated_at == expected.replace(tzinfo=spider.timezone)


@pytest.mark.parametrize("text", ["", "<html><h1>Elan</h1></html>", '{"pageProps": {}}', "[1]", '{"id": "1"}'])
def test_a_page_without_an_item_is_broken(spider: BinaSpider, text: str) -> None:
    with pytest.raises(BrokenPage):
        list(spider.parse_listing(page(text)))


def test_a_response_with_status_400_is_not_a_listing(spider: BinaSpider) -> None:
    with pytest.raises(BrokenPage):
        list(spider.parse_listing(page(recorded("listing-flat-sale")).replace(status=400)))


def test_a_ban_has_a_kind() -> None:
    assert Banned("captcha", "somebody has to look").kind == "captcha"
