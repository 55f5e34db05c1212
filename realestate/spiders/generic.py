"""Any site: given the address of a listing's page, what JSON-LD, microdata, Next data and OpenGraph say, in that order.

    realestate crawl generic https://www.example.org/homes/12345

A seed is a listing's page on any public host, a sitemap (`….xml`) of such pages, or a site's first page or robots.txt,
which leads to the sitemaps it names. The ref is the host and the last
long number of the address, or a fingerprint of it. `extra["sources"]` tells which field came from where. What nobody
names for sure is left out: no price without a currency, no size without a unit; where neither the address nor the title
tells whether it is sold or let, the listing is kept in quarantine. All hosts of `generic` share one pace.
What breaks it: a site that tells search engines nothing, or tells them only of itself.
"""

import re
from collections.abc import Iterator
from datetime import date
from hashlib import blake2b
from ipaddress import ip_address
from typing import Any
from urllib.parse import urljoin, urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling import sitemaps
from realestate.crawling.base import PortalSpider
from realestate.crawling.outcomes import BrokenPage, ListingGone
from realestate.crawling.paging import Links
from realestate.crawling.results import Results
from realestate.items import Listing, Operation
from realestate.parsing import (
    coordinates,
    embedded,
    html,
    jsonld,
    microdata,
    prices,
    property_types,
    schemaorg,
    unknown_json,
)
from realestate.parsing.text import plain

Told = tuple[dict[str, Any], prices.Price]

_FIRST_PAGE, _ROBOTS = ("", "/"), "/robots.txt"
_SITEMAP = re.compile(r"\.xml(?:\.gz)?$")
_LONG_NUMBER = re.compile(r"\d{5,}")
_NOT_PUBLIC = re.compile(r"(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|test|invalid|onion)$")
_RENTS = re.compile(
    r"(?<![^\W_])(?:to[ -]?(?:rent|let)|for[ -]?rent|rentals?|te[ -]huur|miete\w*|louer|location|wynaje\w+)"
)
_SALES = re.compile(r"(?<![^\W_])(?:for[ -]?sale|buy|te[ -]koop|verkauf\w*|kaufen|vendre|vente|sprzeda\w+|sales?)")
_COUNTRIES = {"uk": "GB"}
#: Any one of these makes a page a home's.
_ENOUGH = ("area_m2", "plot_m2", "rooms", "bedrooms", "latitude", "postal_code", "city", "property_type")


class GenericSpider(PortalSpider):
    name = "generic"
    allowed_domains = ()
    site = "https://www.example.org"
    searches = ("/robots.txt",)
    item_form = "/{ref}"
    country, currency, timezone = "ZZ", unknown_json.NO_CURRENCY, ZoneInfo("UTC")
    terms = "https://www.example.org/"
    checked_on = date(2026, 11, 15)
    paging = Links()

    @classmethod
    def is_of(cls, site: str, url: str) -> bool:
        """Any public host; or the simulator's, where there is one."""
        return urlsplit(url).netloc == urlsplit(site).netloc or is_public(urlsplit(url).hostname or "")

    def ref_of(self, url: str) -> str | None:
        parts = urlsplit(url)
        if parts.path in (*_FIRST_PAGE, _ROBOTS) or _SITEMAP.search(parts.path):
            return None
        numbers = _LONG_NUMBER.findall(parts.path) or _LONG_NUMBER.findall(parts.query)
        own = numbers[-1] if numbers else blake2b(f"{parts.path}?{parts.query}".encode(), digest_size=8).hexdigest()
        return f"{(parts.hostname or '').removeprefix('www.')}:{own}"

    def url_of(self, ref: str) -> str:
        """A page of the same host and number; none can be made of a fingerprint."""
        host, _, own = ref.rpartition(":")
        return f"https://{host}/{own}" if host else super().url_of(ref)

    def ask(self, search: str) -> Request:
        """A site is asked for its sitemaps."""
        return Request(urljoin(search, _ROBOTS) if urlsplit(search).path in _FIRST_PAGE else search)

    def parse_search(self, response: TextResponse) -> Results:
        """A sitemap, or nothing we can page through."""
        return sitemaps.read(response, self.mapped)

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        nodes = {"json-ld": jsonld.nodes(response.text), "microdata": microdata.nodes(response.text)}
        found = {source: node for source, each in nodes.items() if (node := _best(each))}
        if any(map(schemaorg.is_gone, found.values())):
            raise ListingGone("its offer says so")
        told: dict[str, Told] = {
            source: (schemaorg.fields(node), schemaorg.price(node)) for source, node in found.items()
        }
        document = unknown_json.find_listing(embedded.next_data(response.text, "props"))
        told |= {"next": (unknown_json.fields(document), unknown_json.price(document))} if document else {}
        told["opengraph"] = _shared(html.opengraph(html.Page(response.text)))
        fields, sources = _first_of({source: each for source, (each, _) in told.items()})
        paid = next(((source, price) for source, (_, price) in told.items() if price.amount is not None), None)
        if "title" not in fields or not (paid or any(name in fields for name in _ENOUGH)):
            raise BrokenPage("the page tells nothing of a home that we can read")
        if paid:
            sources["price"] = paid[0]
        if "property_type" not in fields:
            kind = property_types.of(fields["title"])
            fields["property_type"], sources["property_type"] = kind or "other", "title" if kind else "nobody"
            fields |= {} if kind else {"quality_flags": frozenset({"property_type_assumed"})}
        if "latitude" in fields:
            fields["geo_precision"] = "approximate"  # nobody says whose they are
        deal = _deal(f"{response.url} {fields['title']}")
        extra: dict[str, Any] = {"sources": sources}
        if paid and deal == "rent" and paid[1].period is None:
            extra["rent"], paid = str(paid[1].amount), None  # for what time nobody says
        yield self.listing(
            response,
            paid[1] if paid else None,
            operation=deal,
            rent_period=paid[1].period if paid and deal == "rent" else None,
            country=_country(found, response.url) or self.country,
            **fields,
            extra=extra,
        )


def is_public(host: str) -> bool:
    """Whether the name is one of the open network; where it leads is for the fetching side to see."""
    host = host.rstrip(".").lower()
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not _NOT_PUBLIC.search(host) and not host.rpartition(".")[2].isdecimal()


def _best(nodes: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The node that tells most, of the types that can be a listing; a page has others of its own, the site's too."""
    fit = [node for node in nodes if schemaorg.types_of(node) & set(schemaorg.LISTINGS)]
    return max(
        fit, key=lambda node: len(schemaorg.fields(node)) + 3 * (schemaorg.price(node).amount is not None), default=None
    )


def _shared(graph: dict[str, str]) -> Told:
    point = coordinates.of(
        graph.get("place:location:latitude") or graph.get("og:latitude"),
        graph.get("place:location:longitude") or graph.get("og:longitude"),
    )
    known = {
        "title": graph.get("og:title"),
        "description": graph.get("og:description"),
        "city": graph.get("og:locality"),
        "photos": [graph["og:image"]] if graph.get("og:image", "").startswith("http") else None,
        "property_type": property_types.of(graph.get("og:title")),
        "latitude": point.latitude,
        "longitude": point.longitude,
    }
    money = {"price": graph.get("product:price:amount"), "currency": graph.get("product:price:currency")}
    return {name: value for name, value in known.items() if value}, unknown_json.price(money)


def _first_of(told: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Each field from the first source that tells it. A point is one value: both halves from one source."""
    fields: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, each in told.items():
        for name, value in each.items():
            if name not in fields:
                fields[name], sources[name] = value, source
    return fields, sources


def _deal(text: str) -> Operation | None:
    words = plain(text.replace("_", "-"))
    is_rent, is_sale = bool(_RENTS.search(words)), bool(_SALES.search(words))
    return None if is_rent == is_sale else "rent" if is_rent else "sale"


def _country(nodes: dict[str, dict[str, Any]], url: str) -> str | None:
    told = next(filter(None, map(schemaorg.country, nodes.values())), None)
    if told and re.fullmatch("[A-Za-z]{2}", told):
        return told.upper()
    ending = (urlsplit(url).hostname or "").rpartition(".")[2]
    return _COUNTRIES.get(ending, ending.upper()) if re.fullmatch("[a-z]{2}", ending) else None
