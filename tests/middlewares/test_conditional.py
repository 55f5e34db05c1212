"""Which requests ask for a page only if it has changed, and which 304 is an answer."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError, HttpErrorMiddleware

from realestate.middlewares.backoff import BackoffMiddleware
from realestate.middlewares.conditional import ConditionalMiddleware
from realestate.queue.codec import decode, encode
from realestate.spiders.immoweb import ImmowebSpider

URL = "https://www.immoweb.be/en/classified/21000001"
KNOWN_BY = {"ref": "21000001", "url": URL, "etag": 'W/"a"', "last_modified": None}
BOTH = {**KNOWN_BY, "last_modified": "Mon, 05 Oct 2026 07:00:00 GMT"}


@pytest.fixture
def crawler(make_crawler: Callable[..., Crawler]) -> Crawler:
    crawler = make_crawler(ImmowebSpider, RETRY_TIMES=2)
    crawler.spider = ImmowebSpider.from_crawler(crawler)
    crawler.engine = SimpleNamespace(scheduler=None)  # type: ignore[assignment]
    return crawler


def request(url: str = URL, known_by: Any = KNOWN_BY, **how: Any) -> Request:
    return Request(url, meta={"stage": "extract", "validators": known_by}, **how)


def sent(asked: Request) -> dict[str, bytes]:
    ConditionalMiddleware().process_request(asked)
    return {
        name: value for name in ("If-None-Match", "If-Modified-Since") if (value := asked.headers.get(name)) is not None
    }


def answered(crawler: Crawler, asked: Request, status: int = 304) -> Request | Response:
    """As the answer goes through both."""
    response = Response(asked.url, status=status, request=asked)
    response = ConditionalMiddleware().process_response(asked, response)
    return BackoffMiddleware.from_crawler(crawler).process_response(asked, response)


def test_what_the_page_is_known_by_is_sent() -> None:
    assert sent(request()) == {"If-None-Match": b'W/"a"'}
    told = {"If-None-Match": b'W/"a"', "If-Modified-Since": b"Mon, 05 Oct 2026 07:00:00 GMT"}
    assert sent(request(known_by=BOTH)) == told


def test_also_by_another_worker(crawler: Crawler) -> None:
    assert crawler.spider is not None
    assert sent(decode(encode(request(known_by=BOTH), crawler.spider), crawler.spider)) == sent(request(known_by=BOTH))


@pytest.mark.parametrize(
    "asked",
    [
        request(known_by=None),
        request("https://www.immoweb.be/en/search/house/for-sale"),
        request(method="POST"),
        request(known_by={"url": URL, "etag": None, "last_modified": None}),
        request(known_by=None, headers={"If-None-Match": '"a seed\'s own"'}),
    ],
    ids=["nothing known", "another address", "no GET", "nothing to ask with", "not ours"],
)
def test_else_nothing_is_sent(asked: Request) -> None:
    assert sent(asked) == {}


def test_after_a_redirect_it_is_not_sent_on() -> None:
    asked = request()
    sent(asked)
    assert sent(asked.replace(url="https://www.immoweb.be/en/search/house/for-sale")) == {}


def test_robots_txt_is_not_ours() -> None:
    asked = Request("https://www.immoweb.be/robots.txt", headers={"If-None-Match": '"r"'})
    assert sent(asked) == {"If-None-Match": b'"r"'}


def test_the_answer_to_it_goes_on_to_the_spider(crawler: Crawler) -> None:
    asked = request()
    response = answered(crawler, asked)
    assert isinstance(response, Response)
    assert "unchanged" in response.flags
    HttpErrorMiddleware.from_crawler(crawler).process_spider_input(response)


@pytest.mark.parametrize("asked", [request(known_by=None), request("https://www.immoweb.be/x")])
def test_a_304_that_nobody_asked_for_is_trouble(crawler: Crawler, asked: Request) -> None:
    again = answered(crawler, asked)
    assert isinstance(again, Request)
    again.meta["retry_times"] = 2
    response = answered(crawler, again)
    assert isinstance(response, Response)
    with pytest.raises(HttpError):
        HttpErrorMiddleware.from_crawler(crawler).process_spider_input(response)


def test_other_answers_are_what_they_are(crawler: Crawler) -> None:
    for status in (200, 404):
        response = answered(crawler, request(), status)
        assert isinstance(response, Response)
        assert response.flags == []
        assert "handle_httpstatus_list" not in response.meta
