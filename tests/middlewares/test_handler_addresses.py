"""Nobody outside can make a worker ask its own machine, its network or its cloud."""

import asyncio
import socket
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest
from scrapy.http import Response

from realestate.middlewares.addresses import ForbiddenAddress, Guard, GuardedResolver, is_public_name
from tests.middlewares.forward_proxy import ForwardProxy
from tests.middlewares.raw_server import RawServer, page, saying

#: Ways to write addresses that only we can reach; PORT is where somebody listens.
OURS = [
    "http://127.0.0.1:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f000001:PORT/",
    "http://0x7f.1:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://127.1:PORT/",
    "http://0:PORT/",
    "http://0.0.0.0:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://[::1]:PORT/",
    "http://[::]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[fe80::1%25lo]:PORT/",
    "http://①②⑦.0.0.1:PORT/",
    "http://127。0。0。1:PORT/",
    "http://localhost:PORT/",
    "http://LOCALHOST.:PORT/",
    "http://user:pw@localhost:PORT/",
    "http://www.example.org@127.0.0.1:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "https://10.0.0.1/",
    "http://192.168.1.1/",
    "http://[fd00:ec2::254]/",
]


@pytest.fixture
def resolving(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names lead to, in place of the real ones."""
    names: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host not in names:
            return real(host, port, *args, **kwargs)
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port, 0, 0))
            if ":" in each
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port))
            for each in names[host]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return names


@pytest.mark.parametrize("url", OURS)
@pytest.mark.parametrize("by_proxy", [False, True], ids=["directly", "by proxy"])
def test_ours_are_not_asked(handling: Any, url: str, by_proxy: bool) -> None:
    async def work() -> tuple[int, list[str]]:
        proxy = ForwardProxy()
        async with RawServer(saying(page())).listening() as server, proxy.listening(), handling() as handler:
            meta = {"proxy": f"http://{proxy.place}"} if by_proxy else {}
            request = Request(url.replace("PORT", str(server.port)), meta=meta)
            with pytest.raises((ForbiddenAddress, CannotResolveHostError)) as raised:
                await handler.download_request(request)
            if not isinstance(raised.value, ForbiddenAddress):
                assert not by_proxy  # nobody knows such a name: that is no way in either
            return server.connections, proxy.asked

    assert asyncio.run(work()) == (0, [])


def test_a_forbidden_address_is_told_and_not_tried_again() -> None:
    error = ForbiddenAddress("x")
    assert isinstance(error, IgnoreRequest), "nothing tries such a one again"
    assert error.reason == "address"


@pytest.mark.parametrize("led_to", [["127.0.0.1"], ["10.1.2.3"], ["169.254.169.254"], ["::1"], ["::ffff:10.0.0.1"]])
def test_a_name_that_leads_to_us_is_not_asked(
    handling: Any, resolving: dict[str, list[str]], led_to: list[str]
) -> None:
    resolving["www.rebound.example"] = led_to

    async def work() -> int:
        async with RawServer(saying(page())).listening() as server, handling() as handler:
            request = Request(f"http://www.rebound.example:{server.port}/")
            with pytest.raises(ForbiddenAddress, match=r"www\.rebound\.example"):
                await handler.download_request(request)
            return server.connections

    assert asyncio.run(work()) == 0


def test_of_a_names_addresses_only_the_public_are_used(resolving: dict[str, list[str]]) -> None:
    resolving["www.both.example"] = ["127.0.0.1", "1.1.1.1", "::1", "2606:4700::1111"]

    async def found() -> list[str]:
        told = await GuardedResolver(Guard()).resolve("www.both.example", 80, socket.AF_UNSPEC)
        return [each["host"] for each in told]

    assert asyncio.run(found()) == ["1.1.1.1", "2606:4700::1111"]


def test_a_kept_connection_opens_no_other_door(handling: Any) -> None:
    """The simulator's port is open; the next one is not."""

    async def work() -> tuple[int, int]:
        async with (
            RawServer(saying(page())).listening() as portal,
            RawServer(saying(page())).listening() as other,
            handling(portal.url, SIMULATOR_URL="http://127.0.0.1:1") as handler,
        ):
            response: Response = await handler.download_request(Request(portal.url))
            assert response.status == 200
            for url in (other.url, f"http://localhost:{portal.port}", f"http://127.0.0.2:{portal.port}"):
                with pytest.raises(ForbiddenAddress):
                    await handler.download_request(Request(url))
            return portal.connections, other.connections

    assert asyncio.run(work()) == (1, 0)


def test_the_simulator_may_have_a_name(handling: Any, resolving: dict[str, list[str]]) -> None:
    resolving["simulator"] = ["127.0.0.1"]

    async def work() -> int:
        async with RawServer(saying(page())).listening() as server:
            url = f"http://simulator:{server.port}"
            async with handling(url, SIMULATOR_URL=url) as handler:
                response: Response = await handler.download_request(Request(url))
                return response.status

    assert asyncio.run(work()) == 200


def test_without_a_simulator_a_spiders_site_opens_nothing(handling: Any) -> None:
    async def work() -> None:
        async with RawServer(saying(page())).listening() as server, handling(server.url) as handler:
            with pytest.raises(ForbiddenAddress):
                await handler.download_request(Request(server.url))

    asyncio.run(work())


def test_who_has_a_portal_in_his_own_network_says_so(handling: Any) -> None:
    async def work() -> int:
        async with (
            RawServer(saying(page())).listening() as server,
            handling(ALLOW_PRIVATE_ADDRESSES=True) as handler,
        ):
            response: Response = await handler.download_request(Request(f"http://localhost:{server.port}"))
            return response.status

    assert asyncio.run(work()) == 200


def test_a_proxy_of_ones_own_may_be_anywhere(handling: Any) -> None:
    async def work() -> list[str]:
        async with ForwardProxy().listening() as proxy, handling() as handler:
            await handler.download_request(
                Request("http://www.immoweb.be/en", meta={"proxy": f"http://localhost:{proxy.port}"})
            )
            return proxy.asked

    assert asyncio.run(work()) == ["http://www.immoweb.be/en"]


@pytest.mark.parametrize(
    "host",
    ["www.immoweb.be", "xn--mgbh0fb.example", "a_b.example.org", "1.1.1.1", "2606:4700::1111", "WWW.Example.ORG."],
)
def test_names_of_the_open_internet(host: str) -> None:
    assert is_public_name(host)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "redis",
            "localhost",
            "a.localhost",
            "metadata.google.internal",
            "printer.local",
            "nas.lan",
            "router.home.arpa",
        ),
        *("127.0.0.1", "2130706433", "0x7f.1", "1.1.1.256", "a.0x7f", "::1", "", ".", "127.0.0.1.nip.io:80"),
        *("a b.example", "a\\b.example", "é.example", "%6c%6fcalhost.example"),
    ],
)
def test_names_from_inside(host: str) -> None:
    assert not is_public_name(host)
