"""The adversary on real sockets: visitors from several addresses, and faults as they come over the wire."""

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from aiohttp import ClientSession

from realestate.simulator import PORTALS, PROFILES, Adversity, Simulator, World, running
from realestate.simulator.adversary import sending
from realestate.simulator.adversary.adversary import Manner, Treatment

BROWSER = {"User-Agent": "us/1 (+mailto:us@example.org)", "Accept": "text/html", "Accept-Language": "en"}

Check = Callable[[Simulator], Awaitable[None]]


def meet(profile: str | None, check: Check, *, listings: int = 60, seed: int = 2) -> None:
    async def go() -> None:
        async with running(World(seed, listings), adversity=Adversity(profile=profile)) as simulator:
            simulator.clock = lambda: 100.0
            await check(simulator)

    asyncio.run(go())


class Came(NamedTuple):
    """The received bytes, and how the connection ended."""

    status: int = 0
    headers: dict[str, str] = {}  # noqa: RUF012
    body: bytes = b""
    was_reset: bool = False


async def ask(url: str, address: str = "127.0.0.1", method: str = "GET", **headers: str) -> Came:
    """Send one request without a client library, which might retry by itself."""
    authority, _, path = url.removeprefix("http://").partition("/")
    host, port = authority.split(":")
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=(address, 0))
    lines = [f"{name}: {value}" for name, value in {"Host": authority, "Connection": "close", **headers}.items()]
    writer.write("\r\n".join((f"{method} /{path} HTTP/1.1", *lines, "", "")).encode())
    received = b""
    try:
        while piece := await reader.read(65536):
            received += piece
    except ConnectionResetError:
        return Came(was_reset=True)
    finally:
        writer.close()
    head, _, body = received.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return Came(int(first.split(" ")[1]), dict(line.split(": ", 1) for line in rest), body)


async def statuses(url: str, times: int, address: str, **headers: str) -> list[int]:
    """The statuses of requests sent one after the other without delay; 0 if there is no response."""
    return [(await ask(url, address, **{**BROWSER, **headers})).status for _ in range(times)]


async def control(simulator: Simulator, path: str) -> Any:
    async with ClientSession() as session, session.get(simulator.bases["control"] + path) as response:
        return json.loads(await response.read())


def page(simulator: Simulator, portal: str = "emlak") -> str:
    site = simulator.sites[portal]
    return site.base + site.path(simulator.world.listed(portal)[0])


@pytest.mark.parametrize(("profile", "excess"), [("gentle", 429), ("normal", 429), ("strict", 429), ("hostile", 403)])
def test_each_address_has_a_limit_of_its_own(profile: str, excess: int) -> None:
    window = round(PROFILES[profile].rate * max(3, 3 / PROFILES[profile].rate))

    async def check(simulator: Simulator) -> None:
        for address in ("127.0.0.2", "127.0.0.3"):
            seen = await statuses(page(simulator), window + 5, address)
            refused = [status for status in seen if status in (403, 429)]
            assert not {403, 429} & set(seen[:window])
            assert refused == [excess] * 5
        stats = await control(simulator, "/_stats")
        clients = stats["emlak"]["clients"]
        assert set(clients) == {"127.0.0.2", "127.0.0.3"}
        assert all((each["requests"], each["refused"]) == (window + 5, 5) for each in clients.values())
        assert stats["immoweb"]["clients"] == {}

    meet(profile, check)


def test_a_refusal_says_when_to_return_and_then_requests_are_accepted() -> None:
    async def check(simulator: Simulator) -> None:
        url = page(simulator)
        await statuses(url, 60, "127.0.0.4")
        refused = await ask(url, "127.0.0.4")
        assert (refused.status, refused.headers["Retry-After"]) == (429, "2")
        simulator.clock = lambda: 101.5
        refused = await ask(url, "127.0.0.4")
        assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
        simulator.clock = lambda: 102.0
        assert await statuses(url, 1, "127.0.0.4") == [200]

    meet("gentle", check)


def test_a_ban_is_a_403_until_it_is_over() -> None:
    async def check(simulator: Simulator) -> None:
        seen = []
        for now in (100.0, 129.9, 130.0):
            simulator.clock = lambda now=now: now  # type: ignore[misc]
            seen.append((await statuses(page(simulator), 5 if now == 100 else 1, "127.0.0.5"))[-1])
        assert seen[:2] == [403, 403]
        assert seen[2] != 403

    meet("hostile", check)


def test_robots_txt_is_never_refused_or_faulted_or_counted() -> None:
    async def check(simulator: Simulator) -> None:
        for name in PORTALS:
            url = simulator.bases[name] + "/robots.txt"
            for _ in range(100):
                came = await ask(url, "127.0.0.2", Via="1.1 x")
                assert (came.status, b"Disallow" in came.body) == (200, True)
        seen = await control(simulator, "/_adversary")
        assert [seen["portals"][name]["requests"] for name in PORTALS] == [0] * len(PORTALS)
        assert (await control(simulator, "/_stats"))["emlak"]["requests"] == 100

    meet("hostile", check)


@pytest.mark.parametrize(("profile", "status"), [("gentle", 200), ("normal", 200), ("strict", 403), ("hostile", 403)])
def test_only_strict_profiles_check_headers(profile: str, status: int) -> None:
    async def check(simulator: Simulator) -> None:
        url = page(simulator, "immoweb")
        assert await statuses(url, 1, "127.0.0.2", **{"User-Agent": "python-requests/2"}) == [status]
        assert await statuses(url, 1, "127.0.0.3", Via="1.1 an exit") == [status]
        assert await statuses(url, 1, "127.0.0.4", **{"Sec-CH-UA-Mobile": "?1"}) == [status]
        reasons = (await control(simulator, "/_adversary"))["portals"]["immoweb"]["refusals"]
        assert reasons == ({"agent": 1, "proxy": 1, "headers": 1} if status == 403 else {})

    meet(profile, check)


def test_without_an_adversary_no_request_is_refused() -> None:
    async def check(simulator: Simulator) -> None:
        seen = await statuses(page(simulator), 100, "127.0.0.2", **{"User-Agent": "curl/8"})
        assert set(seen) == {200}
        assert await control(simulator, "/_adversary") == {"profile": None, "seed": 2, "portals": {}, "proxies": []}
        assert "clients" not in (await control(simulator, "/_stats"))["emlak"]

    meet(None, check)


def test_the_same_seed_gives_the_same_faults_to_the_same_requests() -> None:
    async def seen() -> list[int]:
        async with running(World(9, 40), adversity=Adversity(profile="normal")) as simulator:
            simulator.clock = lambda: 100.0
            site, found = simulator.sites["emlak"], []
            for address in range(2, 22):
                for advert in simulator.world.listed("emlak")[:15]:
                    found += await statuses(site.base + site.path(advert), 1, f"127.0.0.{address}")
            assert simulator.adversaries["emlak"].as_record()["refused"] == 0
            return found

    first, second = asyncio.run(seen()), asyncio.run(seen())
    assert first == second
    assert {200} < set(first)


def in_the_manner(manner: Manner, check: Callable[[str, bytes], Awaitable[None]]) -> None:
    """Get a page from an adversary that has this fault on every page."""

    async def go(simulator: Simulator) -> None:
        adversary = simulator.adversaries["emlak"]
        adversary.treat = lambda visit, response, now: Treatment(response, manner)  # type: ignore[method-assign]
        url = page(simulator)
        await check(url, simulator.sites["emlak"].response(url.removeprefix(simulator.bases["emlak"])).body)

    meet("gentle", go)


def test_a_reset_closes_the_connection_with_an_error() -> None:
    async def check(url: str, body: bytes) -> None:
        assert (await ask(url)).was_reset

    in_the_manner("reset", check)


@pytest.mark.parametrize(
    ("manner", "said", "sent"), [("truncated", 1.0, 0.5), ("too_short", 0.5, 1.0), ("too_long", 2.0, 1.0)]
)
def test_lengths_can_be_wrong_both_ways(
    monkeypatch: pytest.MonkeyPatch, manner: Manner, said: float, sent: float
) -> None:
    monkeypatch.setattr(sending, "INCOMPLETE_SECONDS", 0.01)

    async def check(url: str, body: bytes) -> None:
        came = await ask(url)
        assert (int(came.headers["Content-Length"]), came.was_reset) == (int(said * len(body)), False)
        assert came.body == body[: int(sent * len(body))]

    in_the_manner(manner, check)


def test_a_slow_response_is_complete_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PIECE_SECONDS", 0.001)

    async def check(url: str, body: bytes) -> None:
        came = await ask(url)
        assert (int(came.headers["Content-Length"]), came.body) == (len(body), body)

    in_the_manner("drip", check)


def test_a_client_that_leaves_a_slow_response_causes_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async def check(url: str, body: bytes) -> None:
        reader, writer = await asyncio.open_connection(*url.removeprefix("http://").split("/")[0].split(":"))
        writer.write(f"GET /{url.split('/', 3)[3]} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await reader.read(100)
        writer.transport.abort()
        await asyncio.sleep(sending.PIECE_SECONDS * 3)

    in_the_manner("drip", check)
    assert caplog.records == []


@pytest.mark.parametrize("manner", ["truncated", "drip", "too_long", "too_short"])
def test_a_head_is_sent_as_it_is(manner: Manner) -> None:
    async def check(url: str, body: bytes) -> None:
        came = await ask(url, method="HEAD")
        assert (int(came.headers["Content-Length"]), came.body) == (len(body), b"")

    in_the_manner(manner, check)


def test_every_fault_of_the_hostile_profile_occurs_and_none_breaks_the_simulator(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Many addresses send three requests each, which is allowed at once."""
    monkeypatch.setattr(sending, "PIECE_SECONDS", 0.0)
    monkeypatch.setattr(sending, "INCOMPLETE_SECONDS", 0.0)

    async def check(simulator: Simulator) -> None:
        for number in range(200):
            await statuses(page(simulator), 3, f"127.0.1.{number + 1}")
        seen = (await control(simulator, "/_adversary"))["portals"]["emlak"]
        assert (seen["requests"], seen["refused"]) == (600, 0)
        assert set(seen["faults"]) == {*PROFILES["hostile"].faults, "empty"}
        assert seen["new_layout"] > 0
        by_status = (await control(simulator, "/_stats"))["emlak"]["by_status"]
        assert by_status["0"] == seen["faults"]["reset"]
        assert seen["fault_share"] == pytest.approx(sum(seen["faults"].values()) / 600)

    meet("hostile", check, listings=300)
    assert caplog.records == []


def test_a_decompression_bomb_is_sent_compressed() -> None:
    async def check(simulator: Simulator) -> None:
        adversary = simulator.adversaries["emlak"]
        adversary._fault = lambda visit: ("bomb", adversary._dice())  # type: ignore[method-assign]
        came = await ask(page(simulator))
        assert came.headers["Content-Encoding"] == "gzip"
        assert int(came.headers["Content-Length"]) == len(came.body) < 1_000_000
        assert len(zlib.decompressobj(wbits=31).decompress(came.body, 50_000_000)) == 50_000_000

    meet("gentle", check)
