"""Sitemaps, which have the same form on every site, and robots.txt, which names them."""

import gzip
import io
import zlib
from collections.abc import Callable
from urllib.parse import urlsplit

from protego import Protego
from scrapy.http import Response
from scrapy.utils.sitemap import Sitemap

from realestate.crawling.page_outcomes import BrokenPage
from realestate.crawling.results import AnyLink, Results
from realestate.queue.page_budget import PageTooSlow

#: The largest sitemap file, unpacked. The protocol allows 50 MB.
MOST_BYTES = 60_000_000
_MARKS = (b"<urlset", b"<sitemapindex")
_ENDS = (b"</urlset>", b"</sitemapindex>")


def is_robots(response: Response) -> bool:
    return urlsplit(response.url).path.endswith("/robots.txt")


def named(response: Response, owns: Callable[[str], bool]) -> Results:
    """The sitemaps that a robots.txt names; /sitemap.xml if it names none."""
    text = response.body.decode("utf-8-sig", "ignore") if response.status == 200 else ""
    urls = [_absolute_url(response, each) for each in Protego.parse(text).sitemaps]
    own = [url for url in urls if url and owns(url)]
    return Results(searches=list(dict.fromkeys(own)) or [response.urljoin("/sitemap.xml")])


def is_sitemap(response: Response) -> bool:
    """Whether the content is a sitemap. URL and content type are not reliable."""
    return any(mark in _begin(response.body) for mark in _MARKS)


def read(response: Response, found: Callable[[str], AnyLink | None]) -> Results:
    """The items of a sitemap file, or the files of a sitemap index. `found` returns None for a URL to leave out."""
    try:
        text = _unpacked(response.body)
        sitemap = Sitemap(text)
        urls = [each["loc"] for each in sitemap]
    except PageTooSlow:
        raise
    except Exception as error:
        raise BrokenPage(f"not a sitemap: {error}") from error
    if not text.rstrip().endswith(_ENDS):
        raise BrokenPage("the sitemap is cut short")  # the parser would accept it
    if sitemap.type == "sitemapindex":
        return Results(searches=urls)
    return Results([each for url in urls if (each := found(url)) is not None])


def _absolute_url(response: Response, url: str) -> str | None:
    try:
        url = response.urljoin(url)
        return url if urlsplit(url).scheme in ("http", "https") else None
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
