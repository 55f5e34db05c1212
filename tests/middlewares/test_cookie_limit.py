"""A site that sets more and more cookies."""

from collections.abc import Callable

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.http import Response

from realestate import settings
from realestate.middlewares.cookie_limit import MOST_CHARACTERS, MOST_COOKIES, CookieLimitMiddleware
from realestate.spiders.immoweb import ImmowebSpider

URL = "http://127.0.0.1/"
JAR = {"cookiejar": "identity"}


class Site:
    """Sends responses through both middlewares, in their order."""

    def __init__(self, crawler: Crawler, monkeypatch: pytest.MonkeyPatch) -> None:
        assert crawler.stats is not None
        self.stats = crawler.stats
        self.cookies = CookiesMiddleware.from_crawler(crawler)
        monkeypatch.setattr(crawler, "get_downloader_middleware", lambda kind: self.cookies)
        self.limit = CookieLimitMiddleware.from_crawler(crawler)

    def sets(self, *cookies: str) -> None:
        request = Request(URL, meta=JAR)
        response = Response(URL, headers={"Set-Cookie": list(cookies)} if cookies else None, request=request)
        self.cookies.process_response(request, response)
        assert self.limit.process_response(request, response) is response

    def gets(self) -> bytes:
        """The cookies of the next request."""
        request = Request(URL, meta=JAR)
        self.cookies.process_request(request)
        return request.headers.get("Cookie") or b""


@pytest.fixture
def site(make_crawler: Callable[..., Crawler], monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(make_crawler(ImmowebSpider), monkeypatch)


def test_the_cookies_of_an_ordinary_site_are_kept(site: Site) -> None:
    for number in range(20):
        site.sets(f"session={number}", "language=fr")
        site.sets()
    assert site.gets() == b"session=19; language=fr"
    assert site.stats.get_value("cookies/too_many") is None


@pytest.mark.parametrize("value", ["x", "x" * 4_000], ids=["many", "long"])
def test_a_site_that_sets_new_cookies_with_each_page_sees_a_new_visitor_from_time_to_time(
    site: Site, value: str
) -> None:
    for page in range(30):
        site.sets(*(f"c{page}_{number}={value}" for number in range(10)))
        assert site.gets().count(b"=") <= MOST_COOKIES
        assert len(site.gets()) <= 2 * MOST_CHARACTERS
    assert site.stats.get_value("cookies/too_many") >= 1


def test_the_limit_sees_a_response_after_its_cookies_were_kept() -> None:
    path = f"{CookieLimitMiddleware.__module__}.{CookieLimitMiddleware.__qualname__}"
    order = settings.DOWNLOADER_MIDDLEWARES[path]
    assert order is not None
    assert order < 700, "Scrapy's number of its CookiesMiddleware"
