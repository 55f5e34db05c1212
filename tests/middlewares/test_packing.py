"""What is damaged on its way is no answer."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from scrapy.exceptions import ResponseDataLossError

from realestate.middlewares.packing import TooLarge, unpack, unpacked

PAGE = b"<html><p>" + bytes(range(32, 127)) * 300 + b"</p></html>"
MOST = 1_000_000

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


@pytest.mark.parametrize("name", PACK)
def test_a_page_is_unpacked(name: str) -> None:
    assert unpack(PACK[name](PAGE), name.encode(), MOST) == PAGE
    assert unpack(PACK[name](PAGE), name.upper().encode(), len(PAGE)) == PAGE, "exactly as large as allowed"
    assert unpack(PACK[name](b""), name.encode(), MOST) == b""


def test_as_some_servers_send_it() -> None:
    assert unpack(raw_deflate(PAGE), b"deflate", MOST) == PAGE
    assert unpack(brotli.compress(gzip.compress(PAGE)), b"gzip, br", MOST) == PAGE
    assert unpack(PAGE, b"identity", MOST) == PAGE
    assert unpack(gzip.compress(PAGE) + gzip.compress(PAGE), b"gzip", MOST) == PAGE * 2
    assert unpack(zstd.compress(PAGE) + zstd.compress(PAGE), b"zstd", MOST) == PAGE * 2
    assert unpack(gzip.compress(PAGE) + b"\0\0\0", b"gzip", MOST) == PAGE, "filled up to a block"


def test_what_nobody_can_unpack_stays_as_it_is() -> None:
    assert unpack(PAGE, b"x-unknown", MOST) is None
    assert unpack(PAGE, b"gzip, x-unknown", MOST) is None
    assert unpack(PAGE, b", ".join([b"gzip"] * 1000), MOST) is None


@pytest.mark.parametrize("name", PACK)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_half_a_parcel_is_no_page(name: str, share: float) -> None:
    parcel = PACK[name](PAGE)
    with pytest.raises(ResponseDataLossError):
        unpack(parcel[: int(len(parcel) * share)], name.encode(), MOST)


@pytest.mark.parametrize("name", PACK)
def test_a_parcel_without_its_last_byte_is_no_page(name: str) -> None:
    with pytest.raises(ResponseDataLossError):
        unpack(PACK[name](PAGE)[:-1], name.encode(), MOST)


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_a_damaged_parcel_is_no_page(name: str) -> None:
    parcel = bytearray(PACK[name](PAGE))
    parcel[-6] ^= 255
    with pytest.raises(ResponseDataLossError):
        unpack(bytes(parcel), name.encode(), MOST)


@pytest.mark.parametrize("name", PACK)
def test_plain_text_is_no_parcel(name: str) -> None:
    with pytest.raises(ResponseDataLossError):
        unpack(b"<html>Service Unavailable</html>", name.encode(), MOST)


@pytest.mark.parametrize("name", PACK)
def test_a_bomb_does_not_go_off(name: str) -> None:
    bomb = PACK[name](b" " * 100_000_000)
    tracemalloc.start()
    with pytest.raises(TooLarge, match="small parcel"):
        unpack(bomb, name.encode(), MOST)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10 * MOST


def test_a_bomb_in_a_bomb_does_not_go_off() -> None:
    inner = gzip.compress(b" " * 100_000_000)
    with pytest.raises(TooLarge):
        unpack(gzip.compress(inner), b"gzip, gzip", MOST)


@pytest.mark.parametrize("name", PACK)
def test_a_large_page_is_unpacked_aside(name: str) -> None:
    """The loop goes on meanwhile."""
    large = PAGE * 100
    assert len(large) > 2 * 1024 * 1024

    async def both() -> list[bytes | None]:
        parcel = PACK[name](large)
        return [
            await unpacked(parcel, name.encode(), len(large)),
            await unpacked(PACK[name](PAGE), name.encode(), 10**7),
        ]

    assert asyncio.run(both()) == [large, PAGE]
    with pytest.raises(TooLarge):
        asyncio.run(unpacked(PACK[name](large), name.encode(), len(large) - 1))
