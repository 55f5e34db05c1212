"""The simulator over HTTP: its ports, what it counts, what it refuses, and how it stops."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import ClientSession, web

from realestate.simulator import PORTALS, Simulator, World, running, serve
from realestate.simulator.server import SHOWN

HOSTILE = (
    "/en/search-results/house/for-sale?page=abc",
    "/en/search-results/house/for-sale?page=-1",
    "/en/search-results/house/for-sale?page=0",
    "/en/search-results/house/for-sale?page=" + "9" * 3000,
    "/en/search-results/house/for-sale?minPrice=x&maxPrice=1e9&postalCodes=%00,,&orderBy=%F0%9F%8F%A0",
    "/en/search-results/house/for-sale?minPrice=9&maxPrice=1",
    "/en/search-results/castle/for-sale",
    "/en/search/house/for-free",
    "/en/classified/",
    "/en/classified/99999999999999999999",
    "/en/classified/%ff%fe/21000001",
    "/en/classified/" + "a/" * 500 + "21000001",
    "/elanlar/?ann_type=7&sort_type=x&page=abc",
    "/elanlar/?page=-1",
    "/elanlar/?page=" + "9" * 3000,
    "/elanlar/?price_min=%D9%A3&price_max=--",
    "/elanlar/?" + "a=1&" * 900,
    "/azerbaijan/nedvizhimost?page=abc&per-page=x",
    "/azerbaijan/nedvizhimost?page=" + "9" * 3000,
    "/baku/ads/id-99999999999999999999",
    "/baku/ads/%ff-id-0",
    "/graphql?operationName=SearchItems&variables=%7B&extensions=[]",
    "/graphql?operationName=SearchItems&extensions=%7B%22persistedQuery%22:1%7D",
    "/items/99999999999999999999",
    "/items/%D9%A3/phones",
    "/uploads/sitemaps/sitemap_items0.xml",
    "/0-.html",
    "/-s0.html",
    "/%zz?%zz",
    "//",
    "/..%2f..%2fetc/passwd",
)


def ask(check: Callable[[Simulator, ClientSession], Awaitable[None]], *, listings: int = 60, seed: int = 2) -> None:
    """Run a check against a simulator on free ports."""

    async def go() -> None:
        async with running(World(seed, listings)) as simulator, ClientSession() as session:
            await check(simulator, session)

    asyncio.run(go())


async def get(session: ClientSession, url: str, **options: Any) -> tuple[int, bytes, dict[str, str]]:
    async with session.get(url, allow_redirects=False, **options) as response:
        return response.status, await response.read(), dict(response.headers)


def test_the_control_names_every_portal() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        _, body, _ = await get(session, simulator.bases["control"] + "/_portals")
        assert json.loads(body) == {name: simulator.bases[name] for name in SHOWN}
        assert len(set(simulator.bases.values())) == 1 + len(SHOWN)

    ask(check)


def test_the_truth_is_one_record_a_line() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        for name in PORTALS:
            _, body, headers = await get(session, f"{simulator.bases['control']}/_truth/{name}")
            rows = [json.loads(line) for line in body.splitlines()]
            assert headers["Content-Type"] == "application/x-ndjson"
            assert rows == list(simulator.sites[name].truths())
            assert len(rows) == 450
            status, page, _ = await get(session, rows[0]["url"])
            assert (status, len(page) > 300) == (200, True)

    ask(check, listings=450)


def test_every_portal_has_robots_and_forbids_the_private_part() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        for name in PORTALS:
            status, body, headers = await get(session, simulator.bases[name] + "/robots.txt")
            assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
            assert b"Disallow: /_private/" in body

    ask(check)


def test_the_stats_count_each_request_once() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        base = simulator.bases["immoweb"]
        advert = simulator.world.listed("immoweb")[0]
        started = int(time.time())
        for path in ("/robots.txt", "/nothing", "/en/search-results/house/for-sale", f"/en/classified/{advert.ref}"):
            await get(session, base + path)
        await get(session, base + simulator.sites["immoweb"].path(advert))
        _, body, _ = await get(session, simulator.bases["control"] + "/_stats")
        stats = json.loads(body)
        seen = stats["immoweb"]
        assert (seen["requests"], seen["by_client"]) == (5, {"127.0.0.1": 5})
        assert seen["by_status"] == {"200": 3, "404": 1, "301": 1}
        assert seen["by_kind"] == {"search": 1, "listing": 2, "robots": 1, "other": 1}
        assert sum(seen["by_second"].values()) == 5
        assert all(started <= int(second) <= time.time() for second in seen["by_second"])
        assert stats["emlak"]["requests"] == 0
        assert stats["refusals"] == dict.fromkeys(SHOWN, 0)

    ask(check)


def test_a_day_passes_on_request_and_every_date_follows_it() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        control = simulator.bases["control"]
        _, body, headers = await get(session, control + "/_day")
        assert json.loads(body) == {"day": 0, "date": "2026-09-01"}
        assert headers["Date"] == "Tue, 01 Sep 2026 09:00:00 GMT"
        for name in PORTALS:
            simulator.world.listed(name)
        async with session.post(control + "/_day/advance") as response:
            summary = await response.json()
        assert (summary["day"], summary["date"]) == (1, "2026-09-02")
        for name in PORTALS:
            assert set(summary["portals"][name]) >= {"listed", "price_changed", "removed", "returned", "edited"}
            _, _, headers = await get(session, simulator.bases[name] + "/robots.txt")
            assert headers["Date"] == "Wed, 02 Sep 2026 09:00:00 GMT"

    ask(check)


def test_the_events_are_one_a_line_and_grow_with_the_days() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        for name in PORTALS:
            url = f"{simulator.bases['control']}/_truth/{name}/events"
            _, body, headers = await get(session, url)
            first = [json.loads(line) for line in body.splitlines()]
            refs = sorted((str(advert.ref) for advert in simulator.world.listed(name)), key=int)
            day = simulator.world.day
            assert headers["Content-Type"] == "application/x-ndjson"
            if day == 0:
                assert first == [{"portal": name, "ref": ref, "day": 0, "type": "listed"} for ref in refs]
            async with session.post(simulator.bases["control"] + "/_day/advance"):
                pass
            _, body, _ = await get(session, url)
            later = [json.loads(line) for line in body.splitlines()]
            assert later[: len(first)] == first
            assert {event["day"] for event in later[len(first) :]} == {day + 1}

    ask(check)


def test_unknown_addresses_are_404() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        for name in PORTALS:
            assert (await get(session, simulator.bases[name] + "/nothing/here"))[0] == 404
        for path in (
            "/",
            "/nothing",
            "/_truth/nowhere",
            "/_truth",
            "/_day/advance",
            "/_day/x/y",
            "/_truth/nowhere/events",
            "/_truth/emlak/x",
        ):
            status, body, _ = await get(session, simulator.bases["control"] + path)
            assert status == 404
            assert "error" in json.loads(body)

    ask(check)


def test_other_methods_are_refused_and_head_has_no_body() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        site = simulator.sites["emlak"]
        url = site.base + site.path(simulator.world.listed("emlak")[0])
        async with session.post(url) as response:
            assert response.status == 405
        async with session.head(url) as response:
            assert (response.status, await response.read()) == (200, b"")

    ask(check)


def test_hostile_requests_never_break_it() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        for name in PORTALS:
            host, port = simulator.bases[name].removeprefix("http://").split(":")
            for target in HOSTILE:
                reader, writer = await asyncio.open_connection(host, int(port))
                writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                status = int((await reader.read()).split(b" ", 2)[1])
                writer.close()
                await writer.wait_closed()
                assert status in (200, 301, 302, 400, 404), target

    ask(check)


def test_a_portal_can_have_a_latency() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        control, page = simulator.bases["control"], simulator.bases["tap"] + "/robots.txt"
        for seconds in (0.5, 0):
            async with session.post(f"{control}/_latency/tap", json={"seconds": seconds}) as response:
                assert (await response.json())["tap"] == seconds
            begun = time.monotonic()
            await get(session, page)
            assert time.monotonic() - begun >= seconds
        hostile: tuple[Any, ...] = ({"seconds": -1}, {"seconds": 1e9}, {"second": 1}, {"seconds": "1"}, [])
        for wrong in hostile:
            async with session.post(f"{control}/_latency/tap", json=wrong) as response:
                assert response.status == 400
        assert simulator.latency == dict.fromkeys(PORTALS, 0)

    ask(check)


def test_an_empty_world_can_be_served() -> None:
    async def check(simulator: Simulator, session: ClientSession) -> None:
        paths = {"immoweb": "/en/search-results/house/for-sale", "emlak": "/elanlar/", "bina": "/items/all"}
        paths["tap"] = "/elanlar/dasinmaz-emlak/menziller"
        for name, path in paths.items():
            assert (await get(session, simulator.bases[name] + path))[0] == 200
        async with session.post(simulator.bases["control"] + "/_day/advance") as response:
            assert response.status == 200

    ask(check, listings=0)


def test_a_busy_port_is_a_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            serve(port, listings=1, seed=1)


def free_ports() -> int:
    """The first of enough in a row, below those the system gives out by itself."""
    for port in range(20_000 + os.getpid() % 500 * 20, 32_000, 20):
        with suppress(OSError), ExitStack() as stack:
            for offset in range(1 + len(SHOWN)):
                stack.enter_context(socket.create_server(("127.0.0.1", port + offset)))
            return port
    raise AssertionError("no such ports in a row are free")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_simulator_uses_the_given_ports_and_stops_cleanly_on_a_signal(number: signal.Signals) -> None:
    code = (
        "from realestate.simulator import serve; import json\n"
        "serve({port}, listings=20, seed=1, ready=lambda bases: print(json.dumps(bases), flush=True))"
    )
    port = free_ports()
    with subprocess.Popen(
        [sys.executable, "-c", code.format(port=port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        bases = json.loads(process.stdout.readline())
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert list(bases) == ["control", *SHOWN]
    assert [int(base.rpartition(":")[2]) for base in bases.values()] == list(range(port, port + 1 + len(SHOWN)))
    assert (process.returncode, errors) == (0, "")


@asynccontextmanager
async def constant(body: bytes) -> AsyncIterator[str]:
    """A server that says the same to everybody: the most this machine can do."""

    async def handle(request: web.BaseRequest) -> web.Response:
        return web.Response(body=body, content_type="text/html")

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    site = web.SockSite(runner, socket.create_server(("127.0.0.1", 0)))
    await site.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()


async def seconds_for(base: str, paths: list[str]) -> float:
    """Time for all the pages over one connection, without a client library to slow it down."""
    host, port = base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    started = time.perf_counter()
    for path in paths:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
    taken = time.perf_counter() - started
    writer.close()
    await writer.wait_closed()
    return taken


def test_pages_are_served_about_as_fast_as_a_constant_answer() -> None:
    async def go() -> float:
        async with running(World(1, 40)) as simulator:
            site = simulator.sites["immoweb"]
            paths = [site.path(advert) for advert in simulator.world.listed("immoweb")] * 5
            async with constant(site.response(paths[0]).body) as peer:
                ours, theirs = [], []
                for _ in range(5):
                    ours.append(await seconds_for(site.base, paths))
                    theirs.append(await seconds_for(peer, paths))
                return min(theirs) / min(ours)

    assert asyncio.run(go()) >= 0.5
