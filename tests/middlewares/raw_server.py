"""A server that responds with exactly the bytes of a test, and records the requests."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Writer = asyncio.StreamWriter
#: Writes the response to one request. The connection stays open unless the function close it.
Respond = Callable[[Writer], Awaitable[None]]


@dataclass
class RawServer:
    respond: Respond
    certificate: ssl.SSLContext | None = None
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["RawServer"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.certificate)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        self.connections += 1
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(_length(head)))
                await self.respond(writer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client closed the connection
        finally:
            writer.close()


def _length(head: bytes) -> int:
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    return int(lines.get(b"content-length", 0))


def page(body: bytes = b"<html>a page</html>", *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Type: text/html", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def responding(text: bytes, *, close: bool = False) -> Respond:
    """Responds to each request with these bytes."""

    async def respond(writer: Writer) -> None:
        writer.write(text)
        if close:
            await writer.drain()
            writer.close()

    return respond


def resetting(text: bytes) -> Respond:
    """Sends these bytes and resets the connection."""

    async def respond(writer: Writer) -> None:
        writer.write(text)
        await writer.drain()
        await asyncio.sleep(0.05)  # the bytes must arrive before the reset
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return respond


async def silence(writer: Writer) -> None:
    await asyncio.sleep(3600)
