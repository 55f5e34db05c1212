"""Through a proxy: of the kind it is, with the credentials it wants, trusting whom it was said to be trusted."""

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

from realestate.middlewares.exits import ExitsMiddleware
from realestate.middlewares.handler import TRUSTED
from realestate.middlewares.proxies import Proxy, parse
from realestate.queue.feedback import remove_identity
from realestate.queue.refetch import PROXY_ID
from realestate.spiders.immoweb import ImmowebSpider
from tests.middlewares.forward_proxy import ForwardProxy
from tests.middlewares.raw_server import RawServer, page, saying, silence

LOGIN = ("me", "s3cr@t:é")
SITES = ("http://www.immoweb.be/en", "https://www.immoweb.be/en")


class Authority(NamedTuple):
    """Somebody of whom nobody has heard, and what it signed."""

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
    """As ExitsMiddleware sends it."""
    middleware = ExitsMiddleware.__new__(ExitsMiddleware)
    request = Request(url, headers={"User-Agent": "Mozilla/5.0"})
    middleware._leave_by(request, proxy, 0)
    return request


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("kind", ["http", "https"])
@pytest.mark.parametrize("is_parted", [False, True], ids=["in the address", "apart"])
def test_with_its_credentials(
    run: Any, handling: Any, authority: Authority, site: str, kind: str, is_parted: bool
) -> None:
    """Also where Scrapy's own middleware has put them into a header."""
    proxy = ForwardProxy(
        needs=LOGIN,
        certificate=authority.shown,
        own=authority.shown if kind == "https" else None,
        body=lambda url: b"x",
    )

    async def work() -> list[Response]:
        async with proxy.listening(), handling() as handler:
            login = "me:s3cr%40t%3A%C3%A9"
            request = through(parse(f"{kind}://{login}@{proxy.place} ca={authority.file}"), site)
            if is_parted:
                HttpProxyMiddleware(auth_encoding="utf-8").process_request(request)
                assert "s3cr" not in request.meta["proxy"]
            return [await handler.download_request(request) for _ in range(2)]

    responses = run(work())
    assert [(each.status, each.body, each.url, each.ip_address) for each in responses] == [(200, b"x", site, None)] * 2
    assert proxy.asked == [site] * 2
    told_site = [head for head in proxy.heads if "proxy-authorization" not in head]
    assert len(told_site) == (2 if site.startswith("https") else 0), "the site hears nothing of the proxy"
    assert {head["user-agent"] for head in proxy.heads} == {"Mozilla/5.0"}


@pytest.mark.parametrize("site", SITES)
def test_without_its_credentials(run: Any, handling: Any, site: str) -> None:
    async def work() -> str | int:
        async with ForwardProxy(needs=LOGIN).listening() as proxy, handling() as handler:
            try:
                response = await handler.download_request(through(parse(f"me:s3cret@{proxy.place}"), site))
            except DownloadFailedError as error:
                return str(error)
            return int(response.status)

    told = run(work())
    assert told == 407 if site == SITES[0] else "407" in told
    assert "s3cret" not in str(told)


def test_who_is_not_trusted_is_not_told_anything(run: Any, handling: Any, authority: Authority) -> None:
    async def work(options: str, **settings: Any) -> list[str]:
        async with ForwardProxy(certificate=authority.shown).listening() as proxy, handling(**settings) as handler:
            try:
                await handler.download_request(through(parse(f"me:s3cret@{proxy.place} {options}"), SITES[1]))
            except DownloadFailedError as error:
                return [*proxy.asked, f"{error}, {error.__cause__!r}"]
            return proxy.asked

    (told,) = run(work(""))
    assert told.startswith("its certificate is not believed")
    assert "s3cret" not in told
    assert run(work("verify=no")) == [SITES[1]]
    assert run(work(f"ca={authority.file}")) == [SITES[1]]
    assert run(work("", DOWNLOAD_VERIFY_CERTIFICATES=False)) == [SITES[1]]


def test_a_site_is_not_trusted_for_a_proxys_sake(run: Any, handling: Any, authority: Authority) -> None:
    """A connection made without looking is not used by who looks."""

    async def work() -> None:
        async with ForwardProxy(certificate=authority.shown).listening() as proxy, handling() as handler:
            await handler.download_request(through(parse(f"{proxy.place} verify=no"), SITES[1]))
            with pytest.raises(DownloadFailedError):
                await handler.download_request(through(parse(proxy.place), SITES[1]))

    run(work())


def test_a_sites_own_bad_certificate(run: Any, handling: Any, authority: Authority) -> None:
    async def work() -> int:
        server = RawServer(saying(page()), certificate=authority.shown)
        async with server.listening(), handling(ALLOW_PRIVATE_ADDRESSES=True) as handler:
            with pytest.raises(DownloadFailedError, match="certificate"):
                await handler.download_request(Request(server.url))
            response = await handler.download_request(Request(server.url, meta={TRUSTED: str(authority.file)}))
            return int(response.status)

    assert run(work()) == 200


@pytest.mark.parametrize("site", SITES)
def test_a_silent_proxy_does_not_hold_a_slot(run: Any, handling: Any, site: str) -> None:
    async def work() -> None:
        limits = {"DOWNLOAD_CONNECT_TIMEOUT": 0.3, "DOWNLOAD_STALL_TIMEOUT": 0.3, "DOWNLOAD_TIMEOUT": 3600}
        async with RawServer(silence).listening() as server, handling(**limits) as handler:
            with pytest.raises(DownloadTimeoutError):
                await handler.download_request(through(parse(f"me:s3cret@127.0.0.1:{server.port}"), site))

    run(work())


@pytest.mark.parametrize("site", SITES)
def test_a_dead_proxy_is_told_from_a_dead_site(run: Any, handling: Any, site: str) -> None:
    async def work() -> str:
        async with ForwardProxy().listening() as gone:
            place = gone.place
        async with handling() as handler:
            with pytest.raises(DownloadConnectionRefusedError) as raised:
                await handler.download_request(through(parse(f"me:s3cret@{place}"), site))
            return f"{raised.value}"

    told = run(work())
    assert told.startswith("the proxy cannot be reached")
    assert "s3cret" not in told


def test_whom_an_exit_trusts_stays_with_it(make_crawler: Callable[..., Crawler], tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("")
    proxies = [parse(f"h:1 ca={ca}"), parse("h:2 verify=no"), parse("h:3")]
    crawler = make_crawler(ImmowebSpider, PROXIES=["h:1"])
    crawler.engine = SimpleNamespace(scheduler=None)  # type: ignore[assignment]
    middleware = ExitsMiddleware.from_crawler(crawler)
    middleware.pool.replace(proxies)
    request, told = Request(SITES[1]), []
    for proxy in proxies:
        request.meta[PROXY_ID] = proxy.id
        middleware.process_request(request)
        told.append(request.meta.get(TRUSTED))
    assert told == [str(ca), False, None]
    remove_identity(request)
    assert TRUSTED not in request.meta
