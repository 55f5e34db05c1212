"""Bodies without their packing, of which nobody behind the handler has to know.

Strictly: what is damaged or cut short is no body. Carefully: a small parcel may hold more than there is memory.
"""

import asyncio
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
from scrapy.exceptions import ResponseDataLossError

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # before Python 3.14
    from backports import zstd

#: Unpacked in pieces, so that a bomb is noticed before it goes off.
_PIECE = 256 * 1024
#: So much is unpacked in a few milliseconds; for more the loop does not wait.
_AT_ONCE = 1024 * 1024
#: Nobody packs a page more often; each time costs the largest size again.
_MOST_PACKINGS = 3


class TooLarge(ResponseDataLossError):
    """More than anybody wants to have."""


async def unpacked(body: bytes, packings: bytes, most: int) -> bytes | None:
    """What is inside, by the value of its Content-Encoding; None if we cannot tell. ResponseDataLossError if it is
    damaged or cut short, or if it would be larger than `most`."""
    try:
        return unpack(body, packings, min(most, _AT_ONCE))
    except TooLarge:
        if most <= _AT_ONCE:
            raise
    return await asyncio.to_thread(unpack, body, packings, most)


def unpack(body: bytes, packings: bytes, most: int) -> bytes | None:
    """As `unpacked`, at once."""
    names = [name.strip() for name in packings.lower().split(b",")]
    if len(names) > _MOST_PACKINGS or not all(name in _UNPACK for name in names):
        return None
    for name in reversed(names):
        try:
            body = _UNPACK[name](body, most)
        except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
            raise ResponseDataLossError(f"{name.decode()}: {error}") from error
        if len(body) > most:
            raise TooLarge(f"more than {most} bytes in a small parcel")
    return body


def _zlib(body: bytes, most: int, wbits: int) -> bytes:
    """One stream after another: a server may pack a page in several."""
    pieces: list[bytes] = []
    size, rest = 0, body
    for _ in range(_MOST_STREAMS):
        if not rest:
            return b"".join(pieces)
        found = zlib.decompressobj(wbits)
        while rest and not found.eof:
            pieces.append(found.decompress(rest, _PIECE))
            size += len(pieces[-1])
            if size > most:
                return b"".join(pieces)
            rest = found.unconsumed_tail
        if not found.eof:
            raise EOFError("cut short")
        rest = found.unused_data if found.unused_data.startswith(_GZIP_MARK) else b""
    if rest:
        raise EOFError("more parcels in one than anybody packs")
    return b"".join(pieces)


_GZIP_MARK = b"\x1f\x8b"
#: A server that packs a page in pieces packs it in few; thousands of empty ones would take minutes.
_MOST_STREAMS = 64


def _gzip(body: bytes, most: int) -> bytes:
    return _zlib(body, most, zlib.MAX_WBITS | 16)


def _deflate(body: bytes, most: int) -> bytes:
    """With its header, or as some servers send it, without."""
    try:
        return _zlib(body, most, zlib.MAX_WBITS)
    except zlib.error:
        return _zlib(body, most, -zlib.MAX_WBITS)


def _brotli(body: bytes, most: int) -> bytes:
    found = brotli.Decompressor()
    pieces = [found.process(body, output_buffer_limit=_PIECE)]
    size = len(pieces[0])
    while size <= most and not found.is_finished():
        piece = found.process(b"", output_buffer_limit=_PIECE)
        if not piece:
            raise EOFError("cut short")
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _zstd(body: bytes, most: int) -> bytes:
    """One frame after another, as `_zlib`."""
    pieces: list[bytes] = []
    size, rest = 0, body
    for _ in range(_MOST_STREAMS):
        if not rest:
            break
        found = zstd.ZstdDecompressor()
        pieces.append(found.decompress(rest, most + 1 - size))
        size += len(pieces[-1])
        if size > most:
            return b"".join(pieces)
        if not found.eof:
            raise EOFError("cut short")
        rest = found.unused_data
    if rest:
        raise EOFError("more parcels in one than anybody packs")
    return b"".join(pieces)


_UNPACK: dict[bytes, Callable[[bytes, int], bytes]] = {
    b"gzip": _gzip,
    b"x-gzip": _gzip,
    b"deflate": _deflate,
    b"br": _brotli,
    b"zstd": _zstd,
    b"identity": lambda body, most: body,
    b"": lambda body, most: body,
}
