"""Nobody can make a worker fetch from its own machine, its network or its cloud."""

import asyncio
import socket
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest
from scrapy.http import Response

from realestate.middlewares.public_addresses import AddressGuard, ForbiddenAddress, GuardedResolver
from tests.middlewares.forward_proxy import ForwardProxy
from tests.middlewares.raw_server import RawServer, page, responding

#: Ways to write private addresses; PORT is the port of a server.
PRIVATE_URLS = [
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
    """What names resolve to, instead of the real addresses."""
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


@pytest.mark.parametrize("url", PRIVATE_URLS)
@pytest.mark.parametrize("by_proxy", [False, True], ids=["directly", "by proxy"])
def test_private_addresses_are_not_fetched(handling: Any, url: str, by_proxy: bool) -> None:
    async def work() -> tuple[int, list[str]]:
        proxy = ForwardProxy()
        async with RawServer(responding(page())).listening() as server, proxy.listening(), handling() as handler:
            meta = {"proxy": f"http://{proxy.place}"} if by_proxy else {}
            request = Request(url.replace("PORT", str(server.port)), meta=meta)
            with pytest.raises((ForbiddenAddress, CannotResolveHostError)) as raised:
                await handler.download_request(request)
            if not isinstance(raised.value, ForbiddenAddress):
                assert not by_proxy  # the name does not exist
            return server.connections, proxy.urls

    assert asyncio.run(work()) == (0, [])


def test_a_forbidden_address_is_not_retried() -> None:
    error = ForbiddenAddress("x")
    assert isinstance(error, IgnoreRequest), "it is not retried"
    assert error.reason == "address"


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.1.2.3"], ["169.254.169.254"], ["::1"], ["::ffff:10.0.0.1"]])
def test_a_name_that_resolves_to_a_private_address_is_not_fetched(
    handling: Any, resolving: dict[str, list[str]], addresses: list[str]
) -> None:
    resolving["www.rebound.example"] = addresses

    async def work() -> int:
        async with RawServer(responding(page())).listening() as server, handling() as handler:
            request = Request(f"http://www.rebound.example:{server.port}/")
            with pytest.raises(ForbiddenAddress, match=r"www\.rebound\.example"):
                await handler.download_request(request)
            return server.connections

    assert asyncio.run(work()) == 0


def test_only_the_public_addresses_of_a_name_are_used(resolving: dict[str, list[str]]) -> None:
    resolving["www.both.example"] = ["127.0.0.1", "1.1.1.1", "::1", "2606:4700::1111"]

    async def found() -> list[str]:
        resolved = await GuardedResolver(AddressGuard()).resolve("www.both.example", 80, socket.AF_UNSPEC)
        return [each["host"] for each in resolved]

    assert asyncio.run(found()) == ["1.1.1.1", "2606:4700::1111"]


def test_only_the_simulators_own_port_is_allowed(handling: Any) -> None:
    """Another port of the simulator's host is not allowed."""

    async def work() -> tuple[int, int]:
        async with (
            RawServer(responding(page())).listening() as portal,
            RawServer(responding(page())).listening() as other,
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
        async with RawServer(responding(page())).listening() as server:
            url = f"http://simulator:{server.port}"
            async with handling(url, SIMULATOR_URL=url) as handler:
                response: Response = await handler.download_request(Request(url))
                return response.status

    assert asyncio.run(work()) == 200


def test_without_a_simulator_a_private_site_is_not_allowed(handling: Any) -> None:
    async def work() -> None:
        async with RawServer(responding(page())).listening() as server, handling(server.url) as handler:
            with pytest.raises(ForbiddenAddress):
                await handler.download_request(Request(server.url))

    asyncio.run(work())


def test_private_addresses_can_be_allowed(handling: Any) -> None:
    async def work() -> int:
        async with (
            RawServer(responding(page())).listening() as server,
            handling(ALLOW_PRIVATE_ADDRESSES=True) as handler,
        ):
            response: Response = await handler.download_request(Request(f"http://localhost:{server.port}"))
            return response.status

    assert asyncio.run(work()) == 200


def test_a_proxy_may_have_a_private_address(handling: Any) -> None:
    async def work() -> list[str]:
        async with ForwardProxy().listening() as proxy, handling() as handler:
            await handler.download_request(
                Request("http://www.immoweb.be/en", meta={"proxy": f"http://localhost:{proxy.port}"})
            )
            return proxy.urls

    assert asyncio.run(work()) == ["http://www.immoweb.be/en"]


class Rebinding:
    """A name server that answers the first question with a harmless address, and later ones with another."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        address = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]


@pytest.fixture
def counts_as_public(monkeypatch: pytest.MonkeyPatch) -> str:
    """A loopback address that counts as public in this test, beside 127.0.0.1, which does not."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.2", 0))
        except OSError:
            pytest.skip("this machine has only one loopback address")
    monkeypatch.setattr("realestate.middlewares.public_addresses.is_public_ip", lambda host: host == "127.0.0.2")
    return "127.0.0.2"


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(
    handling: Any, counts_as_public: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: a name resolves to a public address when it is checked, and to a private one directly after."""

    async def work() -> tuple[int, int]:
        private = RawServer(responding(page()))
        async with private.listening() as server, handling() as handler:
            public = await asyncio.start_server(_answer, counts_as_public, server.port)
            names = Rebinding(counts_as_public, "127.0.0.1")
            monkeypatch.setattr(socket, "getaddrinfo", names)
            async with public:
                response = await handler.download_request(Request(f"http://www.rebound.example:{server.port}/"))
            assert str(response.ip_address) == counts_as_public
            return server.connections, names.asked

    assert asyncio.run(work()) == (0, 1), "one question, whose answer is checked and used"


def test_each_hop_of_a_redirect_is_checked_with_the_address_it_has_then(
    handling: Any, counts_as_public: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second name, and the first one when its cached address is too old, resolve to a private address."""

    async def work() -> int:
        async with RawServer(responding(page())).listening() as server, handling() as handler:
            public = await asyncio.start_server(_answer, counts_as_public, server.port)
            monkeypatch.setattr(socket, "getaddrinfo", Rebinding(counts_as_public, "127.0.0.1"))
            first = f"http://www.first.example:{server.port}/"
            async with public:
                await handler.download_request(Request(first))
            with pytest.raises(ForbiddenAddress):
                await handler.download_request(Request(f"http://www.second.example:{server.port}/"))
            handler._direct.connector.clear_dns_cache()  # as after _DNS_CACHE_SECONDS
            with pytest.raises(ForbiddenAddress):
                await handler.download_request(Request(first))
            return server.connections

    assert asyncio.run(work()) == 0


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    await writer.drain()
    writer.close()
