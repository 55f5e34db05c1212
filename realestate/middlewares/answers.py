"""Answers as they come in, and the responses made of them."""

import logging
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.connector import Connection
from aiohttp.typedefs import RawHeaders
from pydispatch import dispatcher
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import ResponseDataLossError, StopDownload
from scrapy.http import Headers, Response, TextResponse
from scrapy.responsetypes import responsetypes
from twisted.python.failure import Failure
from w3lib.encoding import http_content_type_encoding, read_bom

from realestate.middlewares.packing import TooLarge, unpacked

logger = logging.getLogger(__name__)

#: Connections that brought an answer before, and who is at their other end.
_KNOWN: WeakKeyDictionary[Any, IPv4Address | IPv6Address] = WeakKeyDictionary()


class NoAnswer(aiohttp.ClientError):
    """A new connection ended before anything came."""


class Answer(aiohttp.ClientResponse):
    """Knows its connection. It may be gone when somebody asks for it."""

    peer: IPv4Address | IPv6Address
    protocol: Any

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """aiohttp asks once more where a connection broke. That is right for one that was kept and had died meanwhile;
        who hangs up on a new one means it, and is not asked twice behind the pace's back."""
        self.protocol = connection.protocol
        known = _KNOWN.get(self.protocol)
        if known is None:
            _KNOWN[self.protocol] = self.peer = _peer(connection)
        else:
            self.peer = known
        try:
            return await super().start(connection)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            if known is None:
                raise NoAnswer from error
            raise

    async def body(self, most: int, audience: "Audience | None" = None) -> bytes:
        """All of it, unless the audience has heard enough. ResponseDataLossError if it is cut short, or larger than
        `most`."""
        if (self.content_length or 0) > most:
            raise TooLarge(f"{self.content_length} bytes announced, {most} allowed")
        pieces, size = [], 0
        async for piece in self.content.iter_any():
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise TooLarge(f"more than {most} bytes")
            if audience and audience.has_enough(signals.bytes_received, data=piece):
                break
        if self._was_reset():
            raise ResponseDataLossError("the connection broke")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _was_reset(self) -> bool:
        """A body without a length ends with its connection; one that breaks is no end, though aiohttp takes it for
        one."""
        is_measured = "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        return not is_measured and isinstance(self.protocol.exception(), aiohttp.ClientOSError)


class Audience:
    """Whoever listens to Scrapy's signals of a download, which may end it."""

    stop: StopDownload | None = None

    def __init__(self, crawler: Crawler, request: Request) -> None:
        self.crawler = crawler
        self.request = request

    def has_enough(self, signal: object, **told: Any) -> bool:
        about = {"request": self.request, "spider": self.crawler.spider, **told}
        for _, result in self.crawler.signals.send_catch_log(signal, **about):
            if isinstance(result, Failure) and isinstance(result.value, StopDownload):
                self.stop = result.value
        return self.stop is not None


class Reader:
    """Makes responses of answers."""

    def __init__(self, crawler: Crawler, warn_size: int) -> None:
        self.crawler = crawler
        self.warn_size = warn_size
        #: Nobody, as a rule; then a piece of a page costs no more than itself. Who listens does so from the start.
        self._is_heard = any(
            True
            for signal in (signals.headers_received, signals.bytes_received)
            for _ in dispatcher.liveReceivers(dispatcher.getAllReceivers(crawler, signal))
        )

    async def response(self, request: Request, answer: Answer, most: int) -> Response:
        """The whole of it, unpacked, under the address that was meant."""
        headers = answer.raw_headers
        audience = Audience(self.crawler, request) if self._is_heard else None
        if audience and audience.has_enough(
            signals.headers_received, headers=Headers(headers), body_length=answer.content_length
        ):
            return _stopped(audience, _made(request, answer, headers, b""))
        body = await answer.body(most, audience)
        if audience and audience.stop:
            return _stopped(audience, _made(request, answer, headers, body))
        if self.warn_size and len(body) > self.warn_size:
            logger.warning("a large page: %d bytes: %s", len(body), request.url)
        packings = ",".join(answer.headers.getall("Content-Encoding", ()))
        if packings and body and (inside := await unpacked(body, packings.encode(errors="replace"), most)) is not None:
            headers = tuple(each for each in headers if each[0].lower() != b"content-encoding")
            body = inside
        return _made(request, answer, headers, body)


def _made(request: Request, answer: Answer, headers: RawHeaders, body: bytes) -> Response:
    version = answer.version
    is_packed = headers is answer.raw_headers and "Content-Encoding" in answer.headers
    kind = None if is_packed else _kind_of(answer.headers.get("Content-Type", ""))
    if kind is None:
        kind = responsetypes.from_args(headers=Headers(headers), url=request.url, body=body)
    told: dict[str, Any] = {}
    if issubclass(kind, TextResponse):  # it would find out itself, several times
        told["encoding"] = read_bom(body)[0] or _encoding_of(answer.headers.get("Content-Type", ""))
    response = kind(
        request.url,
        status=answer.status,
        body=body,
        ip_address=None if request.meta.get("proxy") else answer.peer,
        protocol=f"HTTP/{version.major}.{version.minor}" if version else None,
        **told,
    )
    # As `Headers` does with what it is given, but a name is spelled anew only once.
    for name, value in headers:
        dict.setdefault(response.headers, _titled(name), []).append(value)
    return response


def _stopped(audience: Audience, response: Response) -> Response:
    assert audience.stop is not None
    response.flags.append("download_stopped")
    if audience.stop.fail:
        audience.stop.response = response
        raise audience.stop
    return response


@lru_cache(maxsize=1024)
def _titled(name: bytes) -> bytes:
    return name.title()


@lru_cache(maxsize=256)
def _encoding_of(content_type: str) -> str | None:
    """None if the page has to be asked."""
    return http_content_type_encoding(content_type)


@lru_cache(maxsize=256)
def _kind_of(content_type: str) -> type[Response] | None:
    """By what it says it is; None if it has to be looked at."""
    kind = responsetypes.from_content_type(content_type)
    return None if kind is Response else kind


def _peer(connection: Connection) -> IPv4Address | IPv6Address:
    """Nowhere, if it has left already."""
    told = connection.transport.get_extra_info("peername") if connection.transport is not None else None
    return ip_address(told[0].partition("%")[0] if told else "0.0.0.0")
