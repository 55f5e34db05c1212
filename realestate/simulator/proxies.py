"""Forward proxies. Each connects from another address: 127.0.0.2, 127.0.0.3 and so on.

They support absolute requests (`GET http://… HTTP/1.1`) and CONNECT, one for each connection. They connect only to the
ports of the simulator, whatever the host name is. Responses are forwarded unchanged, with all faults.

Some of them are bad. Dead ones refuse connections, or (every second) accept them and never respond. Slow ones respond
late. Lying ones reveal the client's address, insert something into the page, or replace the page.
"""

import asyncio
import re
import socket
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from realestate.simulator.adversary.profiles import Profile, ProxyKind
from realestate.simulator.adversary.sending import reset
from realestate.simulator.adverts import dice
from realestate.simulator.ports import proxy_address

USER = "simulator"
SLOW_SECONDS = 4.0
HEAD_BYTES = 64 * 1024
CHUNK_BYTES = 64 * 1024
#: The profile says how many of each group of this size are bad.
OUT_OF = 8

Lie = Literal["talk", "inject", "replace"]
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_BANNER = b'<div style="position:fixed">Surf faster with invented premium proxies</div>'
_OWN_PAGE = b"""<!DOCTYPE html><html><head><title>Invented proxies</title></head>
<body><h1>This proxy is brought to you by nobody</h1><p>Upgrade to go on.</p></body></html>"""
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "upgrade"})


@dataclass(slots=True, kw_only=True)
class Proxy:
    """One proxy: where it listens, and the address it connects from."""

    url: str
    """Its URL with user name and password."""
    address: str
    kind: ProxyKind
    requests: int = 0
    unauthorized: int = 0
    lies: Counter[Lie] = field(default_factory=Counter)

    def as_record(self) -> dict[str, Any]:
        """Return its data without user name and password."""
        at = urlsplit(self.url)
        return {
            "url": f"http://{at.hostname}:{at.port}",
            "address": self.address,
            "kind": self.kind,
            "requests": self.requests,
            "unauthorized": self.unauthorized,
            "lies": dict(self.lies),
        }


def kinds(count: int, profile: Profile | None, seed: int) -> list[ProxyKind]:
    """Return the kind of each proxy: dead, slow, lying or fine."""
    bad = profile.proxies if profile is not None else {}
    found: list[ProxyKind] = [kind for kind, of_eight in bad.items() for _ in range(round(count * of_eight / OUT_OF))]
    found += ["fine"] * (count - len(found))
    dice(seed, "proxies").shuffle(found)
    return found


@asynccontextmanager
async def forwarding(
    sockets: Mapping[str, socket.socket],
    kinds_of_them: list[ProxyKind],
    *,
    host: str,
    ports: Collection[int],
    password: str | None = None,
    seed: int = 0,
) -> AsyncIterator[list[Proxy]]:
    """Run proxies on these sockets, which are bound but do not listen yet. They connect to `ports` of `host`."""
    credentials = f"{USER}:{quote(password, safe='')}@" if password is not None else ""
    proxies: list[Proxy] = []
    async with AsyncExitStack() as stack:
        for bound in sockets.values():
            stack.callback(bound.close)
        for number, ((base, bound), kind) in enumerate(zip(sockets.items(), kinds_of_them, strict=True)):
            url = base.replace("http://", f"http://{credentials}")
            proxy = Proxy(url=url, address=proxy_address(number), kind=kind)
            proxies.append(proxy)
            is_silent = kind == "dead" and sum(each.kind == "dead" for each in proxies) % 2 == 0
            if kind != "dead" or is_silent:  # a socket that does not listen refuses connections
                server = _ProxyServer(proxy, host, frozenset(ports), password, seed, is_silent=is_silent)
                await stack.enter_async_context(server.open(bound))
        yield proxies


class _Refused(Exception):
    """A request that is not forwarded, with the response to it."""

    def __init__(self, status: str, *headers: str) -> None:
        super().__init__(status)
        self.response = "\r\n".join((f"HTTP/1.1 {status}", *headers, "Content-Length: 0", "Connection: close", "", ""))


@dataclass(frozen=True, slots=True)
class _ProxyRequest:
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    @property
    def length(self) -> int:
        value = self.header("content-length") or "0"
        if not re.fullmatch(r"\d{1,9}", value, re.ASCII):
            raise _Refused("400 Bad Request")
        return int(value)

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each.lower() == name), None)

    def destination(self) -> tuple[int, str]:
        """Return the port, and the target of the request there."""
        try:
            url = urlsplit(f"//{self.target}" if self.method == "CONNECT" else self.target)
            port = url.port
        except ValueError:
            raise _Refused("400 Bad Request") from None
        if self.method != "CONNECT" and url.scheme != "http":
            raise _Refused("400 Bad Request")
        target = self.target.split("/", 3)[3:]
        return port or 80, "/" + (target[0] if target else "")


class _ProxyServer:
    """Handles the requests to one proxy."""

    def __init__(
        self, proxy: Proxy, host: str, ports: frozenset[int], password: str | None, seed: int, *, is_silent: bool
    ) -> None:
        self._proxy = proxy
        self._host = host
        self._ports = ports
        self._wanted = None if password is None else b64encode(f"{USER}:{password}".encode()).decode()
        self._seed = seed
        self._is_silent = is_silent
        self._running: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self, bound: socket.socket) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._accept, sock=bound, limit=HEAD_BYTES)
        try:
            yield
        finally:
            server.close()
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        try:
            await self._serve(reader, writer)
        except _Refused as refused:
            writer.write(refused.response.encode())
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            reset(writer.transport)
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = _parsed(await reader.readuntil(b"\r\n\r\n"))
        self._authorize(request)
        self._proxy.requests += 1
        if self._is_silent:
            await reader.read()  # until the client closes the connection
            return
        port, target = request.destination()
        if port not in self._ports:
            raise _Refused("502 Bad Gateway")
        if self._proxy.kind == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        content = await reader.readexactly(request.length)
        lie = self._lie(request)
        if lie == "replace":
            writer.write(_page(_OWN_PAGE))
            return
        onward = await self._connect(port)
        try:
            if request.method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _tunnel((reader, writer), onward)
            else:
                onward[1].write(_request(request, target, writer if lie == "talk" else None) + content)
                await _answer(onward[0], writer, is_altered=lie == "inject")
        finally:
            onward[1].close()

    def _authorize(self, request: _ProxyRequest) -> None:
        if self._wanted is None:
            return
        scheme, _, credentials = (request.header("proxy-authorization") or "").partition(" ")
        if scheme.lower() != "basic" or credentials.strip() != self._wanted:
            self._proxy.unauthorized += 1
            raise _Refused("407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="simulator"')

    async def _connect(self, port: int) -> _Streams:
        try:
            return await asyncio.open_connection(self._host, port, local_addr=(self._proxy.address, 0))
        except OSError:
            raise _Refused("502 Bad Gateway") from None

    def _lie(self, request: _ProxyRequest) -> Lie | None:
        """Return what this proxy does to the request. A tunnel is forwarded unchanged."""
        if self._proxy.kind != "lying" or request.method == "CONNECT":
            return None
        lies: tuple[Lie, ...] = ("talk", "inject", "replace")
        lie = dice(self._seed, "lie", self._proxy.address, self._proxy.requests).choice(lies)
        self._proxy.lies[lie] += 1
        return lie


def _parsed(head: bytes) -> _ProxyRequest:
    first, *rest = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    fields = [line.partition(":") for line in rest if line]
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not all(colon for _, colon, _ in fields):
        raise _Refused("400 Bad Request")
    return _ProxyRequest(words[0], words[1], tuple((name.strip(), value.strip()) for name, _, value in fields))


def _request(request: _ProxyRequest, target: str, revealed: asyncio.StreamWriter | None) -> bytes:
    """Return the request that is forwarded. `revealed` is the client whose address it contains."""
    lines = [f"{request.method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers if name.lower() not in _HOP_BY_HOP]
    if revealed is not None:
        lines += ["Via: 1.1 invented-proxy", f"X-Forwarded-For: {revealed.get_extra_info('peername')[0]}"]
    return "\r\n".join((*lines, "Connection: close", "", "")).encode("latin-1")


def _page(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _injected(response: bytes) -> bytes:
    """Return the response with a banner in it and the new length, if it is an HTML page."""
    head, _, body = response.partition(b"\r\n\r\n")
    if b"text/html" not in head or b"<body" not in body:
        return response
    body = re.sub(rb"<body[^>]*>", rb"\g<0>" + _BANNER, body, count=1)
    head = re.sub(rb"(?i)(content-length: )\d+", rb"\g<1>%d" % len(body), head)
    return head + b"\r\n\r\n" + body


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_altered: bool) -> None:
    if is_altered:
        writer.write(_injected(await reader.read()))
    else:
        await _pump(reader, writer)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()


async def _tunnel(one: _Streams, other: _Streams) -> None:
    """Copy data in both directions, until one side ends."""
    ways = {asyncio.ensure_future(_pump(one[0], other[1])), asyncio.ensure_future(_pump(other[0], one[1]))}
    try:
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in done:
            way.result()
    finally:
        for way in ways:
            way.cancel()
        with suppress(ConnectionError):
            await asyncio.gather(*ways, return_exceptions=True)
