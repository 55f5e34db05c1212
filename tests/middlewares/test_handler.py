"""What is damaged on its way is no answer."""

import gzip
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from scrapy.exceptions import ResponseDataLossError
from scrapy.http import HtmlResponse, Response

from realestate.middlewares.handler import unpacked

URL = "https://portal.example/homes/5"
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


def answer(body: bytes, packing: str) -> Response:
    headers = {"Content-Encoding": packing, "Content-Type": "text/html; charset=utf-8"}
    return Response(URL, body=body, headers=headers)


@pytest.mark.parametrize("name", PACK)
def test_a_page_is_unpacked(name: str) -> None:
    page = unpacked(answer(PACK[name](PAGE), name), MOST)
    assert isinstance(page, HtmlResponse)
    assert page.body == PAGE
    assert "Content-Encoding" not in page.headers


def test_as_some_servers_send_it() -> None:
    assert unpacked(answer(raw_deflate(PAGE), "deflate"), MOST).body == PAGE
    twice = answer(brotli.compress(gzip.compress(PAGE)), "gzip, br")
    assert unpacked(twice, MOST).body == PAGE
    assert unpacked(answer(PAGE, "x-unknown"), MOST).body == PAGE
    assert unpacked(answer(b"", "gzip"), MOST).body == b""
    assert unpacked(answer(PAGE, "identity"), MOST).body == PAGE


@pytest.mark.parametrize("name", PACK)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_half_a_parcel_is_no_page(name: str, share: float) -> None:
    parcel = PACK[name](PAGE)
    with pytest.raises(ResponseDataLossError):
        unpacked(answer(parcel[: int(len(parcel) * share)], name), MOST)


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_a_damaged_parcel_is_no_page(name: str) -> None:
    parcel = bytearray(PACK[name](PAGE))
    parcel[-6] ^= 255
    with pytest.raises(ResponseDataLossError):
        unpacked(answer(bytes(parcel), name), MOST)


@pytest.mark.parametrize("name", PACK)
def test_a_bomb_does_not_go_off(name: str) -> None:
    with pytest.raises(ResponseDataLossError, match="small parcel"):
        unpacked(answer(PACK[name](b" " * 50_000_000), name), MOST)
