"""Sitemaps: the one kind of search page that every site has in the same form; and robots.txt, which names them."""

import gzip
import io
import zlib
from collections.abc import Callable
from urllib.parse import urlsplit

from protego import Protego
from scrapy.http import Response
from scrapy.utils.sitemap import Sitemap

from realestate.crawling.outcomes import BrokenPage
from realestate.crawling.results import AnyLink, Results

#: Of a sitemap's file, unpacked; the protocol allows 50 MB.
MOST_BYTES = 60_000_000
_MARKS = (b"<urlset", b"<sitemapindex")
_ENDS = (b"</urlset>", b"</sitemapindex>")


def is_robots(response: Response) -> bool:
    return urlsplit(response.url).path.endswith("/robots.txt")


def named(response: Response, owns: Callable[[str], bool]) -> Results:
    """The sitemaps that a robots.txt names; one where most sites have theirs, if there is none or it names none."""
    text = response.body.decode("utf-8-sig", "ignore") if response.status == 200 else ""
    places = [place for each in Protego.parse(text).sitemaps if (place := _place(response, each)) and owns(place)]
    return Results(searches=list(dict.fromkeys(places)) or [response.urljoin("/sitemap.xml")])


def is_sitemap(response: Response) -> bool:
    """By what it holds: its address and its type tell little."""
    return any(mark in _begin(response.body) for mark in _MARKS)


def read(response: Response, found: Callable[[str], AnyLink | None]) -> Results:
    """The listings of a sitemap's file, or the files of its index. What is neither is left out."""
    try:
        text = _unpacked(response.body)
        sitemap = Sitemap(text)
        places = [each["loc"] for each in sitemap]
    except Exception as error:
        raise BrokenPage(f"no sitemap: {error}") from error
    if not text.rstrip().endswith(_ENDS):
        raise BrokenPage("a sitemap cut short")  # the parser would make do with what there is
    if sitemap.type == "sitemapindex":
        return Results(searches=places)
    return Results([each for place in places if (each := found(place)) is not None])


def _place(response: Response, told: str) -> str | None:
    try:
        place = response.urljoin(told)
        return place if urlsplit(place).scheme in ("http", "https") else None
    except ValueError:
        return None


def _begin(body: bytes) -> bytes:
    if body[:2] != b"\x1f\x8b":
        return body[:1000]
    try:
        return zlib.decompressobj(wbits=31).decompress(body, 1000)
    except zlib.error:
        return b""


def _unpacked(body: bytes) -> bytes:
    if body[:2] != b"\x1f\x8b":
        return body
    with gzip.open(io.BytesIO(body)) as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise ValueError("too large")
    return text
