"""Send a response over a real connection: whole, slowly, in part, or not at all."""

import asyncio
import socket
import struct
from contextlib import suppress
from http import HTTPStatus

from aiohttp import web

from realestate.simulator.adversary.adversary import Manner

#: A slow response sends so many bytes in so long: about 20 s for an ordinary page.
DRIP_SECONDS = 0.5
DRIP_BYTES = 512
#: After an incomplete response the connection stays open for so long.
PROMISE_SECONDS = 2.0


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
        return await _drip(request, response, body)
    half = body[: len(body) // 2]
    if manner == "too_short":
        transport.write(_head(response, len(half)) + body)
    elif manner == "too_long":
        transport.write(_head(response, len(body) * 2) + body)
        await asyncio.sleep(PROMISE_SECONDS)
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


async def _drip(request: web.BaseRequest, response: web.Response, body: bytes) -> web.StreamResponse:
    dripping = web.StreamResponse(status=response.status, headers=response.headers)
    dripping.content_length = len(body)
    with suppress(ConnectionError):  # the client may not read all of it
        await dripping.prepare(request)
        for start in range(0, len(body), DRIP_BYTES):
            await dripping.write(body[start : start + DRIP_BYTES])
            await asyncio.sleep(DRIP_SECONDS)
    return dripping


def _head(response: web.Response, length: int) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in response.headers.items() if name != "Content-Length"]
    lines += [f"Content-Length: {length}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode()
