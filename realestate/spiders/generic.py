"""Any site: reads a listing's page from its JSON-LD, microdata, Next data and OpenGraph, in this order.

    realestate crawl generic https://www.example.org/homes/12345

A seed is a listing's page on any public host (with ALLOW_PRIVATE_ADDRESSES on any host), a sitemap (`….xml`) of such
pages, or a site's first page or robots.txt, which leads to the sitemaps it names. The ref is the host and the last
long number of the URL, or a hash of the URL. `extra["sources"]` says which field came from where. Uncertain values
are left out: a price without a currency, a size without a unit. If neither the URL nor the title says whether it is
for sale or for rent, the listing goes to quarantine. All hosts of `generic` share one rate limit. It cannot read a
site that has no data for search engines, or has data only about the site itself.
"""

import re
from collections.abc import Iterator
from datetime import date
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling import BrokenPage, Links, ListingGone, PortalSpider, Results, read_sitemap
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
from realestate.parsing.hosts import is_public_address
from realestate.parsing.text import plain

_FIRST_PAGE = ("", "/")
_ROBOTS = "/robots.txt"
_SITEMAP = re.compile(r"\.xml(?:\.gz)?$")
_LONG_NUMBER = re.compile(r"\d{5,}")
_RENTS = re.compile(
    r"(?<![^\W_])(?:to[ -]?(?:rent|let)|for[ -]?rent|rentals?|te[ -]huur|miete\w*|louer|location|wynaje\w+)"
)
_SALES = re.compile(r"(?<![^\W_])(?:for[ -]?sale|buy|te[ -]koop|verkauf\w*|kaufen|vendre|vente|sprzeda\w+|sales?)")
_COUNTRIES = {"uk": "GB"}
#: A page with any of these fields is about a home.
_ENOUGH = (
    "area_m2",
    "plot_m2",
    "rooms",
    "bedrooms",
    "latitude",
    "postal_code",
    "city",
    "property_type",
)


class Source(NamedTuple):
    """What one source of a page says about the home."""

    fields: dict[str, Any]
    price: prices.Price


class GenericSpider(PortalSpider):
    name = "generic"
    allowed_domains = ()
    any_host = True
    site = "https://www.example.org"
    searches = ("/robots.txt",)
    item_form = "/{ref}"
    country = "ZZ"
    currency = unknown_json.NO_CURRENCY
    timezone = ZoneInfo("UTC")
    terms = "https://www.example.org/"
    checked_on = date(2026, 11, 15)
    paging = Links()

    @classmethod
    def is_of(cls, site: str, url: str) -> bool:
        """Any public host belongs to it; and the simulator's, if there is one. Where a host name resolves to is checked
        by the download handler."""
        return urlsplit(url).netloc == urlsplit(site).netloc or is_public_address(url)

    def ref_of(self, url: str) -> str | None:
        parts = urlsplit(url)
        if parts.path in (*_FIRST_PAGE, _ROBOTS) or _SITEMAP.search(parts.path):
            return None
        numbers = _LONG_NUMBER.findall(parts.path) or _LONG_NUMBER.findall(parts.query)
        hashed = blake2b(f"{parts.path}?{parts.query}".encode(), digest_size=8).hexdigest()
        own = numbers[-1] if numbers else hashed
        host = (parts.hostname or "").removeprefix("www.")
        return f"{host}:{own}"

    def url_of(self, ref: str) -> str:
        """A URL with the same host and number. The URL cannot be restored from a hash."""
        host, _, own = ref.rpartition(":")
        return f"https://{host}/{own}" if host else super().url_of(ref)

    def search_request(self, search: str) -> Request:
        """For the first page of a site, its robots.txt is requested: it names the sitemaps."""
        if urlsplit(search).path in _FIRST_PAGE:
            return Request(urljoin(search, _ROBOTS))
        return Request(search)

    def parse_search(self, response: TextResponse) -> Results:
        """A sitemap. Other search pages cannot be read."""
        return read_sitemap(response, self.link_from_sitemap)

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        nodes = _best_nodes(response.text)
        if any(schemaorg.is_gone(node) for node in nodes.values()):
            raise ListingGone("its offer is discontinued or sold out")
        sources = _sources(response.text, nodes)
        fields, source_of = _first_of(sources)
        price, price_source = _first_price(sources)
        is_home = price_source is not None or any(name in fields for name in _ENOUGH)
        if "title" not in fields or not is_home:
            raise BrokenPage("the page has no data about a home that we can read")
        if price_source is not None:
            source_of["price"] = price_source
        if "property_type" not in fields:
            _guess_property_type(fields, source_of)
        if "latitude" in fields:
            fields["geo_precision"] = "approximate"  # it may be the point of the agency or the town
        operation = _operation(f"{response.url} {fields['title']}")
        extra: dict[str, Any] = {"sources": source_of}
        if operation == "rent" and price.amount is not None and price.period is None:
            extra["rent"] = str(price.amount)  # a rent without its period is not a price
            price = prices.Price()
        yield self.listing(
            response,
            price,
            operation=operation,
            rent_period=price.period if operation == "rent" else None,
            country=_country(nodes, response.url) or self.country,
            **fields,
            extra=extra,
        )


def _best_nodes(document: str) -> dict[str, dict[str, Any]]:
    """By source, the node that describes the home."""
    best = {
        "json-ld": _best(jsonld.nodes(document)),
        "microdata": _best(microdata.nodes(document)),
    }
    return {source: node for source, node in best.items() if node}


def _best(nodes: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The node with the most fields, of the types that can be a listing. A page has other nodes too."""
    fit = [node for node in nodes if schemaorg.types_of(node) & set(schemaorg.LISTINGS)]
    return max(fit, key=_score, default=None)


def _score(node: dict[str, Any]) -> int:
    has_price = schemaorg.price(node).amount is not None
    return len(schemaorg.fields(node)) + 3 * has_price


def _sources(document: str, nodes: dict[str, dict[str, Any]]) -> dict[str, Source]:
    """What each source says, the most reliable first."""
    sources = {name: Source(schemaorg.fields(node), schemaorg.price(node)) for name, node in nodes.items()}
    listing = unknown_json.find_listing(embedded.next_data(document, "props"))
    if listing:
        sources["next"] = Source(unknown_json.fields(listing), unknown_json.price(listing))
    sources["opengraph"] = _opengraph(html.opengraph(html.Page(document)))
    return sources


def _first_price(sources: dict[str, Source]) -> tuple[prices.Price, str | None]:
    """The first price with an amount, and its source."""
    for name, source in sources.items():
        if source.price.amount is not None:
            return source.price, name
    return prices.Price(), None


def _guess_property_type(fields: dict[str, Any], source_of: dict[str, str]) -> None:
    """Set the property type by the title; `other`, with a quality flag, if the title does not name it."""
    kind = property_types.of(fields["title"])
    fields["property_type"] = kind or "other"
    source_of["property_type"] = "title" if kind else "nobody"
    if not kind:
        fields["quality_flags"] = frozenset({"property_type_assumed"})


def _opengraph(graph: dict[str, str]) -> Source:
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
    price = {"price": graph.get("product:price:amount"), "currency": graph.get("product:price:currency")}
    return Source({name: value for name, value in known.items() if value}, unknown_json.price(price))


def _first_of(sources: dict[str, Source]) -> tuple[dict[str, Any], dict[str, str]]:
    """Each field from the first source that has it, and the name of that source."""
    fields: dict[str, Any] = {}
    source_of: dict[str, str] = {}
    for name, source in sources.items():
        for field, value in source.fields.items():
            if field not in fields:
                fields[field] = value
                source_of[field] = name
    return fields, source_of


def _operation(text: str) -> Operation | None:
    """Sale or rent, by the words of a text; None if it names neither or both."""
    words = plain(text.replace("_", "-"))
    is_rent = bool(_RENTS.search(words))
    is_sale = bool(_SALES.search(words))
    if is_rent == is_sale:
        return None
    return "rent" if is_rent else "sale"


def _country(nodes: dict[str, dict[str, Any]], url: str) -> str | None:
    """The country by the page's data, otherwise by the last part of its host name."""
    named = [country for node in nodes.values() if (country := schemaorg.country(node))]
    if named and re.fullmatch("[A-Za-z]{2}", named[0]):
        return named[0].upper()
    ending = (urlsplit(url).hostname or "").rpartition(".")[2]
    if not re.fullmatch("[a-z]{2}", ending):
        return None
    return _COUNTRIES.get(ending, ending.upper())
