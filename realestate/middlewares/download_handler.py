"""The download handler: sends requests with aiohttp, directly or through a proxy, and makes Scrapy responses.

A response that is damaged or incomplete is an error, as a broken connection is: it is fetched again and never parsed.
"""

import asyncio
import logging
import ssl
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any, Self
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.connector import Connection
from aiohttp.typedefs import RawHeaders
from pydispatch import dispatcher
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    StopDownload,
    UnsupportedURLSchemeError,
)
from scrapy.http import Headers, Response, TextResponse
from scrapy.responsetypes import responsetypes
from scrapy.settings import BaseSettings
from twisted.python.failure import Failure
from w3lib.encoding import http_content_type_encoding, read_bom
from yarl import URL

from realestate.accelerate.headers import last
from realestate.middlewares.decompression import TooLarge, decompress
from realestate.middlewares.public_addresses import AddressGuard, GuardedResolver
from realestate.queue.feedback import GATEWAY_URL, TRUSTED_CA
from realestate.storage.clock import SENT_STEADY, steady

logger = logging.getLogger(__name__)

#: How long a connection is kept open for its next request. With many proxies, each is used only every few seconds.
_KEEP_ALIVE_SECONDS = 30.0
_DNS_CACHE_SECONDS = 300
#: Real sites send cookies and policies of several thousand characters.
_MAX_HEADER_LENGTH = 65_536
_MAX_HEADERS = 256
#: aiohttp must not add its own values of these.
_NOT_BY_AIOHTTP = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_PROXY_AUTHORIZATION = "Proxy-Authorization"
#: Scrapy begins each part of a header name with a capital. So do browsers, except for these.
_LOWER_CASE_IN_BROWSERS = {name: name.lower() for name in ("Sec-Ch-Ua", "Sec-Ch-Ua-Mobile", "Sec-Ch-Ua-Platform")}

#: Connections that brought a response before, and the address at their other end.
_USED_CONNECTIONS: WeakKeyDictionary[Any, IPv4Address | IPv6Address] = WeakKeyDictionary()

# ----- errors

#: The exceptions of aiohttp that `scrapy_error` translates.
_AIOHTTP_ERRORS = (aiohttp.ClientError, asyncio.TimeoutError)

#: aiohttp's exception, Scrapy's, and the text. The first that matches counts: some are subclasses of others.
_TRANSLATIONS: tuple[tuple[type[Exception], type[Exception], str], ...] = (
    (aiohttp.ConnectionTimeoutError, DownloadTimeoutError, "connection timed out"),
    (aiohttp.SocketTimeoutError, DownloadTimeoutError, "read timed out"),
    (asyncio.TimeoutError, DownloadTimeoutError, "download timed out"),
    (aiohttp.InvalidURL, UnsupportedURLSchemeError, "invalid URL"),
    (aiohttp.ClientConnectorDNSError, CannotResolveHostError, "DNS lookup failed"),
    (aiohttp.ClientConnectorCertificateError, DownloadFailedError, "TLS certificate is not valid"),
    (aiohttp.ClientSSLError, DownloadFailedError, "TLS handshake failed"),
    (aiohttp.ClientProxyConnectionError, DownloadConnectionRefusedError, "connection to the proxy failed"),
    (aiohttp.ClientConnectorError, DownloadConnectionRefusedError, "connection failed"),
    (aiohttp.ClientHttpProxyError, DownloadFailedError, "the proxy refused the connection"),
    (aiohttp.ClientPayloadError, ResponseDataLossError, "the response body is incomplete"),
    (aiohttp.ClientResponseError, DownloadFailedError, "the response is not valid HTTP"),
    (aiohttp.ClientError, DownloadFailedError, "connection lost"),
)


def scrapy_error(error: Exception) -> Exception:
    """Scrapy's exception for an exception of aiohttp; the retry middleware decides by it.

    aiohttp's own text is not used: it may contain a proxy's URL with its credentials.
    """
    for kind, scrapy_kind, text in _TRANSLATIONS:
        if isinstance(error, kind):
            return scrapy_kind(text + _detail(error))
    raise AssertionError(f"no translation for {type(error).__name__}")


def _detail(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f": status {error.status}"
    cause = getattr(error, "os_error", None)
    return f": {cause.strerror}" if isinstance(cause, OSError) and cause.strerror else ""


class NoResponse(aiohttp.ClientError):
    """A new connection was closed before a response came."""


# ----- certificates


def tls_verification(ca: Path | None, *, verify: bool) -> ssl.SSLContext | bool:
    """aiohttp's `ssl` argument: True for the usual authorities, a context for these and `ca`, False for no check."""
    if not verify:
        return False
    return True if ca is None else _context_with(ca)


@cache
def _context_with(ca: Path) -> ssl.SSLContext:
    """Made once for each file: loading all authorities is slow, and aiohttp reuses connections by their context."""
    context = ssl.create_default_context()
    context.load_verify_locations(ca)
    return context


# ----- the handler


@dataclass(frozen=True, slots=True)
class DownloadLimits:
    """Limits of one download."""

    connect_seconds: float = 10.0
    read_seconds: float = 15.0
    """The longest time without any data."""
    total_seconds: float = 30.0
    max_bytes: int = 16 * 1024 * 1024

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        return cls(
            connect_seconds=settings.getfloat("DOWNLOAD_CONNECT_TIMEOUT"),
            read_seconds=settings.getfloat("DOWNLOAD_STALL_TIMEOUT"),
            total_seconds=settings.getfloat("DOWNLOAD_TIMEOUT"),
            max_bytes=settings.getint("DOWNLOAD_MAXSIZE"),
        )


class DownloadHandler:
    """Sends a request directly or through the proxy in its meta, and returns the response. Keeps connections open."""

    lazy = True

    def __init__(
        self, crawler: Crawler, guard: AddressGuard, limits: DownloadLimits, *, connections: int, verify: bool
    ) -> None:
        self.guard = guard
        self.limits = limits
        self.verify = verify
        self.reader = ResponseReader(crawler, crawler.settings.getint("DOWNLOAD_WARNSIZE"))
        self._timeout = lru_cache(maxsize=64)(self._new_timeout)
        self._direct = _session(connections, GuardedResolver(guard))
        #: A proxy may be in a private network. The proxy resolves the site's name, so nothing is checked here.
        self._by_proxy = _session(connections)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        simulator = settings.get("SIMULATOR_URL")
        site = getattr(crawler.spider, "site", None)
        guard = AddressGuard(
            (simulator, site) if simulator and site else (),
            # Without a portal's spider somebody looks at the simulator by hand: `scrapy shell`.
            allow_all=settings.getbool("ALLOW_PRIVATE_ADDRESSES") or bool(simulator and not site),
        )
        return cls(
            crawler,
            guard,
            DownloadLimits.from_settings(settings),
            connections=settings.getint("CONCURRENT_REQUESTS"),
            verify=settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
        )

    async def download_request(self, request: Request) -> Response:
        try:
            start = time.monotonic()
            request.meta[SENT_STEADY] = steady()
            received = await self._send(request)
            request.meta["download_latency"] = time.monotonic() - start
            try:
                max_bytes = request.meta.get("download_maxsize", self.limits.max_bytes)
                return await self.reader.response(request, received, max_bytes)
            finally:
                # Unread data would be taken for the next response. A response that was read completely has released
                # its connection already, and this does nothing.
                received.close()
        except _AIOHTTP_ERRORS as error:
            raise scrapy_error(error) from error

    async def close(self) -> None:
        await self._direct.close()
        await self._by_proxy.close()

    async def _send(self, request: Request) -> "ReceivedResponse":
        meta = request.meta
        url = URL(meta.get(GATEWAY_URL) or request.url, encoded=True)
        proxy, login = _proxy_of(meta.get("proxy") or "", last(request.headers, _PROXY_AUTHORIZATION))
        self.guard.check(url.raw_host or "", url.port, by_proxy=proxy is not None)
        headers = list(_headers(request))
        proxy_headers = None
        if login and url.scheme == "http":  # the proxy reads the request itself
            headers.append((_PROXY_AUTHORIZATION, login))
        elif proxy is not None:
            proxy_headers = _connect_headers(headers, login)
        session = self._direct if proxy is None else self._by_proxy
        received = await session.request(
            request.method,
            url,
            headers=headers,
            data=request.body or None,
            allow_redirects=False,
            proxy=proxy,
            proxy_headers=proxy_headers,
            ssl=self._tls_verification(meta.get(TRUSTED_CA)),
            timeout=self._timeout(meta.get("download_timeout", self.limits.total_seconds)),
        )
        assert isinstance(received, ReceivedResponse)
        return received

    def _tls_verification(self, trusted_ca: str | bool | None) -> ssl.SSLContext | bool:
        if not trusted_ca:
            return self.verify and trusted_ca is None
        return tls_verification(Path(str(trusted_ca)), verify=self.verify)

    def _new_timeout(self, total_seconds: float) -> aiohttp.ClientTimeout:
        limits = self.limits
        return aiohttp.ClientTimeout(
            total=total_seconds,
            connect=limits.connect_seconds,
            sock_connect=limits.connect_seconds,
            sock_read=limits.read_seconds,
        )


def _session(connections: int, resolver: GuardedResolver | None = None) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        limit=connections, resolver=resolver, ttl_dns_cache=_DNS_CACHE_SECONDS, keepalive_timeout=_KEEP_ALIVE_SECONDS
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        response_class=ReceivedResponse,
        skip_auto_headers=_NOT_BY_AIOHTTP,
        max_line_size=_MAX_HEADER_LENGTH,
        max_field_size=_MAX_HEADER_LENGTH,
        max_headers=_MAX_HEADERS,
    )


# ----- what is sent


def _headers(request: Request) -> Iterator[tuple[str, str]]:
    """The headers in their order, spelled as browsers do; not those that are for the proxy only."""
    for name, values in dict.items(request.headers):
        spelled = _browser_spelling(name)
        if spelled != _PROXY_AUTHORIZATION:
            for value in values:
                yield spelled, _text(value)


@lru_cache(maxsize=1024)
def _browser_spelling(name: bytes) -> str:
    text = _text(name)
    return _LOWER_CASE_IN_BROWSERS.get(text, text)


def _text(value: bytes) -> str:
    """aiohttp writes UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _proxy_of(proxy: str, login: bytes | None) -> tuple[URL | None, str | None]:
    """A proxy's address, and the value of its Proxy-Authorization header: from the request or from the proxy's URL."""
    if not proxy:
        return None, None
    address, own_login = _without_login(proxy)
    return address, _text(login) if login else own_login


@lru_cache(maxsize=1024)
def _without_login(proxy: str) -> tuple[URL, str | None]:
    url = URL(proxy if "://" in proxy else f"http://{proxy}")
    if url.user is None:
        return url, None
    login = f"{url.user}:{url.password or ''}".encode()
    return url.with_user(None), f"Basic {b64encode(login).decode()}"


def _connect_headers(headers: list[tuple[str, str]], login: str | None) -> dict[str, str]:
    """The headers of the CONNECT request to a proxy: the user agent that the site will see, and the login."""
    sent = {name: value for name, value in headers if name == "User-Agent"}
    return {**sent, _PROXY_AUTHORIZATION: login} if login else sent


# ----- what is received


class ReceivedResponse(aiohttp.ClientResponse):
    """aiohttp's response, which remembers its connection: aiohttp may have released it when we ask."""

    peer: IPv4Address | IPv6Address
    protocol: Any

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """aiohttp sends a request again when its connection breaks.

        That is right for a connection that was kept open and has died meanwhile. A site that closes a new connection
        refuses us, and a second request would break the rate limit.
        """
        self.protocol = connection.protocol
        known_peer = _USED_CONNECTIONS.get(self.protocol)
        if known_peer is None:
            self.peer = _peer(connection)
            _USED_CONNECTIONS[self.protocol] = self.peer
        else:
            self.peer = known_peer
        try:
            return await super().start(connection)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            if known_peer is None:
                raise NoResponse from error
            raise

    async def body(self, max_bytes: int, listeners: "DownloadSignals | None" = None) -> bytes:
        """The whole body, or what came until a signal handler stopped the download.

        Raises ResponseDataLossError if it is incomplete or larger than `max_bytes`.
        """
        if (self.content_length or 0) > max_bytes:
            raise TooLarge(f"{self.content_length} bytes announced, {max_bytes} allowed")
        pieces = []
        size = 0
        async for piece in self.content.iter_any():
            pieces.append(piece)
            size += len(piece)
            if size > max_bytes:
                raise TooLarge(f"more than {max_bytes} bytes")
            if listeners and listeners.stop_download(signals.bytes_received, data=piece):
                break
        if self._was_reset():
            raise ResponseDataLossError("connection lost while reading the body")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _was_reset(self) -> bool:
        """Whether a body without a length ended with a broken connection. aiohttp takes that for its normal end."""
        has_length = "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        return not has_length and isinstance(self.protocol.exception(), aiohttp.ClientOSError)


class DownloadSignals:
    """Sends Scrapy's signals of a download; a handler may stop the download with StopDownload."""

    stop: StopDownload | None = None

    def __init__(self, crawler: Crawler, request: Request) -> None:
        self.crawler = crawler
        self.request = request

    def stop_download(self, signal: object, **values: Any) -> bool:
        """Send the signal. Returns whether a handler has stopped the download."""
        arguments = {"request": self.request, "spider": self.crawler.spider, **values}
        for _, result in self.crawler.signals.send_catch_log(signal, **arguments):
            if isinstance(result, Failure) and isinstance(result.value, StopDownload):
                self.stop = result.value
        return self.stop is not None


class ResponseReader:
    """Makes Scrapy's responses from what aiohttp received."""

    def __init__(self, crawler: Crawler, warn_size: int) -> None:
        self.crawler = crawler
        self.warn_size = warn_size
        #: Usually nothing is connected to these signals, and they are not sent. Handlers connect before the first
        #: download.
        self._has_listeners = any(
            True
            for signal in (signals.headers_received, signals.bytes_received)
            for _ in dispatcher.liveReceivers(dispatcher.getAllReceivers(crawler, signal))
        )

    async def response(self, request: Request, received: ReceivedResponse, max_bytes: int) -> Response:
        """The response with its decompressed body, under the URL of the request."""
        headers = received.raw_headers
        listeners = DownloadSignals(self.crawler, request) if self._has_listeners else None
        if listeners and listeners.stop_download(
            signals.headers_received, headers=Headers(headers), body_length=received.content_length
        ):
            return _stopped(listeners, _response(request, received, headers, b""))
        body = await received.body(max_bytes, listeners)
        if listeners and listeners.stop:
            return _stopped(listeners, _response(request, received, headers, body))
        if self.warn_size and len(body) > self.warn_size:
            logger.warning("download/large: size=%d url=%s", len(body), request.url)
        encodings = ",".join(received.headers.getall("Content-Encoding", ()))
        if encodings and body:
            decompressed = await decompress(body, encodings.encode(errors="replace"), max_bytes)
            if decompressed is not None:
                headers = tuple(each for each in headers if each[0].lower() != b"content-encoding")
                body = decompressed
        return _response(request, received, headers, body)


def _response(request: Request, received: ReceivedResponse, headers: RawHeaders, body: bytes) -> Response:
    version = received.version
    is_compressed = headers is received.raw_headers and "Content-Encoding" in received.headers
    content_type = received.headers.get("Content-Type", "")
    response_class = None if is_compressed else _class_for(content_type)
    if response_class is None:
        response_class = responsetypes.from_args(headers=Headers(headers), url=request.url, body=body)
    encoding: dict[str, Any] = {}
    if issubclass(response_class, TextResponse):  # otherwise Scrapy detects it several times
        encoding["encoding"] = read_bom(body)[0] or _declared_encoding(content_type)
    response = response_class(
        request.url,
        status=received.status,
        body=body,
        ip_address=None if request.meta.get("proxy") else received.peer,
        protocol=f"HTTP/{version.major}.{version.minor}" if version else None,
        **encoding,
    )
    # The same as `Headers(headers)`, but each name is normalised only once.
    for name, value in headers:
        dict.setdefault(response.headers, _titled(name), []).append(value)
    return response


def _stopped(listeners: DownloadSignals, response: Response) -> Response:
    assert listeners.stop is not None
    response.flags.append("download_stopped")
    if listeners.stop.fail:
        listeners.stop.response = response
        raise listeners.stop
    return response


@lru_cache(maxsize=1024)
def _titled(name: bytes) -> bytes:
    return name.title()


@lru_cache(maxsize=256)
def _declared_encoding(content_type: str) -> str | None:
    """The encoding that the Content-Type names; None if it names none."""
    return http_content_type_encoding(content_type)


@lru_cache(maxsize=256)
def _class_for(content_type: str) -> type[Response] | None:
    """The response class by Content-Type; None if the body decides."""
    found = responsetypes.from_content_type(content_type)
    return None if found is Response else found


def _peer(connection: Connection) -> IPv4Address | IPv6Address:
    """The address at the other end; 0.0.0.0 if the connection is closed already."""
    transport = connection.transport
    address = transport.get_extra_info("peername") if transport is not None else None
    # It is not bound.
    return ip_address(address[0].partition("%")[0] if address else "0.0.0.0")  # nosec B104
