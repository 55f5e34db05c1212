"""property24.com: search pages are tiles; a listing's page has JSON-LD: in `@graph` a RealEstateListing `about` a home.

Pages without JSON-LD are read by their rows. Sizes are only in rows ("Floor Size", "Erf Size"), the period of a rent
only in its price. The seller is a person: only the firm is read. Checked against listings' pages of 2025 and 2026. The
tiles, the order and `Page` of a search come from other people's code; that all provinces can be searched at once is a
guess.
"""

import re
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from realestate.crawling import Covers, JsonLdSpider, Numbers, RowSelectors
from realestate.parsing import html, numbers
from realestate.parsing.rows import Rows
from realestate.parsing.text import line


class Property24Spider(JsonLdSpider):
    name = "property24"
    site = "https://www.property24.com"
    allowed_domains = ("www.property24.com",)
    searches = (
        "/for-sale/advanced-search/results?sp=so%3DNewest&Page=1",
        "/to-rent/advanced-search/results?sp=so%3DNewest&Page=1",
    )
    listing_path = re.compile(r"^/(?:for-sale|to-rent)/.+/(?P<ref>\d{6,})/?$")
    item_form = "/for-sale/-/{ref}"
    country = "ZA"
    currency = "ZAR"
    timezone = ZoneInfo("Africa/Johannesburg")
    terms = "https://www.property24.com/terms-and-conditions"
    checked_on = date(2026, 11, 15)
    paging = Numbers("Page", size=20)
    newest_first = "ref"
    search_path = re.compile(r"^/(?:for-sale|to-rent|new-developments)/.+")
    search_words = {
        "/for-sale/": Covers(operation="sale"),
        "/to-rent/": Covers(operation="rent"),
    }

    card_selector = "div.p24_regularTile[data-listing-number], div.p24_promotedTile[data-listing-number]"
    card_price_selector = ".p24_price"
    card_text_selectors = (".p24_title", ".p24_location", ".p24_featureDetails", ".p24_size")
    promoted_card_class = "p24_promotedTile"
    total_selector = ".p24_results"

    node_types = ("RealEstateListing",)
    price_selector = ".p24_listingFeaturesWrapper .p24_price"
    row_selectors = RowSelectors(
        row=".p24_propertyOverviewRow",
        label=".p24_propertyOverviewKey",
        value=".p24_info",
    )
    area_labels = {
        "area_m2": "Floor Size",
        "plot_m2": "Erf Size",
    }
    property_type_label = "Type of Property"
    rent_path = "/to-rent/"
    dates = {
        "posted_at": "datePosted",
    }
    agency_path = "offers.offeredBy.worksFor.name"

    def has_listing(self, rows: Rows) -> bool:
        return rows.first("Listing Number") is not None and rows.first("Type of Property") is not None

    def page_fields(self, page: html.Page, rows: Rows) -> dict[str, Any]:
        number = re.sub(r"\D", "", str(rows.first("Listing Number") or ""))
        address = [line(part) for part in (html.text(page, ".p24_listingContent .p24_address") or "").split(",")]
        return {
            "ref": number or None,
            "title": html.text(page, ".p24_listingFeaturesWrapper h1") or html.text(page, "h1"),
            "description": html.opengraph(page).get("og:description"),
            "bedrooms": numbers.worded(rows.take("Bedrooms", "Bedroom")),
            "bathrooms": numbers.worded(rows.take("Bathrooms", "Bathroom")),
            "city": address[-1],
            "district": address[-2] if len(address) > 1 else None,
            "photos": list(dict.fromkeys(html.attributes(page, "img[lazy-print-src]", "lazy-print-src"))),
        }
