"""A request leaves by the exit it was granted, and carries nothing of it back to the queue."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware

from realestate.middlewares.exits import ExitsMiddleware
from realestate.middlewares.proxies import DIRECT, BadProxy, Pool, Proxy, parse
from realestate.queue.codec import encode
from realestate.queue.feedback import remove_identity
from realestate.queue.refetch import PROXY_ID
from realestate.spiders.immoweb import ImmowebSpider

SECRET = "s3cr@t"
PROXY = "http://me:s3cr%40t@127.0.0.2:8080"
URL = "https://www.immoweb.be/en/classified/21000001"


@pytest.fixture
def middleware(make_crawler: Callable[..., Crawler]) -> ExitsMiddleware:
    crawler = make_crawler(ImmowebSpider, PROXIES=[PROXY], IDENTITY="sticky")
    crawler.engine = SimpleNamespace(scheduler=None)  # type: ignore[assignment]
    middleware = ExitsMiddleware.from_crawler(crawler)
    middleware.pool.replace([parse(PROXY)])
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
def test_a_proxy_is_read(text: str, address: str, user: str, password: str) -> None:
    proxy = parse(text)
    assert (proxy.address, proxy.user, proxy.password) == (address, user, password)


@pytest.mark.parametrize(
    "text", ["socks5://a:s3cret@h:1", "http://a:s3cret@h", "http://a:s3cret@h:x", "ftp://h:1", "http://:80", ""]
)
def test_what_is_no_proxy_of_ours_is_told_without_its_password(text: str) -> None:
    with pytest.raises(BadProxy) as error:
        parse(text)
    assert "s3cret" not in str(error.value)


def test_a_proxy_tells_nobody_its_password() -> None:
    proxy = parse(PROXY)
    assert SECRET not in repr(proxy)
    assert "me" not in proxy.id
    assert proxy.id != parse("http://127.0.0.2:8080").id, "another account is another exit"
    assert (DIRECT.url, DIRECT.exit.tier) == (None, 0)
    assert Proxy("http://h:1", tier="residential").exit.tier == 2
    assert Pool([proxy]).get("other") is None


def worn(middleware: ExitsMiddleware, request: Request) -> dict[str, str]:
    middleware.process_request(request)
    return {name.decode(): values[0].decode() for name, values in request.headers.items()}


def test_the_exit_and_the_identity_belong_together(middleware: ExitsMiddleware) -> None:
    name = middleware.pool.exits()[0].id
    request = Request(URL, meta={PROXY_ID: name, "stage": "extract"})
    first = worn(middleware, request)
    assert request.meta["proxy"] == PROXY
    assert first["Accept-Language"].startswith("nl-BE")
    again = worn(middleware, Request(URL, meta={PROXY_ID: name}))
    assert again == first
    middleware._sessions = {name: 1}
    assert worn(middleware, Request(URL, meta={PROXY_ID: name})) != first


def test_a_request_that_goes_out_again_is_dressed_anew(middleware: ExitsMiddleware) -> None:
    name = middleware.pool.exits()[0].id
    request = Request(URL, headers={"X-Own": "1"}, meta={PROXY_ID: name})
    worn(middleware, request)
    for session in range(1, 6):
        middleware._sessions = {name: session}
        told = worn(middleware, request)
        assert told == worn(middleware, Request(URL, headers={"X-Own": "1"}, meta={PROXY_ID: name}))


def test_what_the_portal_asks_for_counts(middleware: ExitsMiddleware) -> None:
    request = Request(URL, headers={"Accept": "application/json"}, meta={PROXY_ID: middleware.pool.exits()[0].id})
    assert worn(middleware, request)["Accept"] == "application/json"
    remove_identity(request)
    assert list(request.headers.items()) == [(b"Accept", [b"application/json"])]


def test_robots_txt_does_not_show_our_own_address(middleware: ExitsMiddleware) -> None:
    request = Request("https://www.immoweb.be/robots.txt")
    middleware.process_request(request)
    assert request.meta["proxy"] == PROXY


def test_nothing_of_an_exit_reaches_the_queue(middleware: ExitsMiddleware) -> None:
    request = Request(URL, meta={PROXY_ID: middleware.pool.exits()[0].id, "stage": "extract"}, callback=None)
    middleware.process_request(request)
    HttpProxyMiddleware().process_request(request)
    assert b"Proxy-Authorization" in request.headers
    kept: Any = request.copy()
    remove_identity(kept)
    packed = encode(kept, ImmowebSpider())
    for secret in (b"Proxy-Authorization", b"s3cr", b"127.0.0.2", b"Mozilla"):
        assert secret not in packed
