"""Send a response over a real connection: whole, slowly, in part, or not at all."""

import asyncio
import socket
import struct
from contextlib import suppress
from http import HTTPStatus

from aiohttp import web

from realestate.simulator.adversary.adversary import Manner

#: A slow response is sent in pieces: bytes of one piece, and the pause after it. An ordinary page takes about 20 s.
PIECE_BYTES = 512
PIECE_SECONDS = 0.5
#: After an incomplete response the connection stays open for this long.
INCOMPLETE_SECONDS = 2.0


async def send(request: web.BaseRequest, response: web.Response, manner: Manner) -> web.StreamResponse:
    """Send the response. Return it for the server, which closes a connection that cannot be used again."""
    transport = request.transport
    body = response.body if isinstance(response.body, bytes) else b""
    if manner == "whole" or transport is None:
        return response
    if manner == "reset":
        reset(transport)
        return response
    if request.method == "HEAD" or not body:
        return response
    if manner == "drip":
        return await _send_slowly(request, response, body)
    half = body[: len(body) // 2]
    if manner == "too_short":
        transport.write(_head(response, len(half)) + body)
    elif manner == "too_long":
        transport.write(_head(response, len(body) * 2) + body)
        await asyncio.sleep(INCOMPLETE_SECONDS)
    else:
        transport.write(_head(response, len(body)) + half)
    transport.close()
    return response


def reset(transport: asyncio.Transport | asyncio.WriteTransport) -> None:
    """Reset the connection: a socket that is closed with a linger time of zero sends RST."""
    bound = transport.get_extra_info("socket")
    if bound is not None and not transport.is_closing():
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def _send_slowly(request: web.BaseRequest, response: web.Response, body: bytes) -> web.StreamResponse:
    slow = web.StreamResponse(status=response.status, headers=response.headers)
    slow.content_length = len(body)
    with suppress(ConnectionError):  # the client may not read all of it
        await slow.prepare(request)
        for start in range(0, len(body), PIECE_BYTES):
            await slow.write(body[start : start + PIECE_BYTES])
            await asyncio.sleep(PIECE_SECONDS)
    return slow


def _head(response: web.Response, length: int) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in response.headers.items() if name != "Content-Length"]
    lines += [f"Content-Length: {length}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode()
