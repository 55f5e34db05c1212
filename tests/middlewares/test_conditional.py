"""Which requests are conditional, and which 304 responses are accepted."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError, HttpErrorMiddleware

from realestate.middlewares.conditional import ConditionalMiddleware
from realestate.middlewares.retry import RetryMiddleware
from realestate.queue.codec import decode, encode
from realestate.spiders.immoweb import ImmowebSpider

URL = "https://www.immoweb.be/en/classified/21000001"
VALIDATORS = {"ref": "21000001", "url": URL, "etag": 'W/"a"', "last_modified": None}
BOTH = {**VALIDATORS, "last_modified": "Mon, 05 Oct 2026 07:00:00 GMT"}


@pytest.fixture
def crawler(make_crawler: Callable[..., Crawler]) -> Crawler:
    crawler = make_crawler(ImmowebSpider, RETRY_TIMES=2)
    crawler.spider = ImmowebSpider.from_crawler(crawler)
    crawler.engine = SimpleNamespace(scheduler=None)  # type: ignore[assignment]
    return crawler


def request(url: str = URL, validators: Any = VALIDATORS, **how: Any) -> Request:
    return Request(url, meta={"stage": "extract", "validators": validators}, **how)


def sent(request_sent: Request) -> dict[str, bytes]:
    ConditionalMiddleware().process_request(request_sent)
    return {
        name: value
        for name in ("If-None-Match", "If-Modified-Since")
        if (value := request_sent.headers.get(name)) is not None
    }


def response_for(crawler: Crawler, request_sent: Request, status: int = 304) -> Request | Response:
    """The response after both middlewares."""
    response = Response(request_sent.url, status=status, request=request_sent)
    response = ConditionalMiddleware().process_response(request_sent, response)
    return RetryMiddleware.from_crawler(crawler).process_response(request_sent, response)


def test_the_validators_of_the_page_are_sent() -> None:
    assert sent(request()) == {"If-None-Match": b'W/"a"'}
    expected = {"If-None-Match": b'W/"a"', "If-Modified-Since": b"Mon, 05 Oct 2026 07:00:00 GMT"}
    assert sent(request(validators=BOTH)) == expected


def test_another_worker_sends_them_too(crawler: Crawler) -> None:
    assert crawler.spider is not None
    assert sent(decode(encode(request(validators=BOTH), crawler.spider), crawler.spider)) == sent(
        request(validators=BOTH)
    )


@pytest.mark.parametrize(
    "request_sent",
    [
        request(validators=None),
        request("https://www.immoweb.be/en/search/house/for-sale"),
        request(method="POST"),
        request(validators={"url": URL, "etag": None, "last_modified": None}),
        request(validators=None, headers={"If-None-Match": '"a seed\'s own"'}),
    ],
    ids=["nothing known", "another URL", "POST", "empty validators", "a header of the seed"],
)
def test_no_validators_are_sent_in_other_cases(request_sent: Request) -> None:
    assert sent(request_sent) == {}


def test_after_a_redirect_no_validators_are_sent() -> None:
    request_sent = request()
    sent(request_sent)
    assert sent(request_sent.replace(url="https://www.immoweb.be/en/search/house/for-sale")) == {}


def test_the_headers_of_robots_txt_are_not_changed() -> None:
    request_sent = Request("https://www.immoweb.be/robots.txt", headers={"If-None-Match": '"r"'})
    assert sent(request_sent) == {"If-None-Match": b'"r"'}


def test_a_304_that_was_requested_reaches_the_spider(crawler: Crawler) -> None:
    request_sent = request()
    response = response_for(crawler, request_sent)
    assert isinstance(response, Response)
    assert "unchanged" in response.flags
    HttpErrorMiddleware.from_crawler(crawler).process_spider_input(response)


@pytest.mark.parametrize("request_sent", [request(validators=None), request("https://www.immoweb.be/x")])
def test_a_304_that_was_not_requested_is_retried(crawler: Crawler, request_sent: Request) -> None:
    again = response_for(crawler, request_sent)
    assert isinstance(again, Request)
    again.meta["retry_times"] = 2
    response = response_for(crawler, again)
    assert isinstance(response, Response)
    with pytest.raises(HttpError):
        HttpErrorMiddleware.from_crawler(crawler).process_spider_input(response)


def test_other_statuses_are_not_changed(crawler: Crawler) -> None:
    for status in (200, 404):
        response = response_for(crawler, request(), status)
        assert isinstance(response, Response)
        assert response.flags == []
        assert "handle_httpstatus_list" not in response.meta
