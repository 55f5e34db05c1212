"""A portal like onthemarket: Next data in its Redux state; the JSON-LD Product of every page is the site itself."""

import re
from html import escape
from typing import Any

from realestate.simulator.adverts import Advert
from realestate.simulator.site import Found
from realestate.simulator.small.facts import Facts, facts_of
from realestate.simulator.small.small_portal import DWELLINGS, TRADE, SmallSite, grouped, next_page

KINDS = {
    "detached": ("Detached house", "house"),
    "semi_detached": ("Semi-detached house", "house"),
    "terraced": ("Terraced house", "house"),
    "bungalow": ("Bungalow", "house"),
    "apartment": ("Apartment", "apartment"),
    "flat_studio": ("Studio", "apartment"),
    "land": ("Land", "land"),
    "office": ("Office", "office"),
    "shop": ("Shop", "commercial"),
}
_SITE = '{"@context": "https://schema.org", "@type": "Product", "name": "The site"}'
ITSELF = f'<script type="application/ld+json">{_SITE}</script>'


class Onthemarket(SmallSite):
    portal = "onthemarket"
    index = "/for-sale/property/uk/"
    searches = {  # noqa: RUF012
        f"/{word}/{section}/uk/": (deal, kinds)
        for deal, word in (("sale", "for-sale"), ("rent", "to-rent"))
        for section, kinds in (("property", DWELLINGS), ("commercial/property", TRADE))
    }
    advert_path = re.compile(r"/details/(\d+)/?")
    page_size = 30
    currency = "GBP"
    newest = "ref"

    def path(self, advert: Advert) -> str:
        return f"/details/{advert.ref}/"

    def results(self, found: Found, begin: int, shown: list[Advert]) -> bytes:
        results = {"list": [self._result(advert) for advert in shown], "totalResults": found.total}
        return next_page({"pageProps": {}, "initialReduxState": {"results": results, "property": {}}}, ITSELF)

    def render(self, advert: Advert) -> bytes:
        state = {"results": {"list": []}, "property": self._property(advert)}
        return next_page({"pageProps": {}, "initialReduxState": state}, ITSELF)

    def portal_fields(self, advert: Advert, facts: Facts) -> dict[str, Any]:
        word, kind = KINDS[advert.home.subtype]
        return {
            "title": _title(advert),
            "property_type": kind,
            "subtype": word.lower().replace(" ", "_").replace("-", "_"),
            "is_new_building": _is_new(advert),
            "area_m2": facts.area_m2,
            "bedrooms": facts.bedrooms,
            "bathrooms": facts.bathrooms,
            "energy_class": facts.energy,
            "city": advert.home.place.city,
            "seller_type": "agency",
            "agency_name": facts.agency,
            "agency_ref": facts.agency_ref,
            "photos": self.pictures(advert, "media.onthemarket.example"),
        }

    def _result(self, advert: Advert) -> dict[str, Any]:
        return {
            "id": str(advert.ref),
            "property-title": _title(advert),
            "humanised-property-type": KINDS[advert.home.subtype][0],
            "address": _address(advert),
            "price": _price(advert),
            "bedrooms": facts_of(advert).bedrooms,
            "location": {"lon": advert.home.longitude, "lat": advert.home.latitude},
            "details-url": self.path(advert),
            "spotlight?": False,
        }

    def _property(self, advert: Advert) -> dict[str, Any]:
        home = advert.home
        facts = facts_of(advert)
        word = KINDS[home.subtype][0]
        return {
            "id": str(advert.ref),
            "propertyTitle": _title(advert),
            "humanisedPropertyType": word,
            "propSubId": word.lower().replace(" ", "-"),
            "description": "<br/>".join(escape(text, quote=False) for text in facts.paragraphs),
            "price": _price(advert),
            "priceRaw": advert.price,
            "shortPrice": f"£{advert.asking // 1000}k",
            "priceQualifier": "Guide price",
            "toRent": home.operation == "rent",
            "forSale": home.operation == "sale",
            "bedrooms": facts.bedrooms,
            "bathrooms": facts.bathrooms,
            "minimumAreaSqM": facts.area_m2,
            "epc": {"rating": facts.energy, "date": "May 1, 2026"},
            "newHomeFlag": _is_new(advert),
            "displayAddress": _address(advert),
            "addressLocality": home.place.city,
            "location": {"lon": home.longitude, "lat": home.latitude} if facts.is_mapped else None,
            "images": [
                {"largeUrl": each, "isImage": True} for each in self.pictures(advert, "media.onthemarket.example")
            ],
            "features": [{"id": 1, "feature": "Chain free"}],
            "agent": {
                "name": facts.agency,
                "propertyReference": facts.agency_ref,
                "telephone": "00000 000000",
                "location": {"lon": 0.1, "lat": 51.1},
            },
        }


def _title(advert: Advert) -> str:
    beds = facts_of(advert).bedrooms
    kind = KINDS[advert.home.subtype][0].lower()
    deal = "for sale" if advert.home.operation == "sale" else "to rent"
    return f"{beds} bedroom {kind} {deal}" if beds else f"{kind.capitalize()} {deal}"


def _address(advert: Advert) -> str:
    place = advert.home.place
    street = [advert.home.street] if facts_of(advert).street else []
    return ", ".join(
        [*street, place.district or "", place.city, place.region or "", (place.postal_code or "").split()[0]]
    )


def _price(advert: Advert) -> str:
    """Return the shown price. A rent is shown per week and per month, first the one that the seller chose."""
    price = advert.price
    if price is None:
        return "POA"
    if advert.rent_period == "week":
        return f"£{grouped(price)} pw (£{grouped(round(price * 52 / 12))} pcm)"
    if advert.rent_period == "month":
        return f"£{grouped(price)} pcm (£{grouped(round(price * 12 / 52))} pw)"
    return f"£{grouped(price)}"


def _is_new(advert: Advert) -> bool:
    return (advert.home.year or 0) >= 2025
