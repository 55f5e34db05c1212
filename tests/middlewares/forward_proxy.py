"""A forward proxy on this machine that answers in the sites' place, and remembers who asked for what."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = Callable[[str], bytes]


@dataclass
class ForwardProxy:
    """`body` is what it answers to an address; None: it hangs up."""

    body: Callable[[str], bytes | None] = lambda url: b'{"country": "BE"}'
    status: int = 200
    needs: tuple[str, str] | None = None
    """User (its beginning) and password."""
    certificate: ssl.SSLContext | None = None
    """What it shows in the sites' place."""
    own: ssl.SSLContext | None = None
    """What it shows for itself: set, it is an https proxy."""
    port: int = 0
    asked: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["ForwardProxy"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.own)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            url, headers = await _head(reader)
            self.heads.append(headers)
            if not self._lets_in(headers.get("proxy-authorization", "")):
                writer.write(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
            elif url.endswith(":443") and self.certificate:
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                await writer.start_tls(self.certificate)
                path, headers = await _head(reader)
                self.heads.append(headers)
                self._answer(writer, f"https://{url.removesuffix(':443')}{path}")
            else:
                self._answer(writer, url)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # who asked went away, or did not like the certificate
        finally:
            writer.close()

    def _answer(self, writer: asyncio.StreamWriter, url: str) -> None:
        self.asked.append(url)
        body = self.body(url)
        if body is not None:
            writer.write(f"HTTP/1.1 {self.status} So\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def _lets_in(self, login: str) -> bool:
        user, _, password = base64.b64decode(login.removeprefix("Basic ")).decode().partition(":")
        self.users.append(user)
        return self.needs is None or (user.startswith(self.needs[0]) and password == self.needs[1])


async def _head(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]]:
    """The address asked for, and the headers."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
    return first.split(" ")[1], {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
