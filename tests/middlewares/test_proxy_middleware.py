"""A request is sent through its proxy, and nothing of the proxy goes back to the queue."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware

from realestate.middlewares.proxies import DIRECT, BadProxy, Proxy, ProxyPool, parse_proxy
from realestate.middlewares.proxy_middleware import ProxyMiddleware
from realestate.queue.codec import encode
from realestate.queue.feedback import remove_identity
from realestate.queue.refetch import PROXY_ID
from realestate.spiders.immoweb import ImmowebSpider

SECRET = "s3cr@t"
PROXY = "http://me:s3cr%40t@127.0.0.2:8080"
URL = "https://www.immoweb.be/en/classified/21000001"


@pytest.fixture
def middleware(make_crawler: Callable[..., Crawler]) -> ProxyMiddleware:
    crawler = make_crawler(ImmowebSpider, PROXIES=[PROXY], IDENTITY="sticky")
    crawler.engine = SimpleNamespace(scheduler=None)  # type: ignore[assignment]
    middleware = ProxyMiddleware.from_crawler(crawler)
    middleware.pool.replace([parse_proxy(PROXY)])
    return middleware


@pytest.mark.parametrize(
    ("text", "address", "user", "password"),
    [
        ("http://127.0.0.2:80", "http://127.0.0.2:80", "", ""),
        ("10.0.0.1:3128", "http://10.0.0.1:3128", "", ""),
        (PROXY, "http://127.0.0.2:8080", "me", SECRET),
        ("https://a:b@proxy.example:443", "https://proxy.example:443", "a", "b"),
        ("http://[::1]:8080", "http://[::1]:8080", "", ""),
    ],
)
def test_a_proxy_is_parsed(text: str, address: str, user: str, password: str) -> None:
    proxy = parse_proxy(text)
    assert (proxy.address, proxy.user, proxy.password) == (address, user, password)


@pytest.mark.parametrize(
    "text", ["socks5://a:s3cret@h:1", "http://a:s3cret@h", "http://a:s3cret@h:x", "ftp://h:1", "http://:80", ""]
)
def test_the_error_of_a_bad_proxy_contains_no_password(text: str) -> None:
    with pytest.raises(BadProxy) as error:
        parse_proxy(text)
    assert "s3cret" not in str(error.value)


def test_repr_and_id_contain_no_password() -> None:
    proxy = parse_proxy(PROXY)
    assert SECRET not in repr(proxy)
    assert "me" not in proxy.id
    assert proxy.id != parse_proxy("http://127.0.0.2:8080").id, "another account is another proxy"
    assert (DIRECT.url, DIRECT.ref.tier) == (None, 0)
    assert Proxy("http://h:1", tier="residential").ref.tier == 2
    assert ProxyPool([proxy]).get("other") is None


def identity_headers(middleware: ProxyMiddleware, request: Request) -> dict[str, str]:
    middleware.process_request(request)
    return {name.decode(): values[0].decode() for name, values in request.headers.items()}


def test_a_proxy_keeps_its_identity_until_its_session_changes(middleware: ProxyMiddleware) -> None:
    name = middleware.pool.refs()[0].id
    request = Request(URL, meta={PROXY_ID: name, "stage": "extract"})
    first = identity_headers(middleware, request)
    assert request.meta["proxy"] == PROXY
    assert first["Accept-Language"].startswith("nl-BE")
    again = identity_headers(middleware, Request(URL, meta={PROXY_ID: name}))
    assert again == first
    middleware._sessions = {name: 1}
    assert identity_headers(middleware, Request(URL, meta={PROXY_ID: name})) != first


def test_a_request_that_is_sent_again_gets_a_new_identity(middleware: ProxyMiddleware) -> None:
    name = middleware.pool.refs()[0].id
    request = Request(URL, headers={"X-Own": "1"}, meta={PROXY_ID: name})
    identity_headers(middleware, request)
    for session in range(1, 6):
        middleware._sessions = {name: session}
        found = identity_headers(middleware, request)
        assert found == identity_headers(middleware, Request(URL, headers={"X-Own": "1"}, meta={PROXY_ID: name}))


def test_headers_of_the_portal_are_kept(middleware: ProxyMiddleware) -> None:
    request = Request(URL, headers={"Accept": "application/json"}, meta={PROXY_ID: middleware.pool.refs()[0].id})
    assert identity_headers(middleware, request)["Accept"] == "application/json"
    remove_identity(request)
    assert list(request.headers.items()) == [(b"Accept", [b"application/json"])]


def test_robots_txt_does_not_show_our_own_address(middleware: ProxyMiddleware) -> None:
    request = Request("https://www.immoweb.be/robots.txt")
    middleware.process_request(request)
    assert request.meta["proxy"] == PROXY


def test_nothing_of_a_proxy_reaches_the_queue(middleware: ProxyMiddleware) -> None:
    request = Request(URL, meta={PROXY_ID: middleware.pool.refs()[0].id, "stage": "extract"}, callback=None)
    middleware.process_request(request)
    HttpProxyMiddleware().process_request(request)
    assert b"Proxy-Authorization" in request.headers
    kept: Any = request.copy()
    remove_identity(kept)
    packed = encode(kept, ImmowebSpider())
    for secret in (b"Proxy-Authorization", b"s3cr", b"127.0.0.2", b"Mozilla"):
        assert secret not in packed


@pytest.mark.parametrize("identity", ["named", "sticky"])
def test_default_request_headers_of_the_user_are_sent_and_not_stored(
    make_crawler: Callable[..., Crawler], identity: str
) -> None:
    wanted = {"Accept-Language": "fr", "X-Client": "me", "Accept": None}
    crawler = make_crawler(ImmowebSpider, DEFAULT_REQUEST_HEADERS=wanted, IDENTITY=identity)
    middleware = ProxyMiddleware.from_crawler(crawler)
    request = Request(URL, headers={"X-Own": "portal"})
    headers = identity_headers(middleware, request)
    assert (headers["Accept-Language"], headers["X-Client"], headers["X-Own"]) == ("fr", "me", "portal")
    assert "html" in headers["Accept"], "a header that is None is left to the identity"
    remove_identity(request)
    assert list(request.headers) == [b"X-Own"], "another worker may have other settings"


def test_the_default_headers_of_scrapy_itself_are_not_sent(make_crawler: Callable[..., Crawler]) -> None:
    headers = identity_headers(ProxyMiddleware.from_crawler(make_crawler(ImmowebSpider)), Request(URL))
    assert headers["Accept-Language"] != "en"


def test_the_user_agent_of_a_spider_is_sent(make_crawler: Callable[..., Crawler]) -> None:
    crawler = make_crawler(type("Named", (ImmowebSpider,), {"user_agent": "mine/1"}))
    assert identity_headers(ProxyMiddleware.from_crawler(crawler), Request(URL))["User-Agent"] == "mine/1"
