"""property24.com: search pages are tiles; a listing's page has JSON-LD, in `@graph` a RealEstateListing `about` a home.

Sizes stand only in the page's rows ("Floor Size", "Erf Size"), the time a rent covers only in its price. Who offers it
is a person: the firm alone is read. Known: a listing's page of 2026; of the search the tiles, the order and `Page` are
others' word, and that all provinces can be asked for at once is a guess.
"""

import re
from datetime import date
from zoneinfo import ZoneInfo

from realestate.crawling.embedding import paths
from realestate.crawling.linkeddata import LinkedDataSpider
from realestate.crawling.paging import Numbers


class Property24Spider(LinkedDataSpider):
    name = "property24"
    site = "https://www.property24.com"
    allowed_domains = ("www.property24.com",)
    searches = tuple(f"/{deal}/advanced-search/results?sp=so%3DNewest&Page=1" for deal in ("for-sale", "to-rent"))
    listing_path = re.compile(r"^/(?:for-sale|to-rent)/.+/(?P<ref>\d{6,})/?$")
    item_form = "/for-sale/-/{ref}"
    country, currency, timezone = "ZA", "ZAR", ZoneInfo("Africa/Johannesburg")
    terms = "https://www.property24.com/terms-and-conditions"
    checked_on = date(2026, 11, 15)
    paging, newest_first = Numbers("Page", size=20), "ref"

    cards = "div.p24_regularTile[data-listing-number], div.p24_promotedTile[data-listing-number]"
    price_in_card, promoted_cards, total_in = ".p24_price", "p24_promotedTile", ".p24_results"
    node_types, price_in_page, rents = ("RealEstateListing",), ".p24_listingFeaturesWrapper .p24_price", "/to-rent/"
    rows_in_page = (".p24_propertyOverviewRow", ".p24_propertyOverviewKey", ".p24_info")
    kind_row = "Type of Property"
    area_rows = {"area_m2": "Floor Size", "plot_m2": "Erf Size"}  # noqa: RUF012
    dates, agency_at = paths("posted_at=datePosted"), "offers.offeredBy.worksFor.name"
