"""An address for a document that was saved without one: what it says of itself, or else one in the portal's form."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

from realestate.crawling.page_outcomes import BrokenPage
from realestate.parsing import html, jsonld
from realestate.parsing.embedded import decoded

#: Names under which documents tell their address, and their id.
_ADDRESSES = ("url", "link", "href", "path", "canonicalUrl", "canonical_url", "share_url", "seoUrl", "seoFriendlyPath")
_IDS = ("id", "ref", "legacyResourceId", "adId", "ad_id", "listingId", "propertyId", "classifiedId", "code", "uuid")
#: A document's own id stands near its top: further down there are those of its pictures and of its seller.
_MOST_LOOKED_AT = 200
#: Nobody's, in the lengths and letters that portals use.
_NOBODYS = ("10000000", "1000000", "100000", "1", "a1b2c3", "XX0000000000")


def of_listing(spider: Any, document: str, file_name: str = "") -> tuple[str, bool]:
    """The listing's address, and whether the document tells it; if not, it is made up."""
    for address in _told(document):
        if spider.owns(url := urljoin(spider.site, address)) and spider.ref_of(url):
            return url, True
    for ref in _refs(spider, document, file_name):
        if url := in_form(spider, ref):
            return url, True
    for ref in _NOBODYS:
        if url := in_form(spider, ref):
            return url, False
    raise BrokenPage("no address can be made up for it; give one with --url")


def in_form(spider: Any, ref: str) -> str | None:
    """The address of the item with this id; None if it is no id of the portal's."""
    url: str = spider.url_of(ref)
    return url if spider.ref_of(url) == ref else None


def _told(document: str) -> Iterator[str]:
    told = decoded(document) if document.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") else None
    if told is not None:
        yield from (each for each in _near_top(told, _ADDRESSES) if isinstance(each, str))
        return
    page = html.Page(document)
    yield from html.attributes(page, 'link[rel="canonical"]', "href")
    yield from filter(None, (html.opengraph(page).get("og:url"),))
    yield from (url for node in jsonld.nodes(document) if isinstance(url := node.get("url"), str))


def _refs(spider: Any, document: str, file_name: str) -> Iterator[str]:
    if own := spider.ref_in(document):
        yield own
    told = decoded(document) if document.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") else None
    for each in _near_top(told, _IDS):
        if isinstance(each, str | int) and not isinstance(each, bool):
            yield str(each)
    yield from sorted(re.findall(r"\d{4,}", file_name), key=len, reverse=True)


def _near_top(document: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """The values under these names, those nearest the top first."""
    waiting: deque[Any] = deque([document])
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            return
        each = waiting.popleft()
        if isinstance(each, dict):
            yield from (each[name] for name in names if name in each)
            waiting += (value for value in each.values() if isinstance(value, dict | list))
        elif isinstance(each, list):
            waiting += each[:1]
