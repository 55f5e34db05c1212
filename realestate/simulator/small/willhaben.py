"""A portal like willhaben: Next data whose facts are attributes by name, each with a list of values."""

import re
from html import escape
from typing import Any
from zoneinfo import ZoneInfo

from realestate.simulator.adverts import Advert
from realestate.simulator.site import Found
from realestate.simulator.small.facts import Facts, facts_of
from realestate.simulator.small.small_portal import TRADE, SmallSite, grouped, next_page, slug

VIENNA = ZoneInfo("Europe/Vienna")
KINDS = {
    "detached": ("Einfamilienhaus", "house"),
    "semi_detached": ("Doppelhaushälfte", "house"),
    "terraced": ("Reihenhaus", "house"),
    "bungalow": ("Bungalow", "house"),
    "apartment": ("Wohnung", "apartment"),
    "flat_studio": ("Garconniere", "apartment"),
    "land": ("Grundstück", "land"),
    "office": ("Büro", "office"),
    "shop": ("Geschäftslokal", "commercial"),
}
CATEGORIES = {
    ("apartment", "sale"): "eigentumswohnung",
    ("apartment", "rent"): "mietwohnungen",
    ("house", "sale"): "haus-kaufen",
    ("house", "rent"): "haus-mieten",
    ("land", "sale"): "grundstuecke",
    **{
        (kind, deal): f"gewerbeimmobilien-{word}"
        for kind in TRADE
        for deal, word in (("sale", "kaufen"), ("rent", "mieten"))
    },
}
PERIODS = {"month": " pro Monat", "year": " pro Jahr", None: ""}


class Willhaben(SmallSite):
    portal = "willhaben"
    index = "/iad/immobilien/eigentumswohnung/angebote"
    searches = {  # noqa: RUF012
        f"/iad/immobilien/{name}/angebote": (deal, TRADE if kind in TRADE else (kind,))
        for (kind, deal), name in CATEGORIES.items()
    }
    advert_path = re.compile(r"/iad/immobilien/d/.*-(\d{6,})/?")
    page_size = 30
    currency = "EUR"

    def path(self, advert: Advert) -> str:
        home = advert.home
        category = CATEGORIES[home.kind, home.operation]
        return f"/iad/immobilien/d/{category}/{slug(home.place.city)}/{slug(facts_of(advert).title)}-{advert.ref}/"

    def results(self, found: Found, begin: int, shown: list[Advert]) -> bytes:
        result = {
            "rowsFound": found.total,
            "rowsRequested": 30,
            "rowsReturned": len(shown),
            "pageRequested": begin // 30 + 1,
            "advertSummaryList": {"advertSummary": [self._summary(advert) for advert in shown]},
        }
        return next_page({"pageProps": {"searchResult": result}})

    def render(self, advert: Advert) -> bytes:
        facts = facts_of(advert)
        details = {
            "id": str(advert.ref),
            "description": facts.title,
            "firstPublishedDate": f"{advert.posted_at.astimezone(VIENNA):%Y-%m-%dT%H:%M:%S%z}",
            "publishedDate": f"{advert.updated_at.astimezone(VIENNA):%Y-%m-%dT%H:%M:%S%z}",
            "advertStatus": {"id": "expired" if advert.gone else "reserved" if advert.is_reserved else "active"},
            "attributes": {"attribute": _attributes(self._values(advert, facts))},
            "sellerProfileUserData": {"name": facts.person, "private": facts.is_private},
        }
        return next_page({"pageProps": {"advertDetails": details, "searchResult": None}}, self.canonical(advert))

    def portal_fields(self, advert: Advert, facts: Facts) -> dict[str, Any]:
        home = advert.home
        word, kind = KINDS[advert.home.subtype]
        return {
            "property_type": kind,
            "subtype": word.lower(),
            "area_m2": facts.area_m2,
            "plot_m2": facts.plot_m2,
            "rooms": facts.rooms,
            "floor": facts.floor,
            "year_built": facts.year,
            "energy_class": facts.energy,
            "energy_kwh_m2": facts.energy_kwh,
            "street": facts.street,
            "district": home.place.district,
            "city": home.place.city,
            "region": home.place.region,
            "postal_code": home.place.postal_code,
            "photos": [f"https://cache.willhaben.at/mmo/{path}" for path in _images(advert, facts)],
            "posted_at": advert.posted_at.replace(microsecond=0),
            "updated_at": advert.updated_at.replace(microsecond=0),
        }

    def _summary(self, advert: Advert) -> dict[str, Any]:
        values = self._values(advert, facts_of(advert))
        values["SEO_URL"] = self.path(advert).removeprefix("/iad/")
        values["PUBLISHED"] = int(advert.updated_at.timestamp() * 1000)
        del values["DESCRIPTION"]
        attributes = {"attribute": _attributes(values)}
        status = {"id": "reserved" if advert.is_reserved else "active"}
        return {
            "id": str(advert.ref),
            "description": values["HEADING"],
            "advertStatus": status,
            "attributes": attributes,
        }

    def _values(self, advert: Advert, facts: Facts) -> dict[str, Any]:
        home = advert.home
        price = advert.price
        shown = "Preis auf Anfrage" if price is None else f"€ {grouped(price, '.')}{PERIODS[advert.rent_period]}"
        return {
            "HEADING": facts.title,
            "DESCRIPTION": "<br/>".join(escape(text, quote=False) for text in facts.paragraphs),
            "PRICE": price,
            "PRICE_FOR_DISPLAY": shown,
            "PROPERTY_TYPE": KINDS[home.subtype][0],
            "ESTATE_SIZE/LIVING_AREA": facts.area_m2,
            "PLOT/AREA": facts.plot_m2,
            "NUMBER_OF_ROOMS": facts.rooms,
            "FLOOR": facts.floor,
            "CONSTRUCTION_YEAR": facts.year,
            "ENERGY_HWB": facts.energy_kwh,
            "ENERGY_HWB_CLASS": facts.energy,
            "COORDINATES": f"{home.latitude},{home.longitude}" if facts.is_mapped else None,
            "POSTCODE": home.place.postal_code,
            "LOCATION": home.place.city,
            "DISTRICT": home.place.district,
            "STATE": home.place.region,
            "ADDRESS": facts.street,
            "ISPRIVATE": 1 if facts.is_private else 0,
            "ORGNAME": None if facts.is_private else facts.agency,
            "CONTACT/PHONE": "0000 000000",
            "ALL_IMAGE_URLS": ";".join(_images(advert, facts)),
        }


def _images(advert: Advert, facts: Facts) -> list[str]:
    return [f"{advert.ref % 10}/{advert.ref}_{number}.jpg" for number in range(facts.photos)]


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the attributes. Each value is a list with one text. A value that is not shown has no attribute."""
    return [{"name": name, "values": [f"{value}"]} for name, value in values.items() if value not in (None, "")]
