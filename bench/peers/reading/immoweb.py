"""immoweb: searches in JSON, thirty results a page; a listing's page has its object in a script."""

import json
from math import ceil
from typing import Any
from urllib.parse import quote, urljoin

from selectolax.lexbor import LexborHTMLParser

from bench.peers.reading import Links, Page

SEARCHES = tuple(
    f"/en/search-results/{kind}/{deal}?countries=BE&page=1&orderBy=newest"
    for kind in ("house-and-apartment", "office", "business", "industry", "land", "garage", "kot")
    for deal in ("for-sale", "for-rent")
)
PAGE_SIZE = 30
_ASSIGNED = "window.classified = "
_DECODER = json.JSONDecoder()


def search(page: Page) -> Links:
    return search_fast(page.text, page.url)


def search_fast(text: str, url: str) -> Links:
    found = json.loads(text)
    pages = range(2, ceil(found["totalItems"] / PAGE_SIZE) + 1) if found["currentPage"] == 1 else ()
    return Links(
        [urljoin(url, _path(each)) for each in found["results"]],
        [url.replace("page=1", f"page={number}") for number in pages],
    )


def _path(result: dict[str, Any]) -> str:
    place = result["property"]["location"]
    kind = result["property"]["subtype"].lower().replace("_", "-")
    deal = "for-sale" if result["transaction"]["type"] == "FOR_SALE" else "for-rent"
    city = place["locality"].lower().replace(" ", "-")
    return quote(f"/en/classified/{kind}/{deal}/{city}/{place['postalCode']}/{result['id']}")


def listing(page: Page) -> dict[str, Any]:
    script = page.selector.xpath("//script[contains(., 'window.classified')]/text()").get("")
    return _fields(script, page.url)


def listing_fast(tree: LexborHTMLParser, url: str) -> dict[str, Any]:
    scripts = (node.text() for node in tree.css("script"))
    return _fields(next(text for text in scripts if _ASSIGNED in text), url)


def _fields(script: str, url: str) -> dict[str, Any]:
    ad, _ = _DECODER.raw_decode(script, script.index(_ASSIGNED) + len(_ASSIGNED))
    home = ad["property"]
    place = ad["property"]["location"]
    return {
        "ref": str(ad["id"]),
        "url": url,
        "operation": ad["transaction"]["type"],
        "property_type": home["type"],
        "subtype": home["subtype"],
        "price": ad["price"]["mainValue"],
        "area_m2": home.get("netHabitableSurface"),
        "rooms": home.get("roomCount"),
        "bedrooms": home.get("bedroomCount"),
        "region": place.get("region"),
        "city": place.get("locality"),
        "postal_code": place.get("postalCode"),
        "latitude": place.get("latitude"),
        "longitude": place.get("longitude"),
        "title": home.get("title"),
        "description": home.get("description"),
        "photos": [picture["largeUrl"] for picture in ad["media"]["pictures"]],
        "posted_at": ad["publication"]["creationDate"],
        "units": [urljoin(url, f"/en/classified/{unit}") for unit in _units(ad)],
    }


def _units(ad: dict[str, Any]) -> list[int]:
    """The homes of a project: no search shows them."""
    groups = (ad.get("cluster") or {}).get("units") or ()
    return [unit["id"] for group in groups for unit in group["items"]]
