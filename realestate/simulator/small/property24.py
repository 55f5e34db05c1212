"""A portal like property24: tiles in the search, JSON-LD in a @graph and rows on a listing's page."""

import re
from html import escape
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from realestate.simulator.adverts import Advert
from realestate.simulator.site import Found
from realestate.simulator.small.facts import Facts, facts_of
from realestate.simulator.small.small_portal import DWELLINGS, TRADE, SmallSite, grouped, slug

JOHANNESBURG = ZoneInfo("Africa/Johannesburg")
KINDS = {
    "detached": ("House", "House", "house"),
    "semi_detached": ("House", "House", "house"),
    "terraced": ("Townhouse", "House", "house"),
    "bungalow": ("House", "House", "house"),
    "apartment": ("Apartment", "Apartment", "apartment"),
    "flat_studio": ("Apartment", "Apartment", "apartment"),
    "land": ("Vacant Land", "Place", "land"),
    "office": ("Office", "Place", "office"),
    "shop": ("Retail", "Place", "commercial"),
}
DEALS = {"sale": "for-sale", "rent": "to-rent"}
PERIODS = {"month": " Per Month", "day": " Per Day", None: ""}


class Property24(SmallSite):
    portal = "property24"
    index = "/for-sale/advanced-search/results"
    searches = {  # noqa: RUF012
        f"/{word}/advanced-search/results": (deal, (*DWELLINGS, *TRADE)) for deal, word in DEALS.items()
    }
    advert_path = re.compile(r"/(?:for-sale|to-rent)/.+/(\d{6,})/?")
    page_parameter = "Page"
    page_size = 20
    currency = "ZAR"
    newest = "ref"

    def path(self, advert: Advert) -> str:
        place = advert.home.place
        where = "/".join(slug(part or "") for part in (place.district, place.city, place.region))
        return f"/{DEALS[advert.home.operation]}/{where}/{place.postal_code}/{advert.ref}"

    def results(self, found: Found, begin: int, shown: list[Advert]) -> bytes:
        tiles = "".join(map(self._tile, shown))
        count = f"Showing {begin + 1} - {begin + len(shown)} of {grouped(found.total, ' ')}"
        return f'<!DOCTYPE html><html><body><div class="p24_results">{count}</div>{tiles}</body></html>'.encode()

    def render(self, advert: Advert) -> bytes:
        document = {"@context": "https://schema.org", "@graph": [self._node(advert)]}
        node = msgspec.json.encode(document).decode().replace("</", "<\\/")
        rows = "".join(
            f'<div class="row p24_propertyOverviewRow"><div class="col-6 p24_propertyOverviewKey">{label}</div>'
            f'<div class="col-6 noPadding"><div class="p24_info">{escape(value)}</div></div></div>'
            for label, value in _rows(advert).items()
        )
        return (
            f'<!DOCTYPE html><html><head><script type="application/ld+json">{node}</script></head><body>'
            f'<div class="p24_listingFeaturesWrapper"><span class="p24_price">{_price(advert)}</span></div>{rows}'
            f'<div class="p24_similar"><span class="p24_price">R 999 999</span></div></body></html>'
        ).encode()

    def portal_fields(self, advert: Advert, facts: Facts) -> dict[str, Any]:
        home = advert.home
        word, _, kind = KINDS[advert.home.subtype]
        posted = advert.posted_at.astimezone(JOHANNESBURG).replace(hour=0, minute=0, second=0, microsecond=0)
        return {
            "title": _title(advert),
            "property_type": kind,
            "subtype": word.lower().replace(" ", "_"),
            "area_m2": facts.area_m2,
            "plot_m2": facts.plot_m2,
            "bedrooms": facts.bedrooms,
            "bathrooms": facts.bathrooms,
            "city": home.place.district,
            "region": home.place.region,
            "latitude": None,
            "longitude": None,
            "geo_precision": None,
            "seller_type": None if facts.is_private else "agency",
            "photos": self.pictures(advert, "images.prop24.example")[:1],
            "posted_at": posted,
        }

    def _tile(self, advert: Advert) -> str:
        return (
            f'<div class="p24_regularTile js_resultTile" data-listing-number="{advert.ref}">'
            f'<a href="{self.path(advert)}" title="{escape(_title(advert))}">'
            f'<span class="p24_price">{_price(advert)}</span>'
            f'<span class="p24_location">{advert.home.place.district}</span></a></div>'
        )

    def _node(self, advert: Advert) -> dict[str, Any]:
        home = advert.home
        facts = facts_of(advert)
        person = {"@type": "Person", "name": facts.person}
        firm = {} if facts.is_private else {"worksFor": {"@type": "RealEstateAgent", "name": facts.agency}}
        offer: dict[str, Any] = {"@type": "Offer", "offeredBy": {**person, **firm}}
        if advert.price is not None:
            money = {"@type": "UnitPriceSpecification", "price": str(advert.price), "priceCurrency": "ZAR"}
            offer["priceSpecification"] = money
        counts = {"numberOfBedrooms": facts.bedrooms, "numberOfBathroomsTotal": facts.bathrooms}
        address = {"addressLocality": home.place.district, "addressRegion": home.place.region}
        return {
            "@type": "RealEstateListing",
            "datePosted": f"{advert.posted_at.astimezone(JOHANNESBURG):%Y-%m-%d}",
            "name": _title(advert),
            "description": "\n".join(facts.paragraphs),
            "image": next(iter(self.pictures(advert, "images.prop24.example")), None),
            "url": self.base + self.path(advert),
            "about": {
                "@type": KINDS[home.subtype][1],
                **{name: count for name, count in counts.items() if count is not None},
                "address": {"@type": "PostalAddress", **address, "addressCountry": "South Africa"},
            },
            "offers": offer,
        }


def _title(advert: Advert) -> str:
    beds = facts_of(advert).bedrooms
    deal = "for sale" if advert.home.operation == "sale" else "to rent"
    return f"{f'{beds} Bedroom ' if beds else ''}{KINDS[advert.home.subtype][0]} {deal} in {advert.home.place.district}"


def _price(advert: Advert) -> str:
    return "POA" if advert.price is None else f"R {grouped(advert.price, ' ')}{PERIODS[advert.rent_period]}"


def _rows(advert: Advert) -> dict[str, str]:
    facts = facts_of(advert)
    rows = {
        "Listing Number": str(advert.ref),
        "Type of Property": KINDS[advert.home.subtype][0],
        "Floor Size": f"{facts.area_m2:g} m²" if facts.area_m2 else None,
        "Erf Size": f"{grouped(int(facts.plot_m2), ' ')} m²" if facts.plot_m2 else None,
    }
    return {label: value for label, value in rows.items() if value}
