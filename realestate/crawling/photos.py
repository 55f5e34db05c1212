"""Perceptual hashes of photos, by which adverts of one home are recognised. Requested only with PHOTO_HASHES above 0.

A photo is read, hashed and dropped: it is never stored. Its request goes through the portal's queue like every other
one, after all pages, so the fleet's rate limit, robots.txt and the rules of safe addresses hold for it.
"""

import io
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from scrapy import Request
from scrapy.http import Response

from realestate.crawling.page_requests import PRIORITY
from realestate.crawling.telephones import PRIVATE
from realestate.items import Listing
from realestate.storage.handle import store_of
from realestate.storage.homes import PhotoHash

if TYPE_CHECKING:
    from realestate.crawling.portal_spider import PortalSpider

#: A larger picture is not decoded: a small file may unpack to gigabytes.
MOST_PIXELS = 50_000_000
#: A hash with fewer bits of one kind is of a picture that shows nothing: one colour, or a logo on a blank page.
_FEWEST_BITS = 16
_BITS = 64


class NoPhoto(ValueError):
    """The response is no picture that can be compared."""


def hash_of(body: bytes) -> int:
    """Return the perceptual hash of a photo as a signed number of 64 bits. Raises NoPhoto."""
    import imagehash
    from PIL import Image

    try:
        with catch_warnings():
            simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(body)) as photo:
                if photo.width * photo.height > MOST_PIXELS:
                    raise NoPhoto("too many pixels")
                photo.draft("L", (256, 256))
                bits = imagehash.phash(photo).hash.flatten().tolist()
    except NoPhoto:
        raise
    except Exception as error:  # Pillow raises many kinds for a broken file
        raise NoPhoto(type(error).__name__) from None
    if not _FEWEST_BITS <= sum(bits) <= _BITS - _FEWEST_BITS:
        raise NoPhoto("it shows nothing")
    number = int("".join("1" if bit else "0" for bit in bits), 2)
    return number - 2**_BITS if number >= 2 ** (_BITS - 1) else number


class PhotoRequests:
    """Requests the first photos of a listing after the listing itself, and hashes them."""

    def __init__(self, spider: "PortalSpider") -> None:
        self.spider = spider

    @property
    def most(self) -> int:
        return int(self.spider.crawler.settings.getint("PHOTO_HASHES"))

    async def requests_for(self, listing: Listing) -> Sequence[Request]:
        """The requests for those photos whose hashes are not stored yet."""
        wanted = [str(url) for url in listing.photos[: self.most] if str(url).startswith("https://")]
        if not wanted:
            return ()
        refs = [listing.ref]
        known = await store_of(self.spider.crawler).ask(lambda store: store.photo_hashes(self.spider.name, refs))
        return [self._request(url, listing.ref) for url in wanted if url not in known.get(listing.ref, {})]

    def _request(self, url: str, ref: str) -> Request:
        return Request(
            url,
            callback=self.spider.read_photo,
            errback=self.spider.on_failure,
            cb_kwargs={"ref": ref},
            priority=PRIORITY["photo"],
            # photos are mostly on another host
            meta={"stage": "photo", PRIVATE: True, "allow_offsite": True},
        )

    async def read(self, response: Response, ref: str) -> None:
        """Store the hash. A response that is no photo is counted; it is no dead letter, since nothing is missing."""
        assert response.request is not None
        outcomes = self.spider.outcomes
        if not self.most:
            return
        url = response.meta.get("redirect_urls", [response.url])[0]
        try:
            if response.status != 200:
                raise NoPhoto(f"status {response.status}")
            found = hash_of(response.body)
        except NoPhoto as error:
            outcomes.record("unusable", response.request, error, level=logging.INFO)
            return
        kept = [PhotoHash(self.spider.name, ref, url, found)]
        await store_of(self.spider.crawler).ask(lambda store: store.keep_photo_hashes(kept))
        outcomes.record("ok", response.request)
