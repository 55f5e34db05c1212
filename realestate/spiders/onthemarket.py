"""onthemarket.com: pages contain Next data below `initialReduxState`: `results.list[]`, and `property` on a listing's
page.

The page's JSON-LD Product is the site itself, not the home. `agent.location` is the agency's. Of a rent's two prices
("£300 pw (£1,300 pcm)") the first counts. Checked against a listing's page of 2026. Of searches only the shape of a
result is known; their count (`totalResults`) and the commercial section are guesses. No date is shown: results are
ordered by their number.
"""

import re
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from realestate.crawling import EmbeddedJsonSpider, Numbers
from realestate.items import Operation
from realestate.parsing import prices
from realestate.parsing.embedded import at
from realestate.parsing.text import line


class OnthemarketSpider(EmbeddedJsonSpider):
    name = "onthemarket"
    site = "https://www.onthemarket.com"
    allowed_domains = ("www.onthemarket.com",)
    searches = (
        "/for-sale/property/uk/?sort-field=update_date&page=1",
        "/for-sale/commercial/property/uk/?sort-field=update_date&page=1",
        "/to-rent/property/uk/?sort-field=update_date&page=1",
        "/to-rent/commercial/property/uk/?sort-field=update_date&page=1",
    )
    listing_path = re.compile(r"^/details/(?P<ref>\d+)/?$")
    item_form = "/details/{ref}/"
    country = "GB"
    currency = "GBP"
    timezone = ZoneInfo("Europe/London")
    terms = "https://www.onthemarket.com/terms/"
    checked_on = date(2026, 11, 15)
    paging = Numbers("page", size=30)
    newest_first = "ref"

    results_path = "initialReduxState.results.list"
    total_path = "initialReduxState.results.totalResults"
    document_path = "initialReduxState.property"

    link_path = "join('', [id, '/'])"
    link_prefix = "/details/"
    promoted_path = '"spotlight?"'
    card_paths = ('"property-title"', '"humanised-property-type"', "bedrooms", "address")
    price_path = "price"
    point_path = "location.[lat, lon]"
    fields = {
        "title": "propertyTitle",
        "description": "description",
        "property_type": "humanisedPropertyType",
        "subtype": "propSubId",
        "bedrooms": "bedrooms",
        "bathrooms": "bathrooms",
        "area_m2": "minimumAreaSqM",
        "energy_class": "epc.rating",
        "is_new_building": "newHomeFlag",
        "city": "addressLocality",
        "agency_ref": "agent.propertyReference",
        "photos": "images[].largeUrl",
    }
    extra_paths = {
        "address": "displayAddress",
        "priceQualifier": "priceQualifier",
        "features": "features[].feature",
        "labels": "propertyLabels",
    }

    def operation_of(self, ad: Any, url: str) -> Operation | None:
        if at(ad, "toRent") is True or prices.period(line(at(ad, "price"))):
            return "rent"
        return "sale" if at(ad, "forSale") is True else None

    def more_fields(self, ad: Any) -> dict[str, Any]:
        return {
            "seller_type": "agency",
            "agency_name": line(at(ad, "agent.name")),
        }
