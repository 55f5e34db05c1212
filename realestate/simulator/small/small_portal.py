"""The base of the small portals: searches by deal and kind, pages, removed adverts, the truth."""

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import msgspec

from realestate.items import Listing
from realestate.simulator.adverts import Advert
from realestate.simulator.site import Found, Request, Response, Site, one_space, whole_number
from realestate.simulator.small.facts import Facts, facts_of

DWELLINGS = ("house", "apartment", "land")
TRADE = ("office", "shop")
LOST = b"<!DOCTYPE html><html><head><title>Not found</title></head><body><h1>This page is gone</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Search:
    """A search without the page number."""

    deal: str
    kinds: tuple[str, ...]
    newest: str
    """The order: by "ref", the highest first, or by "date", the last first."""

    def find(self, listed: list[Advert]) -> list[Advert]:
        """Return the adverts that match, in order. In `listed` the last changed is first."""
        found = [each for each in listed if each.home.operation == self.deal and each.home.kind in self.kinds]
        return sorted(found, key=lambda each: -each.ref) if self.newest == "ref" else found


class SmallSite(Site):
    searches: ClassVar[Mapping[str, tuple[str, tuple[str, ...]]]]
    """path of a search -> its deal and kinds."""
    advert_path: ClassVar[re.Pattern[str]]
    """Its group is the ref, as the portal writes it."""
    page_parameter: ClassVar[str] = "page"
    page_size: ClassVar[int]
    newest: ClassVar[str] = "date"
    currency: ClassVar[str]

    def route(self, request: Request) -> Response | None:
        if request.path in self.searches:
            search = Search(*self.searches[request.path], self.newest)
            begin = self.begin(whole_number(request.query.get(self.page_parameter)))
            found = self.found(search)
            return Response("search", self.results(found, begin, found.adverts[begin : begin + self.page_size]))
        match = self.advert_path.fullmatch(request.path)
        return self._advert(self.number(match[1])) if match else None

    def begin(self, page: int | None) -> int:
        """The number of results before the requested page."""
        return (max(page or 1, 1) - 1) * self.page_size

    def number(self, ref: str) -> int:
        return int(ref)

    @abstractmethod
    def results(self, found: Found, begin: int, shown: list[Advert]) -> bytes:
        """Return a page of a search."""

    @abstractmethod
    def portal_fields(self, advert: Advert, facts: Facts) -> dict[str, Any]:
        """Return the fields that only this portal shows."""

    def listing(self, advert: Advert) -> Listing:
        facts = facts_of(advert)
        price = advert.price
        home = advert.home
        known: dict[str, Any] = {
            "portal": self.portal,
            "ref": self.ref(advert),
            "url": self.base + self.path(advert),
            "country": home.country,
            "operation": home.operation,
            "rent_period": None if price is None else advert.rent_period,
            "price": None if price is None else Decimal(price),
            "currency": None if price is None else self.currency,
            "price_basis": "on_request" if price is None else "total",
            "title": one_space(facts.title),
            "description": "\n".join(map(one_space, facts.paragraphs)) or None,
            "latitude": home.latitude if facts.is_mapped else None,
            "longitude": home.longitude if facts.is_mapped else None,
            "geo_precision": "exact" if facts.is_mapped else None,
            "seller_type": "owner" if facts.is_private else "agency",
            "agency_name": None if facts.is_private else facts.agency,
            "status": "delisted" if advert.gone else "reserved" if advert.is_reserved else "active",
        }
        return Listing(**known | self.portal_fields(advert, facts))

    def canonical(self, advert: Advert) -> str:
        """Return the canonical link of a page, for its head."""
        return f'<link rel="canonical" href="{self.base}{self.path(advert)}">'

    def pictures(self, advert: Advert, host: str) -> list[str]:
        return [f"https://{host}/{advert.ref}/{number}.jpg" for number in range(facts_of(advert).photos)]

    def _advert(self, number: int) -> Response:
        advert = self.world.adverts[self.portal].get(number)
        if advert is None or advert.gone == "404":
            return Response("listing", LOST, 404)
        if advert.gone == "410":
            return Response("listing", LOST, 410)
        return self.page(advert)


def next_page(props: dict[str, Any], head: str = "") -> bytes:
    """Return an HTML page with Next data."""
    data = msgspec.json.encode({"props": props, "page": "/page", "buildId": "b1"}).replace(b"</", b"<\\/")
    text = f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{head}</head><body><div id="__next"></div>'
    return text.encode() + b'<script id="__NEXT_DATA__" type="application/json">' + data + b"</script></body></html>"


def slug(text: str) -> str:
    plain = text.translate(str.maketrans("ąćęłńóśźżäöüß", "acelnoszzaous"))
    return re.sub(r"[^a-z0-9]+", "-", plain.lower().translate(str.maketrans("ąćęłńóśźżäöüß", "acelnoszzaous"))).strip(
        "-"
    )


def grouped(number: int, mark: str = ",") -> str:
    return f"{number:,}".replace(",", mark)
