"""Response bodies are decompressed completely, or raise an error."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from scrapy.exceptions import ResponseDataLossError

from realestate.middlewares.decompression import TooLarge, decompress, decompress_now

PAGE = b"<html><p>" + bytes(range(32, 127)) * 300 + b"</p></html>"
MAX_BYTES = 1_000_000

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": partial(brotli.compress, quality=5),
    "zstd": zstd.compress,
}


def raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


@pytest.mark.parametrize("name", COMPRESS)
def test_a_page_is_decompressed(name: str) -> None:
    assert decompress_now(COMPRESS[name](PAGE), name.encode(), MAX_BYTES) == PAGE
    assert decompress_now(COMPRESS[name](PAGE), name.upper().encode(), len(PAGE)) == PAGE, "exactly as large as allowed"
    assert decompress_now(COMPRESS[name](b""), name.encode(), MAX_BYTES) == b""


def test_unusual_forms_are_decompressed() -> None:
    assert decompress_now(raw_deflate(PAGE), b"deflate", MAX_BYTES) == PAGE
    assert decompress_now(brotli.compress(gzip.compress(PAGE)), b"gzip, br", MAX_BYTES) == PAGE
    assert decompress_now(PAGE, b"identity", MAX_BYTES) == PAGE
    assert decompress_now(gzip.compress(PAGE) + gzip.compress(PAGE), b"gzip", MAX_BYTES) == PAGE * 2
    assert decompress_now(zstd.compress(PAGE) + zstd.compress(PAGE), b"zstd", MAX_BYTES) == PAGE * 2
    assert decompress_now(gzip.compress(PAGE) + b"\0\0\0", b"gzip", MAX_BYTES) == PAGE, "filled up to a block"


def test_an_unknown_encoding_returns_none() -> None:
    assert decompress_now(PAGE, b"x-unknown", MAX_BYTES) is None
    assert decompress_now(PAGE, b"gzip, x-unknown", MAX_BYTES) is None
    assert decompress_now(PAGE, b", ".join([b"gzip"] * 1000), MAX_BYTES) is None


@pytest.mark.parametrize("name", COMPRESS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_an_incomplete_body_is_an_error(name: str, share: float) -> None:
    compressed = COMPRESS[name](PAGE)
    with pytest.raises(ResponseDataLossError):
        decompress_now(compressed[: int(len(compressed) * share)], name.encode(), MAX_BYTES)


@pytest.mark.parametrize("name", COMPRESS)
def test_a_body_without_its_last_byte_is_an_error(name: str) -> None:
    with pytest.raises(ResponseDataLossError):
        decompress_now(COMPRESS[name](PAGE)[:-1], name.encode(), MAX_BYTES)


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_a_damaged_body_is_an_error(name: str) -> None:
    compressed = bytearray(COMPRESS[name](PAGE))
    compressed[-6] ^= 255
    with pytest.raises(ResponseDataLossError):
        decompress_now(bytes(compressed), name.encode(), MAX_BYTES)


@pytest.mark.parametrize("name", COMPRESS)
def test_plain_text_with_a_compressed_encoding_is_an_error(name: str) -> None:
    with pytest.raises(ResponseDataLossError):
        decompress_now(b"<html>Service Unavailable</html>", name.encode(), MAX_BYTES)


@pytest.mark.parametrize("name", COMPRESS)
def test_a_decompression_bomb_uses_little_memory(name: str) -> None:
    bomb = COMPRESS[name](b" " * 20_000_000)
    tracemalloc.start()
    with pytest.raises(TooLarge, match="after decompression"):
        decompress_now(bomb, name.encode(), MAX_BYTES)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * MAX_BYTES


def test_a_bomb_inside_a_bomb_is_an_error() -> None:
    inner = gzip.compress(b" " * 20_000_000)
    with pytest.raises(TooLarge):
        decompress_now(gzip.compress(inner), b"gzip, gzip", MAX_BYTES)


@pytest.mark.parametrize("name", COMPRESS)
def test_a_large_page_is_decompressed_in_a_thread(name: str) -> None:
    """The event loop goes on meanwhile."""
    large = PAGE * 100
    assert len(large) > 2 * 1024 * 1024

    async def both() -> list[bytes | None]:
        compressed = COMPRESS[name](large)
        return [
            await decompress(compressed, name.encode(), len(large)),
            await decompress(COMPRESS[name](PAGE), name.encode(), 10**7),
        ]

    assert asyncio.run(both()) == [large, PAGE]
    with pytest.raises(TooLarge):
        asyncio.run(decompress(COMPRESS[name](large), name.encode(), len(large) - 1))
