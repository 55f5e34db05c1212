"""Photos are requested only with PHOTO_HASHES, through the queue, and only their hashes are stored."""

import asyncio
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image, ImageDraw
from scrapy.crawler import Crawler
from scrapy.http import Response

from realestate.crawling.photos import NoPhoto, hash_of
from realestate.crawling.telephones import PRIVATE
from realestate.items import Listing
from realestate.queue import codec
from realestate.spiders.bina import BinaSpider
from realestate.storage.handle import provide_store
from realestate.storage.homes import PhotoHash
from tests.crawling.fake_fleet import FakeFleet
from tests.homes.test_linkage import advert

PHOTOS = ["https://img.bina.test/1.jpg", "https://img.bina.test/2.jpg", "http://img.bina.test/3.jpg"]


class FakeStore:
    def __init__(self) -> None:
        self.kept: list[PhotoHash] = []

    async def ask(self, question: Callable[[Any], Any]) -> Any:
        return question(self)

    def photo_hashes(self, portal: str, refs: Any = None) -> dict[str, dict[str, int]]:
        return {"1": {each.photo: each.hash for each in self.kept}}

    def keep_photo_hashes(self, read: list[PhotoHash]) -> None:
        self.kept += read


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def spider(make_crawler: Callable[..., Crawler], store: FakeStore, request: pytest.FixtureRequest) -> Any:
    crawler = make_crawler(BinaSpider, PHOTO_HASHES=getattr(request, "param", 2))
    FakeFleet().register(crawler)
    crawler.spider = BinaSpider.from_crawler(crawler)
    provide_store(crawler, store)
    return crawler.spider


def listing() -> Listing:
    return replace(advert("1"), photos=list(PHOTOS))


def picture(size: tuple[int, int] = (640, 480), form: str = "JPEG", seed: int = 1) -> bytes:
    """A drawing that looks the same in every size."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    width, height = size
    for at in range(1, 6):
        left = width * ((seed * at * 37) % 80) // 100
        top = height * ((seed * at * 53) % 80) // 100
        draw.rectangle((left, top, left + width // 5, top + height // 5), fill=(40 * at, 20 * at, 90))
    written = io.BytesIO()
    image.save(written, form)
    return written.getvalue()


def requests(spider: Any) -> list[Any]:
    return list(asyncio.run(spider.photos.requests_for(listing())))


def read(spider: Any, body: bytes, status: int = 200) -> None:
    async def inside() -> list[Any]:
        request = requests_made[0]
        return [
            each async for each in spider.read_photo(Response(request.url, status, body=body, request=request), "1")
        ]

    requests_made = requests(spider)
    assert asyncio.run(inside()) == []


@pytest.mark.parametrize("spider", [0], indirect=True)
def test_by_default_no_photo_is_requested(spider: Any) -> None:
    assert requests(spider) == []


def test_the_first_photos_are_requested_through_the_queue_after_all_pages(spider: Any) -> None:
    first, second = requests(spider)
    assert [first.url, second.url] == PHOTOS[:2]
    assert first.priority < 0
    assert first.meta[PRIVATE], "the photo is not kept as a raw page"
    travelled = codec.decode(codec.encode(first, spider), spider)
    assert travelled.callback == spider.read_photo
    assert travelled.meta["allow_offsite"]


def test_only_the_hash_is_stored_and_the_photo_is_requested_once(spider: Any, store: FakeStore) -> None:
    read(spider, picture())
    (kept,) = store.kept
    assert (kept.portal, kept.ref, kept.photo, kept.hash) == ("bina", "1", PHOTOS[0], hash_of(picture()))
    assert [each.url for each in requests(spider)] == PHOTOS[1:2]


@pytest.mark.parametrize(("body", "status"), [(b"", 200), (b"<html>", 200), (picture()[:400], 200), (picture(), 404)])
def test_a_response_without_a_photo_is_counted(spider: Any, store: FakeStore, body: bytes, status: int) -> None:
    read(spider, body, status)
    assert store.kept == []
    assert spider.crawler.stats.get_value("page/photo/unusable") == 1


def test_a_photo_in_another_size_has_nearly_the_same_hash() -> None:
    one = hash_of(picture())
    smaller = hash_of(picture((320, 240), "PNG"))
    other = hash_of(picture(seed=2))
    assert (one ^ smaller).bit_count() <= 6 < (one ^ other).bit_count()
    assert -(2**63) <= one < 2**63


def test_a_picture_of_one_colour_has_no_hash() -> None:
    written = io.BytesIO()
    Image.new("RGB", (200, 200), "grey").save(written, "PNG")
    with pytest.raises(NoPhoto):
        hash_of(written.getvalue())
