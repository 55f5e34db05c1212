"""Finds a URL for a document that was saved without one: in the document, or made up in the portal's form."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

from realestate.crawling import BrokenPage
from realestate.parsing import html, jsonld
from realestate.parsing.embedded import decoded

#: Keys under which JSON documents have their URL.
_URL_KEYS = ("url", "link", "href", "path", "canonicalUrl", "canonical_url", "share_url", "seoUrl", "seoFriendlyPath")
#: Keys under which JSON documents have their id.
_ID_KEYS = ("id", "ref", "legacyResourceId", "adId", "ad_id", "listingId", "propertyId", "classifiedId", "code", "uuid")
#: How many objects are searched. A document's own id is near its top; further down are those of its photos and seller.
_MOST_OBJECTS = 200
#: For a portal of any site: a path without an id, as an id in it would be a sign of a listing.
_INVENTED_PATH = "/unknown"
#: Invented ids, in the lengths and letters that portals use.
_INVENTED_IDS = ("10000000", "1000000", "100000", "1", "a1b2c3", "XX0000000000")


def url_of_listing(spider: Any, document: str, file_name: str = "") -> tuple[str, bool]:
    """The listing's URL, and whether it was found in the document or its file name. If not, it is made up."""
    for address in _urls_in(document):
        url = urljoin(spider.site, address)
        if spider.owns(url) and spider.ref_of(url):
            return url, True
    for ref in _refs_in(spider, document, file_name):
        if url := url_of_ref(spider, ref):
            return url, True
    for ref in _INVENTED_IDS:
        if url := url_of_ref(spider, ref):
            return url, False
    if spider.any_host:
        return urljoin(spider.site, _INVENTED_PATH), False
    raise BrokenPage("no URL can be made up for it; give one with --url")


def is_written_in(spider: Any, document: str, url: str) -> bool:
    """Whether the document contains this URL, and it was not made from an id."""
    return any(urljoin(spider.site, address) == url for address in _urls_in(document))


def url_of_ref(spider: Any, ref: str) -> str | None:
    """The URL of the item with this id; None if the portal has no such ids."""
    url: str = spider.url_of(ref)
    return url if spider.ref_of(url) == ref else None


def _urls_in(document: str) -> Iterator[str]:
    value = _json_of(document)
    if value is not None:
        yield from (each for each in _near_top(value, _URL_KEYS) if isinstance(each, str))
        return
    page = html.Page(document)
    yield from html.attributes(page, 'link[rel="canonical"]', "href")
    shared_url = html.opengraph(page).get("og:url") or ""
    if re.match(r"https?://|/", shared_url, re.IGNORECASE):
        yield shared_url
    for node in jsonld.nodes(document):
        if isinstance(node.get("url"), str):
            yield node["url"]


def _refs_in(spider: Any, document: str, file_name: str) -> Iterator[str]:
    own = spider.ref_in(document)
    if own:
        yield own
    for each in _near_top(_json_of(document), _ID_KEYS):
        if isinstance(each, str | int) and not isinstance(each, bool):
            yield str(each)
    yield from sorted(re.findall(r"\d{4,}", file_name), key=len, reverse=True)


def _json_of(document: str) -> Any:
    """The value of a JSON document; None for any other."""
    is_json = document.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")
    return decoded(document) if is_json else None


def _near_top(document: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """The values under these keys, those nearest to the top first."""
    waiting: deque[Any] = deque([document])
    for _ in range(_MOST_OBJECTS):
        if not waiting:
            return
        each = waiting.popleft()
        if isinstance(each, dict):
            yield from (each[name] for name in names if name in each)
            waiting += (value for value in each.values() if isinstance(value, dict | list))
        elif isinstance(each, list):
            waiting += each[:1]
