"""Downloads through proxies: of each kind, with credentials, and with their own certificate authorities."""

import ssl
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import trustme
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.exceptions import DownloadConnectionRefusedError, DownloadFailedError, DownloadTimeoutError
from scrapy.http import Response

from realestate.middlewares.proxies import Proxy, parse_proxy
from realestate.middlewares.proxy_middleware import ProxyMiddleware
from realestate.queue.feedback import TRUSTED_CA, remove_identity
from realestate.queue.refetch import PROXY_ID
from realestate.spiders.immoweb import ImmowebSpider
from tests.middlewares.forward_proxy import ForwardProxy
from tests.middlewares.raw_server import RawServer, page, responding, silence

LOGIN = ("me", "s3cr@t:é")
SITES = ("http://www.immoweb.be/en", "https://www.immoweb.be/en")


class Authority(NamedTuple):
    """An unknown certificate authority, and a certificate that it signed."""

    file: Path
    shown: ssl.SSLContext


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    ca = trustme.CA()
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("www.immoweb.be", "127.0.0.1").configure_cert(shown)
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    return Authority(tmp_path / "ca.pem", shown)


def through(proxy: Proxy, url: str) -> Request:
    """The request as ProxyMiddleware sends it through the proxy."""
    middleware = ProxyMiddleware.__new__(ProxyMiddleware)
    request = Request(url, headers={"User-Agent": "Mozilla/5.0"})
    middleware._send_through(request, proxy, 0)
    return request


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("kind", ["http", "https"])
@pytest.mark.parametrize("in_header", [False, True], ids=["in the URL", "in a header"])
def test_with_credentials(run: Any, handling: Any, authority: Authority, site: str, kind: str, in_header: bool) -> None:
    """Scrapy's own middleware moves them into a header."""
    proxy = ForwardProxy(
        login=LOGIN,
        certificate=authority.shown,
        own_certificate=authority.shown if kind == "https" else None,
        body=lambda url: b"x",
    )

    async def work() -> list[Response]:
        async with proxy.listening(), handling() as handler:
            login = "me:s3cr%40t%3A%C3%A9"
            request = through(parse_proxy(f"{kind}://{login}@{proxy.place} ca={authority.file}"), site)
            if in_header:
                HttpProxyMiddleware(auth_encoding="utf-8").process_request(request)
                assert "s3cr" not in request.meta["proxy"]
            return [await handler.download_request(request) for _ in range(2)]

    responses = run(work())
    assert [(each.status, each.body, each.url, each.ip_address) for each in responses] == [(200, b"x", site, None)] * 2
    assert proxy.urls == [site] * 2
    site_heads = [head for head in proxy.heads if "proxy-authorization" not in head]
    assert len(site_heads) == (2 if site.startswith("https") else 0), "the site gets no credentials"
    assert {head["user-agent"] for head in proxy.heads} == {"Mozilla/5.0"}


@pytest.mark.parametrize("site", SITES)
def test_with_wrong_credentials(run: Any, handling: Any, site: str) -> None:
    async def work() -> str | int:
        async with ForwardProxy(login=LOGIN).listening() as proxy, handling() as handler:
            try:
                response = await handler.download_request(through(parse_proxy(f"me:s3cret@{proxy.place}"), site))
            except DownloadFailedError as error:
                return str(error)
            return int(response.status)

    found = run(work())
    assert found == 407 if site == SITES[0] else "407" in found
    assert "s3cret" not in str(found)


def test_an_untrusted_certificate_gets_no_request(run: Any, handling: Any, authority: Authority) -> None:
    async def work(options: str, **settings: Any) -> list[str]:
        async with ForwardProxy(certificate=authority.shown).listening() as proxy, handling(**settings) as handler:
            try:
                await handler.download_request(through(parse_proxy(f"me:s3cret@{proxy.place} {options}"), SITES[1]))
            except DownloadFailedError as error:
                return [*proxy.urls, f"{error}, {error.__cause__!r}"]
            return proxy.urls

    (found,) = run(work(""))
    assert found.startswith("TLS certificate is not valid")
    assert "s3cret" not in found
    assert run(work("verify=no")) == [SITES[1]]
    assert run(work(f"ca={authority.file}")) == [SITES[1]]
    assert run(work("", DOWNLOAD_VERIFY_CERTIFICATES=False)) == [SITES[1]]


def test_a_connection_without_verification_is_not_reused_with_it(run: Any, handling: Any, authority: Authority) -> None:
    async def work() -> None:
        async with ForwardProxy(certificate=authority.shown).listening() as proxy, handling() as handler:
            await handler.download_request(through(parse_proxy(f"{proxy.place} verify=no"), SITES[1]))
            with pytest.raises(DownloadFailedError):
                await handler.download_request(through(parse_proxy(proxy.place), SITES[1]))

    run(work())


def test_a_bad_certificate_of_the_site(run: Any, handling: Any, authority: Authority) -> None:
    async def work() -> int:
        server = RawServer(responding(page()), certificate=authority.shown)
        async with server.listening(), handling(ALLOW_PRIVATE_ADDRESSES=True) as handler:
            with pytest.raises(DownloadFailedError, match="certificate"):
                await handler.download_request(Request(server.url))
            response = await handler.download_request(Request(server.url, meta={TRUSTED_CA: str(authority.file)}))
            return int(response.status)

    assert run(work()) == 200


@pytest.mark.parametrize("site", SITES)
def test_a_silent_proxy_times_out(run: Any, handling: Any, site: str) -> None:
    async def work() -> None:
        limits = {"DOWNLOAD_CONNECT_TIMEOUT": 0.3, "DOWNLOAD_STALL_TIMEOUT": 0.3, "DOWNLOAD_TIMEOUT": 3600}
        async with RawServer(silence).listening() as server, handling(**limits) as handler:
            with pytest.raises(DownloadTimeoutError):
                await handler.download_request(through(parse_proxy(f"me:s3cret@127.0.0.1:{server.port}"), site))

    run(work())


@pytest.mark.parametrize("site", SITES)
def test_the_error_of_a_dead_proxy_differs_from_a_dead_sites(run: Any, handling: Any, site: str) -> None:
    async def work() -> str:
        async with ForwardProxy().listening() as gone:
            place = gone.place
        async with handling() as handler:
            with pytest.raises(DownloadConnectionRefusedError) as raised:
                await handler.download_request(through(parse_proxy(f"me:s3cret@{place}"), site))
            return f"{raised.value}"

    found = run(work())
    assert found.startswith("connection to the proxy failed")
    assert "s3cret" not in found


def test_the_trusted_ca_belongs_to_one_proxy(make_crawler: Callable[..., Crawler], tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("")
    proxies = [parse_proxy(f"h:1 ca={ca}"), parse_proxy("h:2 verify=no"), parse_proxy("h:3")]
    crawler = make_crawler(ImmowebSpider, PROXIES=["h:1"])
    crawler.engine = SimpleNamespace(scheduler=None)  # type: ignore[assignment]
    middleware = ProxyMiddleware.from_crawler(crawler)
    middleware.pool.replace(proxies)
    request, found = Request(SITES[1]), []
    for proxy in proxies:
        request.meta[PROXY_ID] = proxy.id
        middleware.process_request(request)
        found.append(request.meta.get(TRUSTED_CA))
    assert found == [str(ca), False, None]
    remove_identity(request)
    assert TRUSTED_CA not in request.meta
