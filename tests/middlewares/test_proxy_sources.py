"""Proxy sources: good proxies get into the pool, errors are logged once, credentials are never shown."""

import asyncio
import logging
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector

from realestate.middlewares.proxies import Proxy, ProxyPool, parse_proxy
from realestate.middlewares.proxy_sources import (
    ProxySource,
    ProxySources,
    SourceRefused,
    SourceUnavailable,
    sources_from_settings,
)
from realestate.middlewares.proxy_sources.fetch import FetchFailed, fetch
from realestate.middlewares.proxy_sources.free_proxy_page import FreeProxyPage, find_proxies
from realestate.middlewares.proxy_sources.lists import CHECKS_WITHOUT_LINE_END, ProxyFile, ProxyList
from realestate.middlewares.proxy_sources.provider import Provider, ProviderAccount
from tests.middlewares.forward_proxy import ForwardProxy

GEO = "http://geo.example/where.json"


class Stats(StatsCollector):
    """Counts, without a crawler."""

    def __init__(self) -> None:
        self._stats = {}
        self._dump = False


@pytest.fixture
def stats() -> Stats:
    return Stats()


def addresses(proxies: Sequence[Proxy]) -> list[str | None]:
    return [proxy.address for proxy in proxies]


# ----- the glue


class FakeSource:
    """A source that gives each of its results once."""

    seconds = 0.0

    def __init__(self, name: str, *result: Sequence[Proxy] | Exception) -> None:
        self.name = name
        self.result = list(result)
        self.is_closed = False

    async def proxies(self) -> Sequence[Proxy]:
        if not self.result:
            await asyncio.Event().wait()
        result = self.result.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    async def close(self) -> None:
        self.is_closed = True
        raise OSError("http://me:s3cr3t@h:1")


async def refreshed(sources: ProxySources) -> list[list[str]]:
    """Runs until all results are given; returns the proxy ids at each change."""
    seen: list[list[str]] = []
    sources.changed = lambda: seen.append(sorted(ref.id for ref in sources.pool.refs()))
    running = asyncio.create_task(sources.run())
    await sources.ready()
    for _ in range(50):
        await asyncio.sleep(0)
    running.cancel()
    await sources.close()
    return seen


def test_the_pool_contains_the_proxies_of_all_sources(stats: Stats) -> None:
    one, two, three = (parse_proxy(f"h:{port}") for port in (1, 2, 3))
    first, second = FakeSource("first", [one], [one, two], [two]), FakeSource("second", [three])
    seen = asyncio.run(refreshed(ProxySources(ProxyPool(), [first, second], stats=stats)))
    assert seen[-1] == sorted([two.id, three.id])
    assert len(seen) == len({tuple(each) for each in seen})
    assert first.is_closed
    assert second.is_closed
    assert (stats.get_value("proxy/source/first/count"), stats.get_value("proxy/source/second/count")) == (1, 1)


def test_an_unavailable_source_keeps_its_proxies_and_a_refused_one_does_not(
    stats: Stats, caplog: pytest.LogCaptureFixture
) -> None:
    one = parse_proxy("h:1")
    failing = FakeSource(
        "a", [one], SourceUnavailable("no response"), SourceUnavailable("no response"), OSError("me:s3cr3t@h")
    )
    seen = asyncio.run(refreshed(ProxySources(ProxyPool(), [failing], stats=stats)))
    assert seen == [[one.id]]
    assert caplog.messages.count("proxy/source_unavailable: source=a: no response") == 1
    assert stats.get_value("proxy/source/a/unavailable") == 3
    refused = FakeSource("b", [one], SourceRefused("it lies"), SourceRefused("it lies"))
    assert asyncio.run(refreshed(ProxySources(ProxyPool(), [refused], stats=stats))) == [[one.id], []]
    errors = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert errors == ["proxy/source_unavailable: source=a: OSError", "proxy/source_refused: source=b: it lies"]
    assert "s3cr3t" not in caplog.text


def test_no_proxy_at_all_is_logged_as_an_error(stats: Stats, caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(
        refreshed(
            ProxySources(ProxyPool(), [FakeSource("a", SourceUnavailable("x")), FakeSource("b", [])], stats=stats)
        )
    )
    assert any(message.startswith("proxy/none: ") for message in caplog.messages)
    assert stats.get_value("proxy/none") == 1


def test_ready_does_not_wait_for_a_slow_source(stats: Stats, caplog: pytest.LogCaptureFixture) -> None:
    one = parse_proxy("h:1")
    assert asyncio.run(
        refreshed(ProxySources(ProxyPool(), [FakeSource("slow"), FakeSource("a", [one])], stats=stats))
    ) == [[one.id]]
    assert "proxy/none" not in caplog.text


def test_without_sources_ready_returns_at_once(stats: Stats) -> None:
    assert asyncio.run(refreshed(ProxySources(ProxyPool(), [], stats=stats))) == []


# ----- lists


def test_a_changed_file_is_read_again_when_it_is_complete(tmp_path: Path, stats: Stats) -> None:
    path = tmp_path / "proxies.txt"
    path.write_text("# ours\nh:1\n\n  h:2 tier=residential\r\n")
    source = ProxyFile(path, stats)

    def look() -> list[str | None]:
        return addresses(asyncio.run(source.proxies()))

    assert look() == ["http://h:1", "http://h:2"]
    path.write_text("h:3\nh:4\n")
    assert look() == ["http://h:1", "http://h:2"], "somebody may still be writing"
    path.write_text("h:3\nh:4\nh:5\n")
    assert look() == ["http://h:1", "http://h:2"], "somebody was"
    assert look() == ["http://h:3", "http://h:4", "http://h:5"]


def test_an_incomplete_last_line_is_not_read(tmp_path: Path, stats: Stats) -> None:
    path = tmp_path / "proxies.txt"
    path.write_text("h:1\n")
    source = ProxyFile(path, stats)

    def look() -> list[str | None]:
        return addresses(asyncio.run(source.proxies()))

    assert look() == ["http://h:1"]
    path.write_text("h:2\nh:80")  # …80
    assert {tuple(look()) for _ in range(CHECKS_WITHOUT_LINE_END)} == {("http://h:1",)}
    assert look() == ["http://h:2", "http://h:80"], "nobody writes this long: the last line has no end"


@pytest.mark.parametrize("content", [b"", b"\n# nothing\n", b"\xff\xfe\x00\n", b"no proxy\n"])
def test_a_file_without_a_proxy_changes_nothing(tmp_path: Path, stats: Stats, content: bytes) -> None:
    path = tmp_path / "proxies.txt"
    path.write_text("h:1\n")
    source = ProxyFile(path, stats)
    asyncio.run(source.proxies())
    path.write_bytes(content)
    for _ in range(CHECKS_WITHOUT_LINE_END + 2):
        assert addresses(asyncio.run(source.proxies())) == ["http://h:1"]


def test_a_missing_file_is_unavailable_until_it_exists(tmp_path: Path, stats: Stats) -> None:
    source = ProxyFile(tmp_path / "proxies.txt", stats)
    with pytest.raises(SourceUnavailable, match=r"^PROXIES_FILE: No such file"):
        asyncio.run(source.proxies())
    (tmp_path / "proxies.txt").write_text("h:1")
    assert addresses(asyncio.run(source.proxies())) == ["http://h:1"]


def test_bad_lines_are_counted_and_logged_once_without_credentials(
    tmp_path: Path, stats: Stats, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "proxies.txt"
    path.write_text("h:1\nhttp://me:s3cr3t@host\nsocks5://me:s3cr3t@h:1\n")
    source = ProxyFile(path, stats)
    for _ in range(3):
        asyncio.run(source.proxies())
    assert caplog.messages == ["proxy/file: bad_lines=2: the first is line 2: host and port are missing or not valid"]
    assert stats.get_value("proxy/source/file/bad_lines") == 2


# ----- a provider


def account(proxy: ForwardProxy, **changes: object) -> ProviderAccount:
    values = {"customer": "hl_1", "zone": "homes", "password": "s3cr3t", "address": f"http://{proxy.place}"}
    return ProviderAccount(**{**values, "country": "BE", "sessions": 3, **changes})  # type: ignore[arg-type]


async def proxies_of(proxy: ForwardProxy, geo: str = GEO, **changes: object) -> Sequence[Proxy]:
    async with proxy.listening():
        return await Provider(account(proxy, **changes), geo).proxies()


def test_a_provider_in_the_right_country_gives_one_proxy_per_session() -> None:
    proxy = ForwardProxy(login=("brd-customer-hl_1-zone-homes-country-be-session-", "s3cr3t"))
    found = asyncio.run(proxies_of(proxy))
    assert [each.user for each in found] == [
        f"brd-customer-hl_1-zone-homes-country-be-session-{session}" for session in (1, 2, 3)
    ]
    assert len({each.id for each in found}) == 3
    assert {each.tier for each in found} == {"residential"}
    assert proxy.urls == [GEO]


def test_a_provider_is_verified_once() -> None:
    async def twice(proxy: ForwardProxy) -> None:
        async with proxy.listening():
            provider = Provider(account(proxy), GEO)
            assert await provider.proxies() == await provider.proxies()

    proxy = ForwardProxy()
    asyncio.run(twice(proxy))
    assert proxy.urls == [GEO]


def test_any_country_is_accepted_if_configured() -> None:
    proxy = ForwardProxy(body=lambda url: b'{"country": "NZ"}')
    assert asyncio.run(proxies_of(proxy, country="any"))[0].user == "brd-customer-hl_1-zone-homes-session-1"


@pytest.mark.parametrize(
    ("proxy", "why"),
    [
        (ForwardProxy(body=lambda url: b'{"country": "US"}'), "is in US, not in BE"),
        (ForwardProxy(login=("somebody", "else")), "does not work: status 407"),
        (ForwardProxy(status=502), "does not work: status 502"),
        (ForwardProxy(body=lambda url: b"<html>hello"), "does not work: the response is not JSON with a country"),
        (
            ForwardProxy(body=lambda url: b'{"country": "me:s3cr3t\\n"}'),
            "does not work: the response contains no country",
        ),
        (ForwardProxy(body=lambda url: b'{"country": null}'), "does not work: the response is not JSON with a country"),
        (ForwardProxy(body=lambda url: b" " * 200_000), "does not work: more than 100000 bytes"),
        (ForwardProxy(body=lambda url: None), "does not work: ServerDisconnectedError"),
    ],
)
def test_a_provider_that_fails_the_check_is_refused_in_one_line(proxy: ForwardProxy, why: str) -> None:
    with pytest.raises(SourceRefused) as caught:
        asyncio.run(proxies_of(proxy))
    assert str(caught.value) == f"http://{proxy.place} {why}"


def test_an_unreachable_provider_is_refused_without_its_credentials(
    stats: Stats, caplog: pytest.LogCaptureFixture
) -> None:
    gone = ForwardProxy()
    gone.port = 1
    provider = Provider(account(gone), GEO)
    provider.seconds = 0.0

    async def run() -> None:
        sources = ProxySources(ProxyPool(), [provider], stats=stats)
        running = asyncio.create_task(sources.run())
        await sources.ready()
        while stats.get_value("proxy/source/provider/refused") < 3:
            await asyncio.sleep(0.01)
        running.cancel()

    asyncio.run(run())
    assert [m for m in caplog.messages if "refused" in m] == [
        "proxy/source_refused: source=provider: http://127.0.0.1:1 does not work: ClientProxyConnectionError"
    ]
    assert all(secret not in caplog.text + repr(provider.account) for secret in ("s3cr3t", "hl_1", "homes"))


# ----- its own authority


def authority(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Signs for geo.example: its certificate, and what a proxy shows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "geo.example")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("geo.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    ca, both = folder / "ca.pem", folder / "both.pem"
    ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    both.write_bytes(ca.read_bytes() + key.private_bytes(pem, form, serialization.NoEncryption()))
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(both)
    return ca, shown


def test_the_ca_of_a_proxy_is_trusted_only_if_configured(tmp_path: Path) -> None:
    ca, shown = authority(tmp_path)
    proxy = ForwardProxy(certificate=shown)
    secure = "https://geo.example/where.json"

    async def through(options: str) -> bytes:
        async with proxy.listening():
            return await fetch(secure, through=parse_proxy(f"{proxy.place} {options}"))

    assert asyncio.run(through(f"ca={ca}")) == b'{"country": "BE"}'
    assert asyncio.run(through("verify=no")) == b'{"country": "BE"}'
    with pytest.raises(FetchFailed, match="Certificate"):
        asyncio.run(through(""))
    (tmp_path / "none.pem").write_text("no authority")
    with pytest.raises(FetchFailed, match="SSLError"):
        asyncio.run(through(f"ca={tmp_path / 'none.pem'}"))
    proxy.login = ("somebody", "else")
    with pytest.raises(FetchFailed, match=r"^the proxy responded with status 407$"):
        asyncio.run(through("verify=no"))
    assert proxy.urls == [secure] * 2


# ----- a page of free proxies

PAGE = """
<tr><td>8.8.4.4</td><td>3128</td><td>US</td></tr> <tr><td>8.8.8.8</td> <td class="x">80</td></tr>
http://9.9.9.9:8080 socks5://9.9.9.8:1080 proxy.example.org:3128, 8.8.4.4:3128
me:pw@1.1.1.1:80 version 1.2.3.4.5:80 1.1.1.1:99999 1.1.1.1:1234567 [127.0.0.1:9050] localhost:22 time 12:30
"""


def test_proxies_are_found_in_a_text_or_a_table() -> None:
    assert find_proxies(PAGE) == [
        ("8.8.4.4", 3128),
        ("8.8.8.8", 80),
        ("9.9.9.9", 8080),
        ("proxy.example.org", 3128),
        ("127.0.0.1", 9050),
        ("localhost", 22),
    ]


@pytest.mark.parametrize("noise", ["1.", "a-", "1.1.1.1</td>", "http://", "<td", "a.b:x ", ":80 ", "</td><td "])
def test_a_hostile_page_gives_nothing(noise: str) -> None:
    """It also takes little time: each part of the page is searched only a few times."""
    assert find_proxies(noise * (1_000_000 // len(noise))) == []


async def listed(
    stats: Stats, proxies: Sequence[ForwardProxy], *, rounds: int = 1, **how: object
) -> list[Sequence[Proxy]]:
    """The proxies of a page that lists these, fetched this many times."""
    found: list[Sequence[Proxy]] = []
    page = ForwardProxy()
    async with asyncio.TaskGroup() as group:
        ready, over = asyncio.Semaphore(0), asyncio.Event()

        async def serve(proxy: ForwardProxy) -> None:
            async with proxy.listening():
                ready.release()
                await over.wait()

        for proxy in (page, *proxies):
            group.create_task(serve(proxy))
        for _ in (page, *proxies):
            await ready.acquire()
        page.body = lambda url: "\n".join(proxy.place for proxy in proxies).encode()
        source = FreeProxyPage(f"http://{page.place}/list.txt", GEO, stats, **{"allow_private": True, **how})  # type: ignore[arg-type]
        try:
            for _ in range(rounds):
                found.append(await source.proxies())
        finally:
            over.set()
    return found


def test_only_working_proxies_are_used(stats: Stats) -> None:
    good, lying, dead = ForwardProxy(), ForwardProxy(body=lambda url: b"<html>buy"), ForwardProxy(body=lambda url: None)
    (found,) = asyncio.run(listed(stats, [dead, lying, good]))
    assert addresses(found) == [f"http://{good.place}"]
    assert stats.get_value("proxy/source/page/failed_test") == 2


def test_a_proxy_that_stops_working_is_removed(stats: Stats) -> None:
    result = iter([b'{"country": "BE"}'])
    fading, good = ForwardProxy(body=lambda url: next(result, None)), ForwardProxy()
    before, after = asyncio.run(listed(stats, [fading, good], rounds=2))
    assert addresses(before) == [f"http://{each.place}" for each in (fading, good)]
    assert addresses(after) == [f"http://{good.place}"]


def test_the_number_of_proxies_is_limited(stats: Stats) -> None:
    (found,) = asyncio.run(listed(stats, [ForwardProxy() for _ in range(5)], max_proxies=2))
    assert len(found) == 2


def test_a_page_cannot_lead_to_private_addresses(stats: Stats, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by the proxies that it lists, nor by its own address."""
    inside = ForwardProxy()
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(listed(stats, [inside], allow_private=False))
    assert caught.group_contains(SourceUnavailable, match=r"PROXY_LIST_URL: ClientConnectorError")

    async def given(url: str, **how: object) -> bytes:
        return f"{inside.place} localhost:{inside.port} 169.254.169.254:80".encode()

    monkeypatch.setattr("realestate.middlewares.proxy_sources.free_proxy_page.fetch", given)
    with pytest.raises(SourceUnavailable, match="none of 3 proxies works"):
        asyncio.run(FreeProxyPage("http://list.example", GEO, stats).proxies())
    assert stats.get_value("proxy/source/page/refused_addresses") == 3
    assert inside.urls == []


# ----- what is configured


def test_the_configured_sources_are_used(stats: Stats, tmp_path: Path) -> None:
    settings = Settings()
    settings.setmodule("realestate.settings")

    def names(**changes: object) -> list[str]:
        changed = settings.copy()
        changed.update(changes)
        found: list[ProxySource] = sources_from_settings(
            changed, portal="p", site="https://p.example", country="BE", worker="w", stats=stats
        )
        return [each.name for each in found]

    assert names() == []
    assert names(PROXIES="h:1,h:2") == ["list"]
    assert names(PROXIES=("h:1",), PROXIES_FILE=tmp_path / "x") == ["list", "file"]
    provider = {"PROXY_PROVIDER_CUSTOMER": "c", "PROXY_PROVIDER_ZONE": "z", "PROXY_PROVIDER_PASSWORD": "p"}
    assert names(**provider, PROXY_LIST_URL="https://l.example/x") == ["provider", "page"]
    assert names(PROXY_AWS_REGIONS="eu-central-1, eu-west-1") == ["aws"]


def test_a_list_does_not_change() -> None:
    assert asyncio.run(ProxyList([parse_proxy("h:1")]).proxies()) == [parse_proxy("h:1")]
