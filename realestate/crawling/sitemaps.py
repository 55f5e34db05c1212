"""Sitemaps, which have the same form on every site, and robots.txt, which names them.

A site may be hostile: everything that is read has a limit, and one bad entry loses only itself.
"""

import logging
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from lxml import etree  # type: ignore[import-untyped]
from protego import Protego
from scrapy.http import Response

from realestate.crawling.page_outcomes import BrokenPage
from realestate.crawling.results import AnyLink, Results
from realestate.parsing import robots_texts
from realestate.parsing.urls import web_url

logger = logging.getLogger(__name__)

#: The largest sitemap file, unpacked. The protocol allows 50 MB.
MAX_BYTES = 60_000_000
#: URLs that are read of one file. The protocol allows no more.
MAX_URLS = 50_000
#: XML elements that are read of one file. A file with all its photos has fewer.
MAX_ELEMENTS = 2_000_000
#: Levels of sitemaps below a seed: robots.txt, index, index, file. The protocol allows no index in an index.
MAX_DEPTH = 3
#: Sitemap files below one seed, on all levels together. Each has up to MAX_URLS listings.
MAX_FILES = 10_000
#: A gzip file consists of one stream. Thousands of empty ones would take minutes.
MAX_STREAMS = 64
#: `request.meta` key of a sitemap that another one or a robots.txt names: its SitemapBudget.
BUDGET = "sitemap_budget"

_MARKS = (b"<urlset", b"<sitemapindex")
_ENDS = (b"</urlset>", b"</sitemapindex>")
_ENTRIES = {"urlset": "url", "sitemapindex": "sitemap"}
_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 64 * 1024


def is_sitemap_url(url: str) -> bool:
    """Whether the URL looks like that of a sitemap, or of a robots.txt that names sitemaps."""
    return urlsplit(url).path.endswith((".xml", ".xml.gz", "/robots.txt"))


def is_html(document: bytes) -> bool:
    """Whether a document begins as an HTML page does."""
    return document.lstrip(b"\xef\xbb\xbf \t\r\n")[:14].lower().startswith((b"<html", b"<!doctype html"))


def is_robots(response: Response) -> bool:
    return urlsplit(response.url).path.endswith("/robots.txt")


def named(response: Response, owns: Callable[[str], bool]) -> Results:
    """The sitemaps that a robots.txt names; /sitemap.xml if it names none."""
    text = robots_texts.limited(response.body).text if response.status == 200 else ""
    urls = [_absolute_url(response, each) for each in Protego.parse(text).sitemaps]
    own = [url for url in urls if url and owns(url)]
    return Results(searches=list(dict.fromkeys(own)) or [response.urljoin("/sitemap.xml")])


def is_sitemap(response: Response) -> bool:
    """Whether the content is a sitemap. URL and content type are not reliable."""
    return any(mark in _begin(response.body) for mark in _MARKS)


def read(response: Response, found: Callable[[str], AnyLink | None]) -> Results:
    """The items of a sitemap file, or the files of a sitemap index. `found` returns None for a URL to leave out.

    An entry that is not an absolute http URL is counted as unreadable and left out."""
    text = _unpacked(response.body)
    if not text.rstrip().endswith(_ENDS):
        raise BrokenPage("the sitemap is cut short")  # the parser would accept it
    entries = _entries(text)
    if entries.is_full:
        logger.warning("sitemap/cut_short url=%s: only its first %d URLs are read", response.url, len(entries.urls))
    is_index = entries.root == "sitemapindex"
    urls, links, bad = _sorted(entries.urls, (lambda url: None) if is_index else found)
    if bad:
        logger.warning("sitemap/bad_urls url=%s count=%d first=%r", response.url, len(bad), bad[0][:100])
    searches = list(dict.fromkeys(urls)) if is_index else []
    return Results(links, searches=searches, unreadable=len(bad), is_cut=entries.is_full)


def _sorted(texts: list[str], found: Callable[[str], AnyLink | None]) -> tuple[list[str], list[AnyLink], list[str]]:
    """The URLs that can be used, the links that `found` makes of them, and the texts that are no URLs."""
    urls: list[str] = []
    links: list[AnyLink] = []
    bad: list[str] = []
    for text in texts:
        try:
            url = web_url(text)
            link = found(url) if url else None
        except ValueError:  # not the URL of an item, though it looked like one
            url = None
        if url is None:
            bad.append(text)
            continue
        urls.append(url)
        if link is not None:
            links.append(link)
    return urls, links, bad


@dataclass(frozen=True, slots=True)
class SitemapBudget:
    """How many more sitemaps may follow from one. It is divided among them, so that all together stay below the limit
    whichever worker reads them."""

    depth: int = 0
    files: int = MAX_FILES

    @classmethod
    def from_meta(cls, meta: dict[str, Any]) -> Self:
        value = meta.get(BUDGET)
        return cls(*value) if value else cls()

    def divided(self, urls: list[str]) -> tuple[list[str], "SitemapBudget"]:
        """Those of the sitemaps that may be read, and the budget of each."""
        kept = urls[: self.files] if self.depth < MAX_DEPTH else []
        share = (self.files - len(kept)) // len(kept) if kept else 0
        return kept, SitemapBudget(self.depth + 1, share)

    def as_meta(self) -> dict[str, Any]:
        return {BUDGET: (self.depth, self.files)}


class _Entries:
    """Collects the URLs of a sitemap while it is parsed. No tree is built: it would take more memory than the file."""

    def __init__(self) -> None:
        self.root = ""
        self.urls: list[str] = []
        self.elements = 0
        self._parents: list[str] = []
        self._text: list[str] | None = None

    @property
    def is_full(self) -> bool:
        return len(self.urls) >= MAX_URLS or self.elements >= MAX_ELEMENTS

    def start(self, tag: str, attributes: object) -> None:
        self.elements += 1
        name = tag.rpartition("}")[2]
        if not self._parents:
            self.root = self.root or name
        elif name == "loc" and self._parents[-1] == _ENTRIES.get(self.root):
            self._text = []
        self._parents.append(name)

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        self._parents.pop()
        if self._text is not None and tag.rpartition("}")[2] == "loc":
            if not self.is_full:
                self.urls.append("".join(self._text).strip())
            self._text = None

    def doctype(self, *parts: object) -> None:
        """No sitemap needs one. Entities are declared there, and they can expand to gigabytes or read files."""
        raise BrokenPage("not a sitemap: it has a DOCTYPE")

    def close(self) -> "_Entries":
        return self


def _entries(text: bytes) -> _Entries:
    """The entries of a sitemap. Small mistakes in its XML are forgiven."""
    entries = _Entries()
    parser = etree.XMLParser(
        target=entries, recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        for piece in _pieces(text):
            parser.feed(piece)
            if entries.is_full:
                break
        else:
            parser.close()
    except etree.LxmlError as error:
        raise BrokenPage(f"not a sitemap: {error}") from error
    if entries.root not in _ENTRIES:
        raise BrokenPage(f"not a sitemap: its first element is {entries.root[:100]!r}")
    return entries


def _pieces(text: bytes) -> Iterator[bytes]:
    return (text[begin : begin + _PIECE] for begin in range(0, len(text), _PIECE))


def _absolute_url(response: Response, url: str) -> str | None:
    try:
        return web_url(response.urljoin(url))
    except ValueError:
        return None


def _begin(body: bytes) -> bytes:
    if body[:2] != _GZIP_MAGIC:
        return body[:1000]
    try:
        return zlib.decompressobj(wbits=31).decompress(body, 1000)
    except zlib.error:
        return b""


def _unpacked(body: bytes) -> bytes:
    """The file without its gzip, if it has one. Raises BrokenPage if it is damaged or unpacks to too much."""
    if body[:2] != _GZIP_MAGIC:
        return body
    pieces = []
    size = 0
    try:
        for _ in range(MAX_STREAMS):
            unpacker = zlib.decompressobj(wbits=31)
            pieces.append(unpacker.decompress(body, MAX_BYTES + 1 - size))
            size += len(pieces[-1])
            if size > MAX_BYTES or not unpacker.eof:
                break
            body = unpacker.unused_data
            if body[:2] != _GZIP_MAGIC:
                return b"".join(pieces)
    except zlib.error as error:
        raise BrokenPage(f"not a sitemap: {error}") from error
    raise BrokenPage(f"the sitemap is cut short, larger than {MAX_BYTES} bytes unpacked, or has too many gzip streams")
