"""Pages that were fetched before are requested with their validators."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.utils.request import fingerprint

from realestate.crawling.results import Found, Results
from realestate.items import Listing, Sighting
from realestate.spiders.bina import BinaSpider
from realestate.spiders.emlak import EmlakSpider
from realestate.storage.handle import provide_store
from realestate.storage.store import Unread
from realestate.storage.validators import Validators
from tests.examples import a_listing
from tests.handles import DirectHandle

SITE = "https://emlak.az"
REFS = ("1000001", "1000002", "1000003")


class Kept:
    """A store that knows two pages, one of them a monthly rent."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def validators(self, portal: str, refs: list[str], parser_version: int, contacts: str | None) -> dict[str, Any]:
        self.asked.append((portal, list(refs), parser_version, contacts))
        known = {ref: Validators(f"{SITE}/{ref}-a.html", '"v"', None, "month") for ref in REFS[:2]}
        return {ref: page for ref, page in known.items() if ref in refs}


@pytest.fixture
def kept() -> Kept:
    return Kept()


Make = Callable[..., Any]


@pytest.fixture
def make(kept: Kept, make_crawler: Callable[..., Crawler]) -> Make:
    def made(kind: Any = EmlakSpider, **settings: Any) -> Any:
        crawler = make_crawler(kind, **settings)
        spider = crawler.spider = kind.from_crawler(crawler)

        provide_store(crawler, DirectHandle(kept))
        return spider

    return made


def read(results: AsyncIterator[Any]) -> list[Any]:
    async def inside() -> list[Any]:
        return [each async for each in results]

    return asyncio.run(inside())


def page(status: int = 200, **meta: Any) -> HtmlResponse:
    request = Request(f"{SITE}/{REFS[0]}-a.html", meta={"stage": "extract", "job": "j", "mode": "full", **meta})
    return HtmlResponse(request.url, status=status, encoding="utf-8", request=request)


def shown(spider: Any, period: str | None, mode: str = "full") -> dict[str, Any]:
    """The validators of the requests for a search page's results."""

    def parse(response: Response) -> Results:
        return Results([spider.found(f"/{ref}-a.html", rent_period=period) for ref in REFS], total=3)

    spider.parse_search = parse
    response = page(mode=mode)
    response.meta["stage"] = "discover"
    requests = [each for each in read(spider.read_search(response)) if isinstance(each, Request)]
    return {spider.ref_of(each.url): each.meta.get("validators") for each in requests}


def test_listings_of_a_search_are_requested_with_their_validators(make: Make, kept: Kept) -> None:
    validators = {"ref": REFS[0], "url": f"{SITE}/{REFS[0]}-a.html", "etag": '"v"', "last_modified": None}
    assert shown(make(), None) == {
        REFS[0]: validators,
        REFS[1]: {**validators, "ref": REFS[1], "url": f"{SITE}/{REFS[1]}-a.html"},
        REFS[2]: None,
    }
    assert kept.asked == [("emlak", list(REFS), EmlakSpider.parser_version, None)]


def test_a_listing_with_a_new_rent_period_is_fetched_whole(make: Make) -> None:
    assert all(shown(make(), "month")[ref] for ref in REFS[:2])
    assert shown(make(), "day") == dict.fromkeys(REFS)


def test_the_store_is_asked_whether_wanted_contacts_are_stored(make: Make, kept: Kept) -> None:
    asyncio.run(make(CONTACTS=True).validators_of([Unread(REFS[0], "x")]))
    asyncio.run(make(BinaSpider, CONTACTS=True).validators_of([Unread(REFS[0], "x")]))
    assert [asked[-1] for asked in kept.asked] == ["page", "asked"]


def test_validators_do_not_change_the_identity_of_a_request(make: Make) -> None:
    spider = make()
    plain, conditional = (
        spider.check(f"{SITE}/{REFS[0]}-a.html", "j", "refresh", None, validators)
        for validators in (None, {"ref": REFS[0], "url": "x", "etag": '"v"', "last_modified": None})
    )
    assert fingerprint(plain) == fingerprint(conditional)
    assert "validators" in conditional.meta
    assert "validators" not in plain.meta


def test_an_unchanged_page_is_a_sighting_and_is_not_parsed(make: Make) -> None:
    spider = make()

    def parse(response: Response, **hints: Any) -> Iterator[Listing]:
        raise AssertionError("there is nothing to parse")

    spider.parse_listing = parse
    validators = {"ref": REFS[0], "url": f"{SITE}/{REFS[0]}-a.html", "etag": '"v"', "last_modified": None}
    response = page(304, validators=validators)
    response.flags.append("unchanged")
    seen = Sighting(portal="emlak", ref=REFS[0], url=response.url, is_read=True)
    assert read(spider.read_page(response, rent_period="month")) == [seen]
    stats = spider.crawler.stats.get_stats()
    assert {name: value for name, value in stats.items() if name.startswith("page/")} == {"page/extract/unchanged": 1}


@pytest.mark.parametrize(("others", "alone"), [(0, True), (1, False)])
def test_the_version_of_a_page_that_shows_others_is_not_stored(make: Make, others: int, alone: bool) -> None:
    spider = make()

    def parse(response: Response, **hints: Any) -> Iterator[Listing | Found]:
        yield a_listing(ref=REFS[0])
        for ref in REFS[:others]:
            yield spider.found(f"/{ref}-a.html")

    spider.parse_listing = parse
    response = page()
    made = read(spider.read_page(response))
    assert sum(isinstance(each, Request) for each in made) == others
    assert ("alone" in response.flags) is alone
