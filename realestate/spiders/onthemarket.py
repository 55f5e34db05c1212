"""onthemarket.com: pages carry Next data below `initialReduxState`: `results.list[]`, and `property` on its own page.

The page's JSON-LD Product is the site itself, not the home. `agent.location` is the agency's; of a rent's two prices
("£300 pw (£1,300 pcm)") the first counts. Known: a listing's page of 2026; of searches only the shape of a result is,
their count (`totalResults`) and the commercial section are guesses. It shows no date: results go by their number.
"""

import re
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from realestate.crawling.embedding import EmbeddingSpider, paths
from realestate.crawling.paging import Numbers
from realestate.items import Operation
from realestate.parsing import prices
from realestate.parsing.embedded import at
from realestate.parsing.text import line

KINDS = [f"{deal}/{kind}" for deal in ("for-sale", "to-rent") for kind in ("property", "commercial/property")]


class OnthemarketSpider(EmbeddingSpider):
    name, site, allowed_domains = "onthemarket", "https://www.onthemarket.com", ("www.onthemarket.com",)
    searches = tuple(f"/{kind}/uk/?sort-field=update_date&page=1" for kind in KINDS)
    listing_path, item_form = re.compile(r"^/details/(?P<ref>\d+)/?$"), "/details/{ref}/"
    country, currency, timezone = "GB", "GBP", ZoneInfo("Europe/London")
    terms, checked_on = "https://www.onthemarket.com/terms/", date(2026, 11, 15)
    paging, newest_first = Numbers("page", size=30), "ref"
    results_at, total_at = "initialReduxState.results.list", "initialReduxState.results.totalResults"
    listing_at, link_at, link_before, promoted_at = (
        "initialReduxState.property",
        "join('', [id, '/'])",
        "/details/",
        '"spotlight?"',
    )
    price_at, point_at = "price", "location.[lat, lon]"
    fields = paths(
        """title=propertyTitle description property_type=humanisedPropertyType subtype=propSubId bedrooms bathrooms
        area_m2=minimumAreaSqM energy_class=epc.rating is_new_building=newHomeFlag city=addressLocality
        agency_ref=agent.propertyReference photos=images[].largeUrl"""
    )
    kept = paths("address=displayAddress priceQualifier features=features[].feature labels=propertyLabels")

    def deal(self, ad: Any, url: str) -> Operation | None:
        is_rent = at(ad, "toRent") is True or prices.period(line(at(ad, "price")))
        return "rent" if is_rent else "sale" if at(ad, "forSale") is True else None

    def more(self, ad: Any) -> dict[str, Any]:
        return {"seller_type": "agency", "agency_name": line(at(ad, "agent.name"))}
