"""The download handler: a request as it really leaves, an answer as it really was.

What is damaged on its way is no answer: it fails like a broken connection, so that it is tried again and never read.
"""

import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import ResponseDataLossError
from scrapy.http import Response
from scrapy.responsetypes import responsetypes

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # before Python 3.14
    from backports import zstd

#: Where a request carries the address that is asked in place of its own.
ENTERED = "entered"
#: Unpacked in pieces, so that a bomb is noticed before it goes off.
_PIECE = 256 * 1024


class ExitHandler(HTTP11DownloadHandler):
    """Scrapy's own, for both schemes."""

    async def download_request(self, request: Request) -> Response:
        entered = request.meta.get(ENTERED)
        response = await super().download_request(request.replace(url=entered) if entered else request)
        most = request.meta.get("download_maxsize", self.crawler.settings.getint("DOWNLOAD_MAXSIZE"))
        return unpacked(response.replace(url=request.url) if entered else response, most)


def unpacked(response: Response, most: int) -> Response:
    """Without its packing, of which nobody has to know; ResponseDataLossError if it is damaged or cut short, or if it
    would be larger than `most`."""
    packings = [name.strip().lower() for name in (response.headers.get("Content-Encoding") or b"").split(b",")]
    body = response.body
    if not body or packings == [b""]:
        return response
    for name in reversed(packings):
        unpack = _UNPACK.get(name)
        if unpack is None:
            return response  # nobody can read it: the parser will say so
        try:
            body = unpack(body, most)
        except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
            raise ResponseDataLossError(f"{name.decode()}: {error}") from error
        if len(body) > most:
            raise ResponseDataLossError(f"more than {most} bytes in a small parcel")
    headers = response.headers.copy()
    del headers["Content-Encoding"]
    kind = responsetypes.from_args(headers=headers, url=response.url, body=body)
    return response.replace(body=body, headers=headers, cls=kind)


def _zlib(body: bytes, most: int, wbits: int) -> bytes:
    found, pieces, size = zlib.decompressobj(wbits), [], 0
    rest = body
    while rest and size <= most:
        pieces.append(found.decompress(rest, _PIECE))
        size += len(pieces[-1])
        rest = found.unconsumed_tail
        if found.eof:
            return b"".join(pieces)
    if size <= most:
        raise EOFError("cut short")
    return b"".join(pieces)


def _gzip(body: bytes, most: int) -> bytes:
    return _zlib(body, most, zlib.MAX_WBITS | 16)


def _deflate(body: bytes, most: int) -> bytes:
    """With its header, or as some servers send it, without."""
    try:
        return _zlib(body, most, zlib.MAX_WBITS)
    except zlib.error:
        return _zlib(body, most, -zlib.MAX_WBITS)


def _brotli(body: bytes, most: int) -> bytes:
    found, pieces, size = brotli.Decompressor(), [], 0
    for begin in range(0, len(body), 4096):
        pieces.append(found.process(body[begin : begin + 4096]))
        size += len(pieces[-1])
        if size > most:
            return b"".join(pieces)
    if not found.is_finished():
        raise EOFError("cut short")
    return b"".join(pieces)


def _zstd(body: bytes, most: int) -> bytes:
    found = zstd.ZstdDecompressor()
    text: bytes = found.decompress(body, most + 1)
    if not found.eof and len(text) <= most:
        raise EOFError("cut short")
    return text


_UNPACK: dict[bytes, Callable[[bytes, int], bytes]] = {
    b"gzip": _gzip,
    b"x-gzip": _gzip,
    b"deflate": _deflate,
    b"br": _brotli,
    b"zstd": _zstd,
    b"identity": lambda body, most: body,
}
