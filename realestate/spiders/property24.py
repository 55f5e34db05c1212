"""property24.com: search pages are tiles; a listing's page has JSON-LD: in `@graph` a RealEstateListing `about` a home.

Sizes are only in the page's rows ("Floor Size", "Erf Size"), the period of a rent only in its price. The seller is a
person: only the firm is read. Checked against a listing's page of 2026. The tiles, the order and `Page` of a search
come from other people's code; that all provinces can be searched at once is a guess.
"""

import re
from datetime import date
from zoneinfo import ZoneInfo

from realestate.crawling import JsonLdSpider, Numbers, RowSelectors


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
