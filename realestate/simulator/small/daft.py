"""A portal like daft: Next data on every page, GeoJSON points, acres for land, days without a time."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from realestate.simulator.adverts import Advert
from realestate.simulator.site import Found
from realestate.simulator.small.facts import Facts, facts_of
from realestate.simulator.small.small_portal import DWELLINGS, TRADE, SmallSite, grouped, next_page, slug

DUBLIN = ZoneInfo("Europe/Dublin")
ACRE = Decimal("4046.8564224")
KINDS = {
    "detached": ("Detached", "house"),
    "semi_detached": ("Semi-D", "house"),
    "terraced": ("Terrace", "house"),
    "bungalow": ("Bungalow", "house"),
    "apartment": ("Apartment", "apartment"),
    "flat_studio": ("Studio", "apartment"),
    "land": ("Site", "land"),
    "office": ("Office", "office"),
    "shop": ("Retail Unit", "commercial"),
}
PERIODS = {"month": " per month", "week": " per week", None: ""}


class Daft(SmallSite):
    portal = "daft"
    index = "/property-for-sale/ireland"
    searches = {  # noqa: RUF012
        f"/{section}-for-{deal}/ireland": (deal, kinds)
        for section, kinds in (("property", DWELLINGS), ("commercial-properties", TRADE))
        for deal in ("sale", "rent")
    }
    advert_path = re.compile(r"/for-(?:sale|rent)/[^/]+/(\d+)/?")
    page_parameter = "from"
    page_size = 20
    currency = "EUR"

    def begin(self, page: int | None) -> int:
        return page or 0

    def path(self, advert: Advert) -> str:
        return f"/for-{advert.home.operation}/{slug(_address(advert))}/{advert.ref}"

    def results(self, found: Found, begin: int, shown: list[Advert]) -> bytes:
        paging = {"totalResults": found.total, "pageSize": 20, "displayingFrom": begin + 1, "nextFrom": begin + 20}
        listings = [{"listing": self._result(advert), "savedAd": False} for advert in shown]
        return next_page({"pageProps": {"listings": listings, "paging": paging}})

    def render(self, advert: Advert) -> bytes:
        return next_page({"pageProps": {"listing": self._listing(advert), "isRental": advert.home.operation == "rent"}})

    def portal_fields(self, advert: Advert, facts: Facts) -> dict[str, Any]:
        home = advert.home
        word, kind = KINDS[advert.home.subtype]
        area = _area(advert, facts)
        return {
            "title": _address(advert),
            "property_type": kind,
            "subtype": word.lower().replace(" ", "_").replace("-", "_"),
            "area_m2": facts.area_m2,
            "plot_m2": float(Decimal(area["value"]) * ACRE) if area and home.kind == "land" else None,
            "bedrooms": facts.bedrooms,
            "bathrooms": facts.bathrooms,
            "year_built": facts.year,
            "energy_class": facts.energy,
            "energy_kwh_m2": facts.energy_kwh,
            "street": f"{home.number} {home.street}" if facts.street else None,
            "city": home.place.city,
            "region": home.place.region,
            "postal_code": home.place.postal_code,
            "photos": self.pictures(advert, "media.daft.example"),
            "posted_at": _midnight(advert.posted_at),
            "updated_at": _midnight(advert.updated_at),
        }

    def _result(self, advert: Advert) -> dict[str, Any]:
        listing = self._listing(advert)
        names = ("id", "title", "price", "category", "seoFriendlyPath", "propertyType", "featuredLevel", "state")
        return {**{name: listing[name] for name in names}, "publishDate": int(advert.updated_at.timestamp() * 1000)}

    def _listing(self, advert: Advert) -> dict[str, Any]:
        home = advert.home
        facts = facts_of(advert)
        price = advert.price
        where = [f"{home.number} {home.street}"] if facts.street else []
        return {
            "id": advert.ref,
            "title": _address(advert),
            "featuredLevel": "STANDARD",
            "firstPublishDate": f"{advert.posted_at.astimezone(DUBLIN):%d/%m/%Y}",
            "lastUpdateDate": f"{advert.updated_at.astimezone(DUBLIN):%d/%m/%Y}",
            "price": "Price on Application" if price is None else f"€{grouped(price)}{PERIODS[advert.rent_period]}",
            "numBathrooms": None if facts.bathrooms is None else f"{facts.bathrooms} Bath",
            "propertyType": KINDS[home.subtype][0],
            "seller": {
                "name": facts.person,
                "phone": "000 000 0000",
                "branch": None if facts.is_private else facts.agency,
                "sellerType": "PRIVATE_USER" if facts.is_private else "BRANDED_AGENT",
            },
            "dateOfConstruction": str(facts.year or "NA"),
            "media": {"images": [{"size1440x960": each} for each in self.pictures(advert, "media.daft.example")]},
            "ber": {"rating": f"{facts.energy}2", "epi": f"{facts.energy_kwh} kWh/m2/yr"} if facts.energy else {},
            "floorArea": _area(advert, facts),
            "point": {"type": "Point", "coordinates": [home.longitude, home.latitude]} if facts.is_mapped else None,
            "seoFriendlyPath": self.path(advert),
            "category": "Buy" if home.operation == "sale" else "Rent",
            "state": "WITHDRAWN" if advert.gone else "SALE_AGREED" if advert.is_reserved else "PUBLISHED",
            "description": "\n\n".join(facts.paragraphs),
            "nonFormatted": {"beds": facts.bedrooms, "price": price},
            "addressDetails": {
                "postalCode": home.place.postal_code,
                "streetAddress": ",".join([*where, home.place.city, f"Co. {home.place.region}"]),
                "addressLocality": home.place.city,
                "addressRegion": home.place.region,
            },
        }


def _address(advert: Advert) -> str:
    home = advert.home
    where = [f"{home.number} {home.street}"] if facts_of(advert).street else []
    return ", ".join([*where, home.place.city, f"Co. {home.place.region}"])


def _area(advert: Advert, facts: Facts) -> dict[str, str] | None:
    if advert.home.kind == "land":
        acres = None if facts.plot_m2 is None else f"{facts.plot_m2 / 4046.86:.3f}"
        return {"unit": "ACRES", "value": acres} if acres else None
    return None if facts.area_m2 is None else {"unit": "METRES_SQUARED", "value": f"{facts.area_m2:g}"}


def _midnight(when: datetime) -> datetime:
    return when.astimezone(DUBLIN).replace(hour=0, minute=0, second=0, microsecond=0)
