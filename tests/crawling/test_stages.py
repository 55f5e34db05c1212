"""Plan, discover, extract: what a search page yields in each stage and mode."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse

from realestate.crawling.portal_spider import PortalSpider
from realestate.crawling.search_urls import parameters
from realestate.items import Listing, Part, Sighting, Sightings
from realestate.middlewares.signing import SigningMiddleware
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage.handle import provide_store
from realestate.storage.store import Known
from tests.crawling.fake_fleet import FakeFleet
from tests.handles import DirectHandle

SEARCH = "https://www.immoweb.be/en/search-results/house/for-sale?page=1"
KEY = "https://www.immoweb.be/en/search-results/house/for-sale"


class Kept:
    """A store that only records calls."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, Part]] = []
        self.watermarks: dict[str, str] = {}
        self.refs: set[str] = set()

    def keep_part(self, run: str, part: Part) -> None:
        self.parts.append((run, part))

    def watermark(self, portal: str, search: str) -> str | None:
        return self.watermarks.get(search)

    def validators(self, portal: str, refs: list[str], parser_version: int, contacts: str | None) -> dict[str, Any]:
        return {}

    def known(self, portal: str, refs: list[str]) -> dict[str, Any]:
        known = Known("active", Decimal(100), "EUR", "total", "month", None, datetime.now(UTC), None, None)
        return dict.fromkeys(self.refs & set(refs), known)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def spider(kept: Kept, make_crawler: Callable[..., Crawler]) -> ImmowebSpider:
    crawler = make_crawler(ImmowebSpider)
    spider = crawler.spider = ImmowebSpider.from_crawler(crawler)

    provide_store(crawler, DirectHandle(kept))
    return spider


def answer(total: int, ages: list[int], url: str = SEARCH, stage: str = "plan", **meta: Any) -> TextResponse:
    """A search page whose results were changed this many hours before the last of November."""
    results = [
        {
            "id": 21_000_000 + age,
            "transaction": {"type": "FOR_SALE"},
            "price": {"mainValue": 100_000 + 1_000 * age},
            "publication": {"lastModificationDate": f"2026-10-{30 - age // 24:02}T{23 - age % 24:02}:00:00.000Z"},
        }
        for age in ages
    ]
    body = msgspec.json.encode({"results": results, "totalItems": total, "currentPage": 1})
    request = Request(url, meta={"stage": stage, "job": "j", **meta})
    return TextResponse(url, body=body, encoding="utf-8", request=request)


async def everything(made: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in made]


def read(spider: PortalSpider, response: Response) -> list[Any]:
    return asyncio.run(everything(spider.read_search(response)))


def requests(made: list[Any], stage: str) -> list[Request]:
    return [each for each in made if isinstance(each, Request) and each.meta["stage"] == stage]


def seen(made: list[Any]) -> list[Sighting]:
    return [each for shown in made if isinstance(shown, Sightings) for each in shown.seen]


def test_a_short_search_is_read_from_its_first_page_on(spider: ImmowebSpider, kept: Kept) -> None:
    made = read(spider, answer(75, list(range(30))))
    assert [each.url[-6:] for each in requests(made, "discover")] == ["page=2", "page=3"]
    assert len(seen(made)) == len(requests(made, "extract")) == 30
    ((run, part),) = kept.parts
    assert (run, part.search, part.parent, part.total, part.is_split) == ("j", KEY, None, 75, False)


def test_further_pages_are_requested_before_the_items_of_this_one(spider: ImmowebSpider) -> None:
    made = read(spider, answer(75, list(range(30))))
    first = next(number for number, each in enumerate(made) if isinstance(each, Sightings))
    assert [each.url[-6:] for each in made[:first]] == ["page=2", "page=3"]


def test_a_long_search_is_planned_in_parts_and_not_read_itself(spider: ImmowebSpider, kept: Kept) -> None:
    made = read(spider, answer(30_000, list(range(30))))
    parts = requests(made, "plan")
    assert len(parts) == len(made) >= 4
    assert all(each.meta["part_of"] == KEY for each in parts)
    ((_, part),) = kept.parts
    assert part.is_split
    again = read(spider, answer(200, [1, 2], parts[0].url, part_of=KEY))
    assert requests(again, "discover")
    assert kept.parts[-1][1].parent == KEY


def test_homes_of_one_price_and_one_size_are_split_by_region(spider: ImmowebSpider) -> None:
    url = f"{SEARCH}&minPrice=5&maxPrice=5&minSurface=9&maxSurface=9"
    parts = requests(read(spider, answer(30_000, list(range(30)), url)), "plan")
    assert {parameters(each.url)["regions"] for each in parts} == {"BRUSSELS", "FLANDERS", "WALLONIA"}
    assert all(parameters(each.url)["minSurface"] == "9" for each in parts)


def test_a_search_that_cannot_be_split_is_read_as_far_as_possible_with_a_warning(spider: ImmowebSpider) -> None:
    url = f"{SEARCH}&minPrice=5&maxPrice=5&minSurface=9&maxSurface=9&regions=FLANDERS"
    made = read(spider, answer(30_000, list(range(30)), url))
    assert len(requests(made, "discover")) == 332
    assert spider.crawler.stats is not None
    assert spider.crawler.stats.get_value("search/capped") == 1


def test_an_incremental_job_reads_page_by_page_down_to_the_watermark(spider: ImmowebSpider, kept: Kept) -> None:
    kept.watermarks[KEY] = str(int(datetime(2026, 10, 30, 0, tzinfo=UTC).timestamp() * 1000))
    kept.refs = {"21000001"}
    made = read(spider, answer(90_000, list(range(20)), mode="incremental"))
    (following,) = requests(made, "discover")
    assert len(requests(made, "extract")) == 19, "known listings are not fetched again"
    assert kept.parts[0][1].is_split is False, "also if the search is long"
    last = answer(
        90_000, list(range(20, 40)), following.url, "discover", mode="incremental", walk=following.meta["walk"]
    )
    assert requests(read(spider, last), "discover") == []


def test_without_a_watermark_an_incremental_job_reads_all_search_pages(spider: ImmowebSpider) -> None:
    assert len(requests(read(spider, answer(75, list(range(30)), mode="incremental")), "discover")) == 2


SITEMAP = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">%s</urlset>'
INDEX = b'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">%s</sitemapindex>'
LOCATIONS = (
    b"<url><loc>https://www.immoweb.be/en/classified/21000001</loc></url>"
    b"<url><loc>https://www.immoweb.be/en/page/about</loc></url>"
)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_sitemap_is_read_without_planning(spider: ImmowebSpider, kept: Kept, pack: Callable[[bytes], bytes]) -> None:
    request = Request("https://www.immoweb.be/sitemap.xml", meta={"stage": "plan", "job": "j"})
    index = pack(INDEX % b"<sitemap><loc>https://www.immoweb.be/classifieds-000.xml</loc></sitemap>")
    (file,) = read(spider, Response(request.url, body=index, request=request))
    assert (file.url, file.meta["stage"]) == ("https://www.immoweb.be/classifieds-000.xml", "plan")
    made = read(spider, Response(file.url, body=pack(SITEMAP % LOCATIONS), request=file.replace(meta=request.meta)))
    assert [each.ref for each in seen(made)] == ["21000001"]
    assert len(requests(made, "extract")) == 1


def test_a_broken_sitemap_is_a_broken_page(spider: ImmowebSpider) -> None:
    request = Request("https://www.immoweb.be/sitemap.xml", meta={"stage": "plan", "job": "j"})
    fleet = FakeFleet()
    fleet.register(spider.crawler)
    for body in (b"<urlset", gzip.compress(SITEMAP % LOCATIONS)[:60], gzip.compress(b"<urlset>" + b" " * 70_000_000)):
        assert read(spider, Response(request.url, body=body, request=request)) == []
    assert [letter["reason"] for letter in fleet.dead_letters] == ["parse"] * 3


def test_a_request_is_signed_when_it_is_sent(spider: ImmowebSpider) -> None:
    spider.sign = lambda request: request.headers.update({"X-Signature": "now"})  # type: ignore[method-assign]
    middleware = SigningMiddleware.from_crawler(spider.crawler)
    ours, robots = Request(SEARCH, meta={"stage": "plan"}), Request("https://www.immoweb.be/robots.txt")
    for request in (ours, robots):
        middleware.process_request(request)
    assert (ours.headers.get("X-Signature"), robots.headers.get("X-Signature")) == (b"now", None)


def test_data_served_elsewhere_has_the_url_of_its_page(spider: ImmowebSpider) -> None:
    shown = "https://www.immoweb.be/en/classified/21000001"
    spider.listing_request = lambda url: Request("https://www.immoweb.be/api/classified/21000001")  # type: ignore[method-assign]
    request = spider.check(shown, "j", "sweep")
    assert (request.url, request.meta["shown_at"]) == ("https://www.immoweb.be/api/classified/21000001", shown)
    assert spider.shown_at(HtmlResponse(request.url, request=request)) == shown
    assert spider.listing(HtmlResponse(request.url, request=request)).url == shown


PROJECT = b"""window.classified = {"id": 21000300, "property": {"type": "APARTMENT_GROUP"}, "cluster": {"units": [
    {"items": [{"id": 21000301, "price": 100}, {"id": 21000302, "price": 250000}]}]}};"""


@pytest.mark.parametrize(("mode", "asked"), [("full", ["1", "2"]), ("sweep", ["2"]), ("incremental", ["2"])])
def test_a_projects_page_shows_its_flats(spider: ImmowebSpider, kept: Kept, mode: str, asked: list[str]) -> None:
    kept.refs = {"21000301"}
    url = "https://www.immoweb.be/en/classified/21000300"
    request = Request(url, meta={"stage": "extract", "job": "j", "mode": mode})
    made = asyncio.run(everything(spider.read_listing(HtmlResponse(url, body=PROJECT, request=request))))
    assert isinstance(made[0], Listing)
    assert [each.ref for each in seen(made)] == ["21000301", "21000302"]
    assert [each.url[-1] for each in requests(made, "extract")] == asked


def test_a_sweep_reads_every_project(spider: ImmowebSpider, kept: Kept) -> None:
    kept.refs = {"21000000", "21000001"}
    page = answer(2, [0, 1], stage="discover", mode="sweep")
    values = msgspec.json.decode(page.body)
    for result, kind in zip(values["results"], ("HOUSE", "HOUSE_GROUP"), strict=True):
        result |= {"property": {"type": kind}, "price": {"mainValue": 100}}
    made = read(spider, page.replace(body=msgspec.json.encode(values)))
    assert [each.url[-1] for each in requests(made, "extract")] == ["1"]


@pytest.mark.parametrize(
    ("change", "is_shown"),
    [
        ({}, True),
        ({"transaction": {"type": "FOR_RENT"}}, False),
        ({"price": {"mainValue": 99_999}}, False),
        ({"price": {"mainValue": 200_001}}, False),
        ({"price": {"mainValue": None}}, True),
        ({"property": {"location": {"postalCode": "9000"}}}, True),
        ({"property": {"location": {"postalCode": "1000"}}}, False),
    ],
)
def test_a_paid_advert_of_another_search_is_not_a_result(spider: ImmowebSpider, change: Any, is_shown: bool) -> None:
    page = answer(1, [1], f"{SEARCH}&minPrice=100000&maxPrice=200000&postalCodes=BE-9000,2000", "discover")
    values = msgspec.json.decode(page.body)
    values["results"][0] |= change
    made = read(spider, page.replace(body=msgspec.json.encode(values)))
    assert bool(seen(made)) is is_shown
