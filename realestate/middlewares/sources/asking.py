"""Asking the web for what the sources need, with a limit on everything. What went wrong is told without credentials."""

import asyncio
import socket
from typing import Any

import aiohttp

from realestate.middlewares.addresses import is_public
from realestate.middlewares.proxies import Proxy
from realestate.middlewares.trust import trust

#: A list of all free proxies there are takes less.
LARGEST = 2_000_000
SECONDS = 15.0


class Unanswered(Exception):
    """Nothing usable came; its text says why."""


async def ask(
    url: str, *, through: Proxy | None = None, only_public: bool = False, seconds: float = SECONDS, most: int = LARGEST
) -> bytes:
    """The body found at an address, asked for through a proxy. `only_public`: neither the address nor the proxy may be
    on this machine or in its network, also after a redirect."""
    try:
        connector = aiohttp.TCPConnector(
            socket_factory=_public_socket if only_public else None,
            ssl=trust(through.ca, verifies=through.verifies) if through else True,
            force_close=True,
        )
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(connector=connector) as session,
            session.get(url, proxy=through.url if through else None, max_redirects=3) as response,
        ):
            if response.status != 200:
                raise Unanswered(f"status {response.status}")
            return await _limited(response, most)
    except TimeoutError:
        raise Unanswered(f"no answer within {seconds:g} s") from None
    except aiohttp.ClientHttpProxyError as error:
        raise Unanswered(f"the proxy says {error.status}") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:  # their texts may show the proxy with its credentials
        raise Unanswered(type(error).__name__) from None


async def _limited(response: aiohttp.ClientResponse, most: int) -> bytes:
    body = bytearray()
    async for part in response.content.iter_chunked(65536):
        body += part
        if len(body) > most:
            raise Unanswered(f"more than {most} bytes")
    return bytes(body)


def _public_socket(found: Any) -> socket.socket:
    """Just before a connection is made, so that neither a name nor a redirect can lead elsewhere."""
    family, kind, protocol, _, address = found
    if not is_public(str(address[0])):
        raise OSError("the address is not public")
    return socket.socket(family, kind, protocol)
