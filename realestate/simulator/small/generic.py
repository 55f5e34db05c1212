"""A site of unknown structure: pages describe homes to search engines in four ways. Its only search is a sitemap."""

import re
from html import escape
from typing import Any

import msgspec

from realestate.simulator.adverts import Advert
from realestate.simulator.site import ROBOTS, XML, Found, Request, Response
from realestate.simulator.small.facts import Facts, facts_of
from realestate.simulator.small.small_portal import SmallSite, next_page

FORMS = ("json-ld", "microdata", "next", "opengraph")
KINDS = {"house": "House", "apartment": "Apartment"}
WORDS = {"apartment": "apartment", "house": "house", "office": "office", "shop": "commercial", "land": "land"}
UNITS = {"month": "MON", "week": "WEE"}
DEALS = {"sale": "for-sale", "rent": "to-rent"}


class Generic(SmallSite):
    portal = "generic"
    index = "/"
    searches = {}  # noqa: RUF012
    advert_path = re.compile(r"/homes/(?:for-sale|to-rent)/(\d+)")
    page_size = 50_000
    currency = "GBP"

    def route(self, request: Request) -> Response | None:
        if request.path == "/sitemap.xml":
            shown = self.shown()
            return Response("search", self.results(shown, 0, shown.adverts), content_type=XML)
        return super().route(request)

    def robots(self) -> bytes:
        return ROBOTS + f"Sitemap: {self.base}/sitemap.xml\n".encode()

    def ref(self, advert: Advert) -> str:
        host = self.base.partition("//")[2].partition(":")[0]
        return f"{host}:{advert.ref}"

    def path(self, advert: Advert) -> str:
        return f"/homes/{DEALS[advert.home.operation]}/{advert.ref}"

    def results(self, found: Found, begin: int, shown: list[Advert]) -> bytes:
        rows = "".join(f"<url><loc>{self.base}{self.path(advert)}</loc></url>" for advert in shown)
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="{space}">{rows}</urlset>'.encode()

    def render(self, advert: Advert) -> bytes:
        facts = facts_of(advert)
        head = self.canonical(advert)
        match FORMS[advert.ref % 4]:
            case "json-ld":
                return _page(f'{head}<script type="application/ld+json">{_json(_node(advert, facts))}</script>')
            case "microdata":
                return _page(head, _items(_node(advert, facts)))
            case "next":
                return next_page({"pageProps": {"home": _document(advert, facts)}}, head)
            case _:
                return _page(head + _graph(advert, facts))

    def portal_fields(self, advert: Advert, facts: Facts) -> dict[str, Any]:
        """Return the fields that only this portal shows. A rent without a period has no price."""
        form = FORMS[advert.ref % 4]
        home = advert.home
        known: dict[str, Any] = {
            "country": "GB",
            "geo_precision": "approximate" if facts.is_mapped else None,
            "seller_type": None,
            "agency_name": None,
            "city": home.place.city,
            "property_type": WORDS[home.kind],
        }
        if advert.price is None or (form in ("next", "opengraph") and home.operation == "rent"):
            known |= dict.fromkeys(("price", "currency", "rent_period", "price_basis"))
        if form in ("json-ld", "microdata"):
            counts = {"rooms": facts.rooms, "bedrooms": facts.bedrooms, "area_m2": facts.area_m2}
            return known | counts
        if form == "next":
            return known | {"bedrooms": facts.bedrooms, "area_m2": facts.area_m2}
        return known | {
            "description": " ".join(" ".join(facts.paragraphs).split()) or None,
        }


def _node(advert: Advert, facts: Facts) -> dict[str, Any]:
    home = advert.home
    price = advert.price
    unit = {"unitCode": UNITS[advert.rent_period]} if advert.rent_period else {}
    money = {"@type": "UnitPriceSpecification", "price": price, "priceCurrency": "GBP", **unit}
    offer = {"@type": "Offer", "priceSpecification": money} if price is not None else None
    size = {"@type": "QuantitativeValue", "value": facts.area_m2, "unitCode": "MTK"} if facts.area_m2 else None
    geo = (
        {"@type": "GeoCoordinates", "latitude": home.latitude, "longitude": home.longitude} if facts.is_mapped else None
    )
    address = {"@type": "PostalAddress", "addressLocality": home.place.city, "addressCountry": "GB"}
    properties = {
        "@type": KINDS.get(home.kind, "Place"),
        "name": facts.title,
        "description": "\n".join(facts.paragraphs) or None,
        "numberOfRooms": facts.rooms,
        "numberOfBedrooms": facts.bedrooms,
        "floorSize": size,
        "address": address,
        "geo": geo,
        "offers": offer,
    }
    return {name: value for name, value in properties.items() if value is not None}


def _document(advert: Advert, facts: Facts) -> dict[str, Any]:
    home = advert.home
    price = advert.price
    return {
        "id": advert.ref,
        "title": facts.title,
        "description": "\n".join(facts.paragraphs),
        "price": None if price is None else {"amount": price, "currency": "GBP"},
        "bedrooms": facts.bedrooms,
        "areaM2": facts.area_m2,
        "address": {"city": home.place.city, "country": "GB"},
        "location": {"lat": home.latitude, "lng": home.longitude} if facts.is_mapped else None,
    }


def _graph(advert: Advert, facts: Facts) -> str:
    home = advert.home
    price = advert.price
    properties = {
        "og:title": facts.title,
        "og:description": " ".join(facts.paragraphs),
        "og:locality": home.place.city,
        "og:country-name": "United Kingdom",
        "place:location:latitude": home.latitude if facts.is_mapped else "",
        "place:location:longitude": home.longitude if facts.is_mapped else "",
        "product:price:amount": "" if price is None else price,
        "product:price:currency": "" if price is None else "GBP",
    }
    return "".join(f'<meta property="{name}" content="{escape(str(value))}">' for name, value in properties.items())


def _items(value: dict[str, Any], name: str = "") -> str:
    """Return the same data as microdata."""
    inner = "".join(
        _items(each, key) if isinstance(each, dict) else f'<meta itemprop="{key}" content="{escape(str(each))}">'
        for key, each in value.items()
        if key != "@type"
    )
    own = f' itemprop="{name}"' if name else ""
    return f'<div{own} itemscope itemtype="https://schema.org/{value["@type"]}">{inner}</div>'


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode().replace("</", "<\\/")


def _page(head: str, body: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head><meta charset=utf-8>{head}</head><body>{body}</body></html>".encode()
