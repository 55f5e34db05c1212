"""What went wrong on the way, told in Scrapy's words, by which it is decided what is done about it.

aiohttp's own words are not passed on: they may show a proxy with its credentials.
"""

import asyncio

import aiohttp
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

#: What there is to be told in other words.
NOT_ANSWERED = (aiohttp.ClientError, asyncio.TimeoutError)

#: The first that fits counts: some are special cases of others.
_TOLD: tuple[tuple[type[Exception], type[Exception], str], ...] = (
    (aiohttp.ConnectionTimeoutError, DownloadTimeoutError, "no connection in time"),
    (aiohttp.SocketTimeoutError, DownloadTimeoutError, "it fell silent"),
    (asyncio.TimeoutError, DownloadTimeoutError, "not done in time"),
    (aiohttp.InvalidURL, UnsupportedURLSchemeError, "no address that can be asked"),
    (aiohttp.ClientConnectorDNSError, CannotResolveHostError, "nobody knows the name"),
    (aiohttp.ClientConnectorCertificateError, DownloadFailedError, "its certificate is not believed"),
    (aiohttp.ClientSSLError, DownloadFailedError, "it cannot be spoken to in secret"),
    (aiohttp.ClientProxyConnectionError, DownloadConnectionRefusedError, "the proxy cannot be reached"),
    (aiohttp.ClientConnectorError, DownloadConnectionRefusedError, "it cannot be reached"),
    (aiohttp.ClientHttpProxyError, DownloadFailedError, "the proxy lets us not through"),
    (aiohttp.ClientPayloadError, ResponseDataLossError, "the body ends before its end"),
    (aiohttp.ClientResponseError, DownloadFailedError, "the answer is no HTTP"),
    (aiohttp.ClientError, DownloadFailedError, "the connection broke"),
)


def as_scrapy_tells(error: Exception) -> Exception:
    """The exception Scrapy has for it."""
    told, text = next((told, text) for kind, told, text in _TOLD if isinstance(error, kind))
    return told(text + _detail(error))


def _detail(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f": status {error.status}"
    cause = getattr(error, "os_error", None)
    return f": {cause.strerror}" if isinstance(cause, OSError) and cause.strerror else ""
