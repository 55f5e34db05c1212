"""The simulator's proxies: their addresses, what they refuse, and the faults of bad ones."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientProxyConnectionError, ClientSession

from realestate.simulator import PROFILES, Adversity, Simulator, World, proxies, running
from realestate.simulator.proxies import Proxy, kinds

BROWSER = {"User-Agent": "us/1 (+mailto:us@example.org)", "Accept": "text/html", "Accept-Language": "en"}

Check = Callable[[Simulator], Awaitable[None]]


def through(check: Check, *, profile: str | None = None, count: int = 3, password: str | None = None) -> None:
    async def go() -> None:
        adversity = Adversity(profile=profile, proxies=count, proxy_password=password)
        async with running(World(2, 60), adversity=adversity) as simulator:
            await check(simulator)

    asyncio.run(go())


async def get(proxy: str, url: str) -> tuple[int, bytes]:
    async with ClientSession() as session, session.get(url, proxy=proxy, headers=BROWSER) as response:
        return response.status, await response.read()


def page(simulator: Simulator) -> tuple[str, bytes]:
    site = simulator.sites["emlak"]
    path = site.path(simulator.world.listed("emlak")[0])
    return site.base + path, site.response(path).body


def of_kind(simulator: Simulator, kind: str) -> list[Proxy]:
    return [proxy for proxy in simulator.proxies if proxy.kind == kind]


@asynccontextmanager
async def connected(proxy: Proxy) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
    try:
        yield reader, writer
    finally:
        writer.close()


async def said(proxy: Proxy, request: bytes) -> bytes:
    async with connected(proxy) as (reader, writer):
        writer.write(request)
        return await reader.read()


def test_each_proxy_has_its_own_address_and_returns_the_page() -> None:
    async def check(simulator: Simulator) -> None:
        url, body = page(simulator)
        for proxy in simulator.proxies:
            assert await get(proxy.url, url) == (200, body)
        seen = simulator.stats["emlak"].as_record()["by_client"]
        assert seen == {"127.0.0.2": 1, "127.0.0.3": 1, "127.0.0.4": 1}
        assert [proxy.requests for proxy in simulator.proxies] == [1, 1, 1]
        assert list(simulator.addresses)[-3:] == ["proxy1", "proxy2", "proxy3"]

    through(check)


def test_headers_between_client_and_proxy_are_removed() -> None:
    seen: list[Any] = []

    async def check(simulator: Simulator) -> None:
        adversary = simulator.adversaries["emlak"]
        treat = adversary.treat
        adversary.treat = lambda visit, *rest: (seen.append(dict(visit.headers)), treat(visit, *rest))[1]  # type: ignore
        url, _ = page(simulator)
        request = f"GET {url} HTTP/1.1\r\nHost: x\r\nProxy-Connection: keep-alive\r\nX-Own: 1\r\n\r\n"
        assert (await said(simulator.proxies[0], request.encode())).startswith(b"HTTP/1.1 200 ")
        assert seen == [{"Host": "x", "X-Own": "1", "Connection": "close"}]

    through(check, profile="gentle")


def test_a_post_arrives_with_its_content() -> None:
    async def check(simulator: Simulator) -> None:
        url = simulator.bases["control"] + "/_weather/emlak"
        async with (
            ClientSession() as session,
            session.post(url, proxy=simulator.proxies[0].url, json={"kind": "down"}) as response,
        ):
            assert (await response.json())["emlak"] == "down"

    through(check)


def test_a_tunnel_carries_any_bytes() -> None:
    async def check(simulator: Simulator) -> None:
        url, body = page(simulator)
        authority, path = url.removeprefix("http://").split("/", 1)
        async with connected(simulator.proxies[1]) as (reader, writer):
            writer.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            for _ in range(2):
                writer.write(f"GET /{path} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
                await reader.readuntil(b"\r\n\r\n")
                assert await reader.readexactly(len(body)) == body
        assert simulator.stats["emlak"].as_record()["by_client"] == {"127.0.0.3": 2}

    through(check)


def test_a_request_without_a_password_gets_407() -> None:
    async def check(simulator: Simulator) -> None:
        proxy, (url, body) = simulator.proxies[0], page(simulator)
        assert await get(proxy.url, url) == (200, body)
        bare = proxy.as_record()["url"]
        assert (await get(bare, url))[0] == 407
        assert (await get(bare.replace("//", "//simulator:wrong@"), url))[0] == 407
        connect = await said(proxy, b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nProxy-Authorization: Basic ///\r\n\r\n")
        assert connect.startswith(b"HTTP/1.1 407 ")
        assert b"Proxy-Authenticate: Basic" in connect
        assert (proxy.requests, proxy.unauthorized) == (1, 3)
        async with ClientSession() as session, session.get(simulator.bases["control"] + "/_adversary") as response:
            text = await response.text()
        assert "s3cret" not in text
        assert json.loads(text)["proxies"][0]["unauthorized"] == 3

    through(check, password="s3cret: @/")


HOSTILE = [
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET https://127.0.0.1/ HTTP/1.1\r\n\r\n", 400),
    (b"nonsense\r\n\r\n", 400),
    (b"GET http://127.0.0.1:99999999/ HTTP/1.1\r\n\r\n", 400),
    (b"GET http://[::1/ HTTP/1.1\r\n\r\n", 400),
    (b"GET http://x.test/ HTTP/1.1\r\nno colon\r\n\r\n", 400),
    (b"POST http://127.0.0.1:1/ HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 502),
    (b"GET http://198.51.100.7/ HTTP/1.1\r\n\r\n", 502),
    (b"CONNECT 198.51.100.7:443 HTTP/1.1\r\n\r\n", 502),
    (b"CONNECT \xff\xfe HTTP/1.1\r\n\r\n", 502),
    (b"GET http://x.test/ HTTP/1.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n", 0),
]


@pytest.mark.parametrize(("request_", "status"), HOSTILE, ids=range(len(HOSTILE)))
def test_invalid_requests_and_other_hosts_are_refused(request_: bytes, status: int) -> None:
    async def check(simulator: Simulator) -> None:
        if status:
            assert int((await said(simulator.proxies[0], request_)).split(b" ", 2)[1]) == status
        else:
            with pytest.raises(ConnectionError):
                await said(simulator.proxies[0], request_)
        url, body = page(simulator)
        assert await get(simulator.proxies[0].url, url) == (200, body)

    through(check, count=1)


@pytest.mark.parametrize(
    ("profile", "bad"),
    [
        (None, {}),
        ("gentle", {}),
        ("normal", {}),
        ("strict", {"dead": 1}),
        ("hostile", {"dead": 2, "slow": 1, "lying": 1}),
    ],
)
def test_the_profile_sets_how_many_proxies_are_bad_and_the_seed_which(profile: str | None, bad: dict[str, int]) -> None:
    chosen = [kinds(8, PROFILES[profile] if profile else None, seed) for seed in range(20)]
    assert all(Counter(each) == {"fine": 8 - sum(bad.values()), **bad} for each in chosen)
    assert kinds(8, PROFILES[profile] if profile else None, 3) == chosen[3]
    assert len(set(map(tuple, chosen))) > 1 or not bad
    assert kinds(0, PROFILES["hostile"], 3) == []


def test_one_dead_proxy_refuses_and_the_other_never_responds() -> None:
    async def check(simulator: Simulator) -> None:
        deaf, mute = of_kind(simulator, "dead")
        url, _ = page(simulator)
        with pytest.raises(ClientProxyConnectionError):
            await get(deaf.url, url)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(get(mute.url, url), 0.5)
        assert simulator.stats["emlak"].requests == 0

    through(check, profile="hostile", count=8)


def test_the_slow_proxy_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(simulator: Simulator) -> None:
        (slow,) = of_kind(simulator, "slow")
        monkeypatch.setattr(proxies, "SLOW_SECONDS", 60.0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(get(slow.url, page(simulator)[0]), 0.3)
        monkeypatch.setattr(proxies, "SLOW_SECONDS", 0.01)
        assert (await get(slow.url, simulator.bases["emlak"] + "/robots.txt"))[0] == 200

    through(check, profile="hostile", count=8)


def test_the_lying_proxy_adds_headers_changes_pages_or_returns_its_own() -> None:
    async def check(simulator: Simulator) -> None:
        (liar,) = of_kind(simulator, "lying")
        robots = simulator.bases["emlak"] + "/robots.txt"
        adversary = simulator.adversaries["emlak"]
        adversary._fault = lambda visit: (None, adversary._dice())  # type: ignore[method-assign]
        seen: Counter[str] = Counter()
        url, body = page(simulator)
        for _ in range(30):
            adversary._limits.clear()  # this test checks only the lies
            _, came = await get(liar.url, url)
            kind = "replace" if b"brought to you by nobody" in came else "inject" if b"premium proxies" in came else "?"
            seen[kind] += 1
            if kind == "replace":
                assert len(came) < len(body) / 10
        assert liar.lies.total() == 30
        assert seen["replace"] == liar.lies["replace"] > 0
        assert seen["inject"] == liar.lies["inject"] > 0
        assert adversary.as_record()["refusals"] == {"proxy": liar.lies["talk"]}
        assert (await get(liar.url, robots))[0] == 200

    through(check, profile="hostile", count=8)


def test_a_lying_proxy_cannot_change_a_tunnel() -> None:
    async def check(simulator: Simulator) -> None:
        (liar,) = of_kind(simulator, "lying")
        authority = simulator.bases["control"].removeprefix("http://")
        for _ in range(5):
            async with connected(liar) as (reader, writer):
                writer.write(f"CONNECT {authority} HTTP/1.1\r\n\r\n".encode())
                assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        assert liar.lies == {}

    through(check, profile="hostile", count=8)


def test_faults_pass_through_a_proxy_unchanged() -> None:
    async def check(simulator: Simulator) -> None:
        adversary, url = simulator.adversaries["emlak"], page(simulator)[0]
        request = f"GET {url} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        adversary._fault = lambda visit: ("reset", adversary._dice())  # type: ignore[method-assign]
        with pytest.raises(ConnectionResetError):
            await said(simulator.proxies[0], request)
        adversary._fault = lambda visit: ("truncated", adversary._dice())  # type: ignore[method-assign]
        head, _, body = (await said(simulator.proxies[0], request)).partition(b"\r\n\r\n")
        assert f"Content-Length: {2 * len(body)}"[:-1].encode() in head

    through(check, profile="gentle")


def test_a_proxy_stops_although_a_client_still_waits() -> None:
    async def go() -> None:
        adversity = Adversity(profile="hostile", proxies=8)
        async with AsyncExitStack() as stack, running(World(2, 20), adversity=adversity) as simulator:
            authority = simulator.bases["emlak"].removeprefix("http://")
            for proxy in (of_kind(simulator, "dead")[1], of_kind(simulator, "fine")[0]):
                _, writer = await stack.enter_async_context(connected(proxy))
                writer.write(f"CONNECT {authority} HTTP/1.1\r\n\r\n".encode())
            await asyncio.sleep(0.1)
            assert [proxy.requests for proxy in of_kind(simulator, "dead")] == [0, 1], "one proxy never responds"

    asyncio.run(asyncio.wait_for(go(), 20))
