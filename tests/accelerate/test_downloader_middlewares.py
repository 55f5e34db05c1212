"""The same cookies, redirects and requests as with Scrapy's own middlewares."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import cookies, redirect
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from realestate.accelerate.downloader_middlewares import CookiesMiddleware, RedirectMiddleware
from realestate.queue.plain_urls import request_to
from realestate.spiders.immoweb import ImmowebSpider

URL = "https://www.immoweb.be/en/classified/21000001"


@pytest.fixture(scope="module")
def crawler() -> Crawler:
    crawler = get_crawler(ImmowebSpider, {"COOKIES_DEBUG": False})
    crawler.spider = ImmowebSpider.from_crawler(crawler)
    return crawler


ASKED = st.fixed_dictionaries(
    {
        "cookies": st.sampled_from(({}, {"asked": "1"}, [{"name": "asked", "value": "2", "path": "/en"}])),
        "header": st.sampled_from(("", "own=1", "own=1; other=2")),
        "meta": st.sampled_from(({}, {"cookiejar": "a"}, {"dont_merge_cookies": True})),
        "given": st.lists(
            st.sampled_from(("sent=1; Path=/", "sent=2; Domain=.immoweb.be", "gone=1; Max-Age=0", "bad"))
        ),
        "path": st.sampled_from(("", "/1")),
    }
)


@given(st.lists(ASKED, max_size=6))
def test_cookies_are_sent_and_stored_as_by_scrapy(crawler: Crawler, asked: list[dict[str, Any]]) -> None:
    results = []
    for kind in (CookiesMiddleware, cookies.CookiesMiddleware):
        middleware = kind.from_crawler(crawler)
        sent = []
        for each in asked:
            headers = {"Cookie": each["header"]} if each["header"] else {}
            request = Request(URL + each["path"], cookies=each["cookies"], headers=headers, meta=dict(each["meta"]))
            assert middleware.process_request(request) is None
            sent.append(dict(request.headers))
            response = Response(request.url, headers={"Set-Cookie": each["given"]} if each["given"] else None)
            assert middleware.process_response(request, response) is response
        jars = {key: sorted(map(str, jar)) for key, jar in middleware.jars.items() if len(jar)}
        results.append((sent, jars))
    assert results[0] == results[1]


@pytest.mark.parametrize("meta", [{}, {"dont_redirect": True}, {"handle_httpstatus_list": [302]}])
@pytest.mark.parametrize("location", ["", "/2", "//other.example/2", "ftp://x"])
def test_redirects_are_followed_as_by_scrapy(crawler: Crawler, location: str, meta: dict[str, Any]) -> None:
    for status in (200, 201, 300, 301, 302, 303, 304, 307, 308, 399, 404, 500):
        results = []
        for kind in (RedirectMiddleware, redirect.RedirectMiddleware):
            middleware = kind.from_crawler(crawler)
            request = Request(URL, meta=dict(meta))
            response = Response(URL, status, {"Location": location} if location else None, request=request)
            made = middleware.process_response(request, response)
            results.append("the page" if made is response else (made.url, made.meta))
        assert results[0] == results[1], status


@pytest.mark.parametrize(
    "url", [URL, f"{URL}?q=ä b", "http://user:pw@x.example/", "https://x.example/ä/", "https://x.example", "data:,x"]
)
@pytest.mark.parametrize("arguments", [{}, {"meta": {"a": 1}}, {"meta": {"verbatim_url": True}}, {"priority": 3}])
def test_a_request_is_the_same_as_with_scrapy(url: str, arguments: dict[str, Any]) -> None:
    ours, scrapys = request_to(url, **arguments), Request(url, **arguments)
    assert ours.to_dict() == scrapys.to_dict()


def test_the_given_meta_is_not_changed(make_crawler: Callable[..., Crawler]) -> None:
    meta = {"a": 1}
    request = request_to(URL, meta=meta)
    request.meta["b"] = 2
    assert meta == {"a": 1}
