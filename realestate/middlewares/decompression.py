"""Decompresses response bodies.

A body that is damaged or incomplete is an error. A body that decompresses to more than the limit is one too: a few
kilobytes may expand to more than the memory holds.
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

#: Decompressed in pieces of this size, so that the limit is checked before the memory is full.
_PIECE = 256 * 1024
#: A body up to this size is decompressed in a few milliseconds; larger ones in a thread, so that the loop goes on.
_MAX_IN_LOOP = 1024 * 1024
#: No server compresses a page more often than this. Each time may cost the largest size again.
_MAX_ENCODINGS = 3
_GZIP_MAGIC = b"\x1f\x8b"
#: A server that compresses a page in several streams uses few. Thousands of empty ones would take minutes.
_MAX_STREAMS = 64


class TooLarge(ResponseDataLossError):
    """The body is larger than DOWNLOAD_MAXSIZE."""


async def decompress(body: bytes, encodings: bytes, max_bytes: int) -> bytes | None:
    """The decompressed body; `encodings` is the value of Content-Encoding. None if an encoding is not known.

    Raises ResponseDataLossError if the body is damaged or incomplete, TooLarge if it is larger than `max_bytes`.
    """
    try:
        return decompress_now(body, encodings, min(max_bytes, _MAX_IN_LOOP))
    except TooLarge:
        if max_bytes <= _MAX_IN_LOOP:
            raise
    return await asyncio.to_thread(decompress_now, body, encodings, max_bytes)


def decompress_now(body: bytes, encodings: bytes, max_bytes: int) -> bytes | None:
    """The same as `decompress`, in this thread."""
    names = [name.strip() for name in encodings.lower().split(b",")]
    if len(names) > _MAX_ENCODINGS or not all(name in _DECOMPRESSORS for name in names):
        return None
    for name in reversed(names):
        try:
            body = _DECOMPRESSORS[name](body, max_bytes)
        except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
            raise ResponseDataLossError(f"{name.decode()}: {error}") from error
        if len(body) > max_bytes:
            raise TooLarge(f"more than {max_bytes} bytes after decompression")
    return body


def _zlib(body: bytes, max_bytes: int, wbits: int) -> bytes:
    """A page may consist of several streams, one after the other."""
    pieces: list[bytes] = []
    size = 0
    rest = body
    for _ in range(_MAX_STREAMS):
        if not rest:
            return b"".join(pieces)
        stream = zlib.decompressobj(wbits)
        while rest and not stream.eof:
            pieces.append(stream.decompress(rest, _PIECE))
            size += len(pieces[-1])
            if size > max_bytes:
                return b"".join(pieces)
            rest = stream.unconsumed_tail
        if not stream.eof:
            raise EOFError("incomplete")
        rest = stream.unused_data if stream.unused_data.startswith(_GZIP_MAGIC) else b""
    if rest:
        raise EOFError(f"more than {_MAX_STREAMS} streams")
    return b"".join(pieces)


def _gzip(body: bytes, max_bytes: int) -> bytes:
    return _zlib(body, max_bytes, zlib.MAX_WBITS | 16)


def _deflate(body: bytes, max_bytes: int) -> bytes:
    """With its header or, as some servers send it, without."""
    try:
        return _zlib(body, max_bytes, zlib.MAX_WBITS)
    except zlib.error:
        return _zlib(body, max_bytes, -zlib.MAX_WBITS)


def _brotli(body: bytes, max_bytes: int) -> bytes:
    stream = brotli.Decompressor()
    pieces = [stream.process(body, output_buffer_limit=_PIECE)]
    size = len(pieces[0])
    while size <= max_bytes and not stream.is_finished():
        piece = stream.process(b"", output_buffer_limit=_PIECE)
        if not piece:
            raise EOFError("incomplete")
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _zstd(body: bytes, max_bytes: int) -> bytes:
    """A page may consist of several frames, as with `_zlib`."""
    pieces: list[bytes] = []
    size = 0
    rest = body
    for _ in range(_MAX_STREAMS):
        if not rest:
            break
        frame = zstd.ZstdDecompressor()
        pieces.append(frame.decompress(rest, max_bytes + 1 - size))
        size += len(pieces[-1])
        if size > max_bytes:
            return b"".join(pieces)
        if not frame.eof:
            raise EOFError("incomplete")
        rest = frame.unused_data
    if rest:
        raise EOFError(f"more than {_MAX_STREAMS} frames")
    return b"".join(pieces)


_DECOMPRESSORS: dict[bytes, Callable[[bytes, int], bytes]] = {
    b"gzip": _gzip,
    b"x-gzip": _gzip,
    b"deflate": _deflate,
    b"br": _brotli,
    b"zstd": _zstd,
    b"identity": lambda body, max_bytes: body,
    b"": lambda body, max_bytes: body,
}
