"""daft.ie: pages carry Next data: `pageProps.listings[].listing` of a search, `pageProps.listing` of a listing's page.

A point is GeoJSON, longitude first; of an energy rating "C1" the letter counts; land is told in acres. Known: a page of
2026. How searches page (`from`, 20 a page, `paging`) and what `state` can be is others' word: look there first.
"""

import re
from datetime import date
from zoneinfo import ZoneInfo

from realestate.crawling.embedding import EmbeddingSpider, paths
from realestate.crawling.paging import Offsets

SECTIONS = (
    "property-for-sale",
    "property-for-rent",
    "commercial-properties-for-sale",
    "commercial-properties-for-rent",
)


class DaftSpider(EmbeddingSpider):
    name = "daft"
    site = "https://www.daft.ie"
    allowed_domains = ("www.daft.ie",)
    searches = tuple(f"/{section}/ireland?sort=publishDateDesc&pageSize=20&from=0" for section in SECTIONS)
    listing_path = re.compile(r"^/[\w-]+/[^/]+/(?P<ref>\d+)/?$")
    item_form = "/property/-/{ref}"
    country, currency, timezone = "IE", "EUR", ZoneInfo("Europe/Dublin")
    terms = "https://www.daft.ie/terms"
    checked_on = date(2026, 11, 15)
    paging, newest_first = Offsets("from", 20), "date"

    results_at, total_at = "pageProps.listings[].listing", "pageProps.paging.totalResults"
    listing_at, link_at, dated_at = "pageProps.listing", "seoFriendlyPath", "publishDate"
    price_at, deal_at, deals = "price", "category", paths("Buy=sale Rent=rent")
    area_at, point_at = "[floorArea.value, floorArea.unit]", "point"
    seller_at, agency_at = "seller.sellerType", "seller.branch"
    sellers = paths("BRANDED_AGENT=agency UNBRANDED_AGENT=agency PRIVATE_USER=owner")
    state_at, states = "state", paths("SALE_AGREED=reserved LET_AGREED=reserved WITHDRAWN=delisted EXPIRED=delisted")
    fields = paths(
        """title description property_type=propertyType subtype=propertyType year_built=dateOfConstruction
        bedrooms=nonFormatted.beds bathrooms=numBathrooms energy_class=ber.rating energy_kwh_m2=ber.epi
        street=addressDetails.streetAddress city=addressDetails.addressLocality region=addressDetails.addressRegion
        postal_code=addressDetails.postalCode photos=media.images[].size1440x960"""
    )
    dates = paths("posted_at=firstPublishDate updated_at=lastUpdateDate")
    kept = paths("sellingType sticker")
