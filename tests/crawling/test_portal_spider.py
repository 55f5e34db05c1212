import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

from realestate.crawling.page_outcomes import BrokenPage, ListingGone
from realestate.crawling.portal_spider import PRIORITY, claimed, is_changed, is_due, is_news
from realestate.crawling.results import Found, Results
from realestate.items import Sightings
from realestate.middlewares.bans import Banned
from realestate.middlewares.robots import Forbidden
from realestate.parsing.prices import Price
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage.handle import provide_store
from realestate.storage.store import Known
from tests.crawling.fake_fleet import FakeFleet
from tests.handles import DirectHandle

LISTING = "https://www.immoweb.be/en/classified/21000001"
SEARCH = "https://www.immoweb.be/en/search-results/house/for-sale?page=1"


@pytest.fixture
def fleet() -> FakeFleet:
    return FakeFleet()


@pytest.fixture
def spider(fleet: FakeFleet, make_crawler: Callable[..., Crawler]) -> ImmowebSpider:
    crawler = make_crawler(ImmowebSpider)
    fleet.register(crawler)
    spider = crawler.spider = ImmowebSpider.from_crawler(crawler)

    provide_store(crawler, DirectHandle(SimpleNamespace(begin_job=lambda *values: None)))
    return spider


def stats(spider: ImmowebSpider) -> dict[str, int]:
    assert spider.crawler.stats is not None
    return {name: value for name, value in spider.crawler.stats.get_stats().items() if name.startswith("page/")}


def page(url: str = LISTING, body: bytes = b"<html></html>", stage: str = "extract") -> HtmlResponse:
    request = Request(url, meta={"stage": stage, "job": "j", "mode": "full"})
    return HtmlResponse(url, body=body, encoding="utf-8", request=request)


@pytest.mark.parametrize(("url", "stage"), [(LISTING, "extract"), (SEARCH, "plan")])
def test_a_bare_url_is_recognised_by_its_form(spider: ImmowebSpider, url: str, stage: str) -> None:
    request = spider.make_request_from_data(url.encode())
    assert request is not None
    assert request.meta["stage"] == stage
    assert request.callback == (spider.read_listing if stage == "extract" else spider.read_search)
    assert request.dont_filter


def test_a_seed_says_how_it_is_fetched(spider: ImmowebSpider) -> None:
    data = (
        b'{"url": "%s", "method": "post", "headers": {"X-A": "1"}, "body": "b",'
        b' "meta": {"k": 2}, "priority": 5, "job": "j", "mode": "sweep"}'
    )
    request = spider.make_request_from_data(data % SEARCH.encode())
    assert request is not None
    assert (request.method, request.headers["X-A"], request.body) == ("POST", b"1", b"b")
    assert request.priority == PRIORITY["plan"] + 5
    assert {"k": 2, "job": "j", "mode": "sweep"}.items() <= request.meta.items()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b"\xff",
        b'{"url": 1}',
        b"https://evil.example/",
        b"https://www.immoweb.be.evil.example/",
        b'{"url": "https://www.immoweb.be/", "callback": "x"}',
        b"https://[bad/",
        b'{"url": "https://www.immoweb.be/", "priority": 1180591620717411303424}',
        b'{"url": "https://www.immoweb.be/", "meta": {"x": 1180591620717411303424}}',
        b'{"url": "https://www.immoweb.be/", "meta": {"job": 5}}',
        b'{"url": "https://www.immoweb.be/", "meta": {"stage": null}}',
        b'{"url": "https://www.immoweb.be/", "job": "no spaces here"}',
        b'{"url": "https://www.immoweb.be/", "meta": {"x": ' + b"[" * 3000 + b"]" * 3000 + b"}}",
        b'{"url": "https://www.immoweb.be/", "body": "' + b"x" * 300_000 + b'"}',
    ],
)
def test_a_bad_seed_is_refused_and_becomes_a_dead_letter(spider: ImmowebSpider, fleet: FakeFleet, data: bytes) -> None:
    assert spider.make_request_from_data(data) is None
    (letter,) = fleet.dead_letters
    assert letter["reason"] == "seed"
    assert letter["error"]
    assert letter["seed"] == data.decode("utf-8", "backslashreplace")[:2000]


def test_subdomains_belong_to_the_portal(spider: ImmowebSpider) -> None:
    assert spider.owns("https://api.www.immoweb.be/x")
    assert spider.owns("https://www.immoweb.be:443/x")
    assert not spider.owns("https://immoweb.example/")


def outcomes(spider: ImmowebSpider, parse: Callable[..., Iterator[Any]], response: Response) -> list[Any]:
    spider.parse_listing = parse  # type: ignore[method-assign]
    return read(spider.read_listing(response))


def read(results: AsyncIterator[Any]) -> list[Any]:
    async def inside() -> list[Any]:
        return [each async for each in results]

    return asyncio.run(inside())


def test_a_parsed_page_is_counted(spider: ImmowebSpider, fleet: FakeFleet) -> None:
    assert outcomes(spider, lambda response: iter(["a"]), page()) == ["a"]
    assert stats(spider) == {"page/extract/ok": 1}
    assert fleet.dead_letters == []


@pytest.mark.parametrize("error", [BrokenPage("no data"), KeyError("id"), TypeError("x"), RecursionError("deep")])
def test_a_broken_page_is_counted_and_becomes_a_dead_letter(
    spider: ImmowebSpider, fleet: FakeFleet, error: Exception
) -> None:
    def parse(response: Response) -> Iterator[Any]:
        yield "before"
        raise error

    assert outcomes(spider, parse, page()) == []
    assert stats(spider) == {"page/extract/broken": 1}
    (letter,) = fleet.dead_letters
    assert (letter["reason"], letter["url"], letter["request"].meta["job"]) == ("parse", LISTING, "j")
    assert type(error).__name__ in letter["error"]


def test_a_gone_listing_is_neither_broken_nor_a_dead_letter(spider: ImmowebSpider, fleet: FakeFleet) -> None:
    def parse(response: Response) -> Iterator[Any]:
        raise ListingGone("expired")
        yield

    (expired,) = outcomes(spider, parse, page())
    assert (expired.ref, expired.evidence, expired.detail) == ("21000001", "marker", "expired")
    away = page("https://www.immoweb.be/en/search/")
    away.meta["redirect_urls"] = [LISTING]
    (redirected,) = read(spider.read_listing(away))
    assert (redirected.ref, redirected.url, redirected.evidence) == ("21000001", LISTING, "absent")
    assert stats(spider) == {"page/extract/gone": 2}
    assert fleet.dead_letters == []
    assert fleet.jobs.opened == ["j", "j"], "the job is opened, so that the evidence is counted"


@pytest.mark.parametrize(
    "response",
    [
        page("https://elsewhere.example/en/classified/21000001"),
        Response(LISTING, body=b"\x89PNG", request=page().request),
    ],
    ids=["another site", "not a text"],
)
def test_a_page_of_another_site_or_kind_is_broken(spider: ImmowebSpider, response: Response) -> None:
    assert read(spider.read_listing(response)) == []
    assert stats(spider) == {"page/extract/broken": 1}


BROKEN_BODIES = {
    "empty": b"",
    "an error in words": b"Internal Server Error",
    "another site": b"<html><h1>Welcome to nginx</h1></html>",
    "half a page": b'<script>window.classified = {"id": 5, "property": {"type"',
    "wrong encoding": 'window.classified = {"id": 5'.encode("utf-16"),
    "a list": b"window.classified = [1,2];",
    "no property": b'window.classified = {"id": 5};',
    "deep": b"window.classified = " + b"[" * 200_000,
}


@pytest.mark.parametrize("body", BROKEN_BODIES.values(), ids=BROKEN_BODIES.keys())
def test_a_real_parser_never_raises_on_a_broken_page(spider: ImmowebSpider, fleet: FakeFleet, body: bytes) -> None:
    assert read(spider.read_listing(page(body=body))) == []
    assert read(spider.read_search(page(SEARCH, body, "discover"))) == []
    assert stats(spider) == {"page/extract/broken": 1, "page/discover/broken": 1}
    assert len(fleet.dead_letters) == 2


def test_only_a_broken_page_is_flagged_to_be_stored(spider: ImmowebSpider) -> None:
    broken, gone = page(), page("https://www.immoweb.be/en/search/")
    for each in (broken, gone):
        spider._read(each, "extract")
    assert (broken.flags, gone.flags) == (["broken"], [])


def test_outside_a_crawl_the_exception_is_raised(spider: ImmowebSpider, fleet: FakeFleet) -> None:
    with pytest.raises(BrokenPage):
        list(spider.parsed(page(), "extract"))
    with pytest.raises(ListingGone):
        list(spider.parsed(page("https://www.immoweb.be/en/search/"), "extract"))
    assert ListingGone.outcome == "gone"
    assert stats(spider) == {}
    assert fleet.dead_letters == []


def failure(error: Exception, stage: str = "extract") -> Failure:
    failed = Failure(error)  # type: ignore[no-untyped-call]
    failed.request = page(stage=stage).request  # type: ignore[attr-defined]
    return failed


@pytest.mark.parametrize("status", [404, 410])
def test_a_listing_without_a_page_is_gone(spider: ImmowebSpider, fleet: FakeFleet, status: int) -> None:
    missing = page()
    missing.status = status
    (gone,) = read(spider.read_listing(missing))
    assert (gone.portal, gone.ref, gone.evidence) == ("immoweb", "21000001", str(status))
    assert fleet.dead_letters == []


@pytest.mark.parametrize(("status", "stage"), [(404, "discover"), (403, "extract"), (500, "extract")])
def test_any_other_error_status_is_a_dead_letter(
    spider: ImmowebSpider, fleet: FakeFleet, status: int, stage: str
) -> None:
    spider.on_failure(failure(HttpError(Response(LISTING, status=status)), stage))
    assert stats(spider) == {f"page/{stage}/failed": 1}
    assert [letter["status"] for letter in fleet.dead_letters] == [status]


def test_a_search_is_never_gone(spider: ImmowebSpider, fleet: FakeFleet) -> None:
    missing = page(SEARCH, stage="discover")
    missing.status = 404
    assert read(spider.read_search(missing)) == []
    assert stats(spider) == {"page/discover/failed": 1}
    assert [(letter["reason"], letter["status"]) for letter in fleet.dead_letters] == [("http", 404)]


NOW = datetime(2026, 9, 1, tzinfo=UTC)


DAYS = 28.0
LONG_AGO = NOW - timedelta(days=DAYS)


def stored(**changes: Any) -> Known:
    values: dict[str, Any] = {"status": "active", "price": Decimal(100), "currency": "EUR", "price_basis": "total"}
    values |= {"rent_period": None, "charges": None, "last_fetched_at": NOW, "updated_at": None, "card": None}
    return Known(**values | changes)


def shown(spider: ImmowebSpider, price: int | None = 100, **values: Any) -> Found:
    amount = Price(basis="on_request") if price is None else Price(Decimal(price), "EUR", "total")
    return spider.found("/en/classified/21000001", amount, **values)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (None, True),
        (stored(), False),
        (stored(status="reserved"), True),
        (stored(price=Decimal(90)), True),
        (stored(price=None, currency=None, price_basis="on_request"), True),
        (stored(rent_period="month"), False),
        (stored(last_fetched_at=LONG_AGO), True),
        (stored(status="delisted"), True),
    ],
    ids=["new", "known", "other status", "other price", "was on request", "no period shown", "long unread", "back"],
)
def test_a_sweep_fetches_new_changed_and_due_listings(
    spider: ImmowebSpider, known: Known | None, expected: bool
) -> None:
    assert is_news(shown(spider, status="active"), known, NOW, DAYS) is expected


DATE = datetime(2026, 8, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({}, False),
        ({"status": "reserved"}, True),
        ({"price": None}, True),
        ({"shown": ["Other title"]}, True),
        ({"dated": DATE + timedelta(days=1)}, True),
        ({"price": 95}, False),
        ({"price": 95, "dated": DATE + timedelta(days=1)}, False),
        ({"price": 95, "status": "reserved"}, True),
    ],
    ids=["same", "reserved", "on request", "title", "date", "price", "price and date", "price and status"],
)
def test_a_page_is_read_again_if_its_search_page_shows_a_change_that_it_does_not_explain(
    spider: ImmowebSpider, now: dict[str, Any], expected: bool
) -> None:
    first: dict[str, Any] = {"status": "active", "dated": DATE, "shown": ["Title"]}
    known = stored(card=shown(spider, **first).card)
    assert is_changed(shown(spider, **first | now), known) is expected


def test_a_new_rent_with_charges_is_read_unless_the_search_page_shows_the_charges(spider: ImmowebSpider) -> None:
    known = stored(charges=Decimal(10), card=shown(spider).card)
    assert is_changed(shown(spider, 95), known)
    assert not is_changed(shown(spider, 95, shows_charges=True), known)


def test_a_new_price_whose_meaning_is_not_the_stored_one_is_read(spider: ImmowebSpider) -> None:
    known = stored(currency="AZN", card=shown(spider).card)
    assert is_changed(shown(spider, 95), known), "the store would ignore the price of the search page"
    assert not is_changed(shown(spider), known), "its page was read when the search page showed the same"


def test_what_a_search_page_claims_counts_if_it_is_new(spider: ImmowebSpider) -> None:
    found = shown(spider, None, status="reserved")
    known = stored(card=shown(spider, status="active").card)
    for mode in ("sweep", "incremental"):
        assert claimed(found, known, mode) == found.sighting
        assert claimed(found, stored(card=found.card), mode).status is None, "its own page was read since"
    assert claimed(found, known, "full").price_basis is None, "its own page is read anyway"


def test_each_page_is_read_once_in_a_period_and_each_day_the_same_share() -> None:
    refs = [str(21_000_000 + 7 * number) for number in range(2000)]
    read = dict.fromkeys(refs, NOW)
    shares = []
    for day in range(1, 2 * int(DAYS) + 1):
        now = NOW + timedelta(days=day)
        due = [ref for ref in refs if is_due(ref, read[ref], now, DAYS)]
        read |= dict.fromkeys(due, now)
        shares.append(len(due) / len(refs))
        assert max(now - at for at in read.values()) <= timedelta(days=DAYS)
    assert max(shares) <= 1.5 / DAYS
    assert sum(shares) == pytest.approx(2, abs=0.1)
    assert not any(is_due(ref, NOW, NOW + timedelta(days=1000), 0) for ref in refs)


@pytest.mark.parametrize(("mode", "asked"), [("full", ["1", "2"]), ("sweep", ["2"]), ("incremental", ["2"])])
def test_a_search_page_yields_sightings_and_the_requests_of_the_mode(
    spider: ImmowebSpider, mode: str, asked: list[str]
) -> None:
    def parse(response: Response) -> Results:
        price = Price(Decimal(100), "EUR", "total")
        refs = ("21000001", "21000002")
        return Results([spider.found(f"/en/classified/{ref}", price, "month", agent=7) for ref in refs], total=2)

    known = stored(rent_period="month", last_fetched_at=datetime.now(UTC))
    spider.parse_search = parse  # type: ignore[method-assign]
    store = SimpleNamespace(known=lambda portal, refs: {"21000001": known}, validators=lambda *values: {})
    provide_store(spider.crawler, DirectHandle(store))
    search = page(SEARCH, stage="discover")
    search.meta["mode"] = mode
    results = read(spider.read_search(search))
    (shown,) = [each for each in results if isinstance(each, Sightings)]
    sightings = shown.seen
    assert [each.ref[-1] for each in sightings] == ["1", "2"]
    assert {(each.price, each.rent_period) for each in sightings} == {(Decimal(100), "month")}
    requests = [each for each in results if isinstance(each, Request)]
    assert [each.url[-1] for each in requests] == asked
    assert all(each.cb_kwargs == {"agent": 7, "rent_period": "month"} for each in requests)


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (DownloadTimeoutError("slow"), "failed", "timeout"),
        (Forbidden("Forbidden by robots.txt"), "forbidden", "robots"),
        (Banned("ban page: captcha"), "banned", "ban"),
        (IgnoreRequest("max redirections reached"), "failed", "ignored"),
    ],
)
def test_a_request_without_a_response_is_a_dead_letter(
    spider: ImmowebSpider, fleet: FakeFleet, error: Exception, outcome: str, reason: str
) -> None:
    spider.on_failure(failure(error))
    assert stats(spider) == {f"page/extract/{outcome}": 1}
    assert len(fleet.finished_requests) == 1, "the errback has finished, so the lease can end"
    assert [letter["reason"] for letter in fleet.dead_letters] == [reason]
