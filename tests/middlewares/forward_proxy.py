"""A forward proxy on this machine that responds in the sites' place and records the requests."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class ForwardProxy:
    """Responds with `body(url)`; closes the connection if that is None."""

    body: Callable[[str], bytes | None] = lambda url: b'{"country": "BE"}'
    status: int = 200
    login: tuple[str, str] | None = None
    """Beginning of the user name, and the password."""
    certificate: ssl.SSLContext | None = None
    """The certificate that it shows in place of the sites' own."""
    own_certificate: ssl.SSLContext | None = None
    """Its own certificate: if it is set, this is an https proxy."""
    port: int = 0
    urls: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["ForwardProxy"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.own_certificate)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            url, headers = await _head(reader)
            self.heads.append(headers)
            if not self._is_authorized(headers.get("proxy-authorization", "")):
                writer.write(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
            elif url.endswith(":443") and self.certificate:
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                await writer.start_tls(self.certificate)
                path, headers = await _head(reader)
                self.heads.append(headers)
                self._respond(writer, f"https://{url.removesuffix(':443')}{path}")
            else:
                self._respond(writer, url)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client closed the connection or refused the certificate
        finally:
            writer.close()

    def _respond(self, writer: asyncio.StreamWriter, url: str) -> None:
        self.urls.append(url)
        body = self.body(url)
        if body is not None:
            writer.write(f"HTTP/1.1 {self.status} So\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def _is_authorized(self, header: str) -> bool:
        user, _, password = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
        self.users.append(user)
        return self.login is None or (user.startswith(self.login[0]) and password == self.login[1])


async def _head(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]]:
    """The URL of a request, and its headers."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
    return first.split(" ")[1], {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
