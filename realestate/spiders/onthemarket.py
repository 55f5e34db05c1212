"""onthemarket.com: pages contain Next data below `initialReduxState`: `results.list[]`, and `property` on a listing's
page.

The page's JSON-LD Product is the site itself, not the home. `agent.location` is the agency's. Of a rent's two prices
("£300 pw (£1,300 pcm)") the first counts. Checked against a listing's page of 2026. Of searches only the shape of a
result is known; their count (`totalResults`) and the commercial section are guesses. No date is shown: results are
ordered by their number.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from realestate.crawling import Covers, EmbeddedJsonSpider, Numbers
from realestate.items import Operation, Status
from realestate.parsing import prices
from realestate.parsing.embedded import at, decoded, listed
from realestate.parsing.text import line
from realestate.parsing.words import folded, meaning

#: Flags of an advert that the agent took back. Their names have a question mark in some documents.
RETRACTED = ("retracted", "retracted?")
#: Where an advert has labels. A result of a search without any of these says nothing about its status.
LABELLED = ("propertyLabels", "status", "availability")
#: Labels over an advert. "STC" means "subject to contract": the sale is not final.
LABELS: dict[str, Status] = folded(
    {
        "Sold STC": "reserved",
        "Sold subject to contract": "reserved",
        "SSTC": "reserved",
        "Under offer": "reserved",
        "Sale agreed": "reserved",
        "Reserved": "reserved",
        "Let agreed": "reserved",
        "Let STC": "reserved",
        "Sold": "sold",
        "Let": "rented",
    }
)


def _labels(ad: Any) -> Iterator[str]:
    """The labels of an advert: texts, or objects with a text."""
    for label in (*listed(at(ad, "propertyLabels")), at(ad, "status"), at(ad, "availability")):
        yield from (each for each in (label.values() if isinstance(label, dict) else (label,)) if isinstance(each, str))


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
    parser_version = 2
    paging = Numbers("page", size=30)
    newest_first = "ref"
    search_path = re.compile(r"^/(?:for-sale|to-rent|new-homes)/.+")
    search_words = {
        "/for-sale/": Covers(operation="sale"),
        "/to-rent/": Covers(operation="rent"),
        "/commercial/": Covers(types=("commercial", "office", "building", "garage", "land", "other")),
    }
    whole_country = "/uk"

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

    def status_of(self, ad: Any) -> Status | None:
        if any(at(ad, name) is True for name in RETRACTED):
            return "delisted"
        for label in _labels(ad):
            if status := meaning(label, LABELS):
                return status
        return "active" if any(at(ad, name) is not None for name in LABELLED) else None

    def why_gone(self, ad: Any) -> str:
        return "the advert is retracted"

    def more_fields(self, ad: Any) -> dict[str, Any]:
        return {
            "seller_type": "agency",
            "agency_name": line(at(ad, "agent.name")),
            # `agent.postcode` is the agency's
            "postal_code": line(at(decoded(at(ad, "headerData.dataLayer")), "postcode")),
        }
