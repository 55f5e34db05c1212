"""Fetches a URL for a proxy source, with limits on time and size. Errors contain no credentials."""

import asyncio
import socket
from typing import Any

import aiohttp

from realestate.middlewares.download_handler import tls_verification
from realestate.middlewares.proxies import Proxy
from realestate.parsing.hosts import is_public_ip

#: Larger than a list of all free proxies.
MAX_BYTES = 2_000_000
TIMEOUT_SECONDS = 15.0


class FetchFailed(Exception):
    """No usable response came; the text says why."""


async def fetch(
    url: str,
    *,
    through: Proxy | None = None,
    only_public: bool = False,
    seconds: float = TIMEOUT_SECONDS,
    max_bytes: int = MAX_BYTES,
) -> bytes:
    """The body at a URL, fetched through a proxy if one is given; raises FetchFailed.

    With `only_public`, URL, redirects and proxy must not lead to this machine or its network.
    """
    try:
        connector = aiohttp.TCPConnector(
            socket_factory=_public_socket if only_public else None,
            ssl=tls_verification(through.ca, verify=through.verify) if through else True,
            force_close=True,
        )
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(connector=connector) as session,
            session.get(url, proxy=through.url if through else None, max_redirects=3) as response,
        ):
            if response.status != 200:
                raise FetchFailed(f"status {response.status}")
            return await _read(response, max_bytes)
    except TimeoutError:
        raise FetchFailed(f"no response within {seconds:g} s") from None
    except aiohttp.ClientHttpProxyError as error:
        raise FetchFailed(f"the proxy responded with status {error.status}") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:  # their texts may contain the proxy's credentials
        raise FetchFailed(type(error).__name__) from None


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_chunked(65536):
        body += piece
        if len(body) > max_bytes:
            raise FetchFailed(f"more than {max_bytes} bytes")
    return bytes(body)


def _public_socket(address_info: Any) -> socket.socket:
    """Called just before a connection is made, so that neither a name nor a redirect can lead to a private address."""
    family, kind, protocol, _, address = address_info
    if not is_public_ip(str(address[0])):
        raise OSError("the address is not public")
    return socket.socket(family, kind, protocol)
