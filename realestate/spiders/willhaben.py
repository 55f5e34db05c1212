"""willhaben.at: pages carry Next data. What they tell stands in `attributes.attribute[]{name, values[]}`, by name.

A search has `rowsFound`, 30 rows a page, `PUBLISHED` in milliseconds and `SEO_URL` below /iad/; a listing's page has
`advertDetails`. Which deal it is tells its address alone. Names of attributes and categories are from others' code.
"""

import re
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from realestate.crawling.embedding import EmbeddingSpider, paths
from realestate.crawling.paging import Numbers
from realestate.items import Operation
from realestate.parsing.embedded import at

KINDS = ("eigentumswohnung", "mietwohnungen", "haus-kaufen", "haus-mieten", "grundstuecke")
TRADE = ("gewerbeimmobilien-kaufen", "gewerbeimmobilien-mieten")
SOLD = re.compile("kaufen|eigentum|grundst")


class WillhabenSpider(EmbeddingSpider):
    name, site, allowed_domains = "willhaben", "https://www.willhaben.at", ("www.willhaben.at",)
    searches = tuple(f"/iad/immobilien/{kind}/angebote?sort=1&rows=30&page=1" for kind in KINDS + TRADE)
    listing_path, item_form = re.compile(r"^/iad/immobilien/d/(?:.*-)?(?P<ref>\d{6,})/?$"), "/iad/immobilien/d/{ref}"
    country, currency, timezone = "AT", "EUR", ZoneInfo("Europe/Vienna")
    terms, checked_on = "https://www.willhaben.at/iad/agb", date(2026, 11, 15)
    paging, newest_first = Numbers("page", size=30), "date"
    rows, link_before = ("attributes.attribute", "name", "values"), "/iad/"
    results_at, total_at = "pageProps.searchResult.advertSummaryList.advertSummary", "pageProps.searchResult.rowsFound"
    listing_at, link_at, dated_at = "pageProps.advertDetails", "told.seo_url", "told.published"
    price_at, period_at, point_at = "told.price", "told.price_for_display", "told.coordinates"
    seller_at, agency_at, sellers = "told.isprivate", "told.orgname", paths("0=agency 1=owner")
    state_at, states = "advertStatus.id", paths("expired=delisted deleted=delisted sold=sold reserved=reserved")
    fields = paths(
        """title=told.heading||description description=told.description property_type=told.property_type
        subtype=told.property_type area_m2=told."estate_size/living_area" plot_m2=told."plot/area" floor=told.floor
        rooms=told.number_of_rooms||told.no_of_rooms year_built=told.construction_year heating=told.heating
        condition=told.building_condition energy_class=told.energy_hwb_class energy_kwh_m2=told.energy_hwb
        region=told.state city=told.location district=told.district street=told.address postal_code=told.postcode"""
    )
    dates = paths("posted_at=firstPublishedDate updated_at=publishedDate")

    def deal(self, ad: Any, url: str) -> Operation | None:
        section = url.partition("/d/")[2].partition("/")[0]  # a flat that is sold may be "vermietet" by its title
        return "rent" if "miet" in section else "sale" if SOLD.search(section) else None

    def more(self, ad: Any) -> dict[str, Any]:
        images = str(at(ad, "told.all_image_urls") or "").split(";")
        return {"photos": [f"https://cache.willhaben.at/mmo/{path}" for path in images if path]}
