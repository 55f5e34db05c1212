"""willhaben.at: pages contain Next data. The values are rows, `attributes.attribute[]{name, values[]}`.

A search page has `rowsFound`, 30 results a page, `PUBLISHED` in milliseconds and `SEO_URL` below /iad/. A listing's
page has `advertDetails`. Only the URL says whether it is for sale or for rent. The names of attributes and categories
come from other people's code.
"""

import re
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from realestate.crawling import Covers, EmbeddedJsonSpider, Numbers, RowPaths
from realestate.items import Operation, PropertyType
from realestate.parsing.embedded import at

#: Parts of the URL of a home for sale.
FOR_SALE = re.compile("kaufen|eigentum|grundst")
#: What its searches for commercial property show.
COMMERCIAL: tuple[PropertyType, ...] = ("commercial", "office", "building", "garage", "other")


class WillhabenSpider(EmbeddedJsonSpider):
    name = "willhaben"
    site = "https://www.willhaben.at"
    allowed_domains = ("www.willhaben.at",)
    searches = (
        "/iad/immobilien/eigentumswohnung/angebote?sort=1&rows=30&page=1",
        "/iad/immobilien/mietwohnungen/angebote?sort=1&rows=30&page=1",
        "/iad/immobilien/haus-kaufen/angebote?sort=1&rows=30&page=1",
        "/iad/immobilien/haus-mieten/angebote?sort=1&rows=30&page=1",
        "/iad/immobilien/grundstuecke/angebote?sort=1&rows=30&page=1",
        "/iad/immobilien/gewerbeimmobilien-kaufen/angebote?sort=1&rows=30&page=1",
        "/iad/immobilien/gewerbeimmobilien-mieten/angebote?sort=1&rows=30&page=1",
    )
    listing_path = re.compile(r"^/iad/immobilien/d/(?:.*-)?(?P<ref>\d{6,})/?$")
    item_form = "/iad/immobilien/d/{ref}"
    country = "AT"
    currency = "EUR"
    timezone = ZoneInfo("Europe/Vienna")
    terms = "https://www.willhaben.at/iad/agb"
    checked_on = date(2026, 11, 15)
    paging = Numbers("page", size=30)
    newest_first = "date"
    search_path = re.compile(r"^/iad/immobilien/.+")
    search_words = {
        "/eigentumswohnung/": Covers(operation="sale", types=("apartment", "room")),
        "/mietwohnungen/": Covers(operation="rent", types=("apartment", "room")),
        "/haus-kaufen/": Covers(operation="sale", types=("house",)),
        "/haus-mieten/": Covers(operation="rent", types=("house",)),
        "/grundstuecke/": Covers(types=("land",)),
        "/gewerbeimmobilien-kaufen/": Covers(operation="sale", types=COMMERCIAL),
        "/gewerbeimmobilien-mieten/": Covers(operation="rent", types=COMMERCIAL),
    }

    results_path = "pageProps.searchResult.advertSummaryList.advertSummary"
    total_path = "pageProps.searchResult.rowsFound"
    document_path = "pageProps.advertDetails"
    row_paths = RowPaths(rows="attributes.attribute", label="name", value="values")

    link_path = "rows.seo_url"
    link_prefix = "/iad/"
    id_path = "id"
    dated_path = "rows.published"
    card_paths = ("rows.heading || description", 'rows."estate_size/living_area"', "rows.number_of_rooms")
    price_path = "rows.price"
    period_path = "rows.price_for_display"
    point_path = "rows.coordinates"
    seller_path = "rows.isprivate"
    sellers = {
        "0": "agency",
        "1": "owner",
    }
    agency_path = "rows.orgname"
    status_path = "advertStatus.id"
    statuses = {
        "expired": "delisted",
        "deleted": "delisted",
        "sold": "sold",
        "reserved": "reserved",
    }
    fields = {
        "title": "rows.heading || description",
        "description": "rows.description",
        "property_type": "rows.property_type",
        "subtype": "rows.property_type",
        "area_m2": 'rows."estate_size/living_area"',
        "plot_m2": 'rows."plot/area"',
        "floor": "rows.floor",
        "rooms": "rows.number_of_rooms || rows.no_of_rooms",
        "year_built": "rows.construction_year",
        "heating": "rows.heating",
        "condition": "rows.building_condition",
        "energy_class": "rows.energy_hwb_class",
        "energy_kwh_m2": "rows.energy_hwb",
        "region": "rows.state",
        "city": "rows.location",
        "district": "rows.district",
        "street": "rows.address",
        "postal_code": "rows.postcode",
    }
    dates = {
        "posted_at": "firstPublishedDate",
        "updated_at": "publishedDate",
    }

    def shows_price(self, result: Any) -> bool:
        return super().shows_price(result) or at(result, "rows.price_for_display") is not None

    def operation_of(self, ad: Any, url: str) -> Operation | None:
        section = url.partition("/d/")[2].partition("/")[0]  # the title of a flat for sale may contain "vermietet"
        if "miet" in section:
            return "rent"
        return "sale" if FOR_SALE.search(section) else None

    def more_fields(self, ad: Any) -> dict[str, Any]:
        images = str(at(ad, "rows.all_image_urls") or "").split(";")
        return {"photos": [f"https://cache.willhaben.at/mmo/{path}" for path in images if path]}
