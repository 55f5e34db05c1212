"""daft.ie: pages contain Next data: `pageProps.listings[].listing` on a search page, `pageProps.listing` on a
listing's.

A point is GeoJSON, longitude first. Of an energy rating "C1" the letter counts. The size of land is in acres. Checked
against a page of 2026. How searches page (`from`, 20 a page, `paging`) and the values of `state` come from other
people's code: look there first if something breaks.
"""

import re
from datetime import date
from zoneinfo import ZoneInfo

from realestate.crawling import EmbeddedJsonSpider, Offsets


class DaftSpider(EmbeddedJsonSpider):
    name = "daft"
    site = "https://www.daft.ie"
    allowed_domains = ("www.daft.ie",)
    searches = (
        "/property-for-sale/ireland?sort=publishDateDesc&pageSize=20&from=0",
        "/property-for-rent/ireland?sort=publishDateDesc&pageSize=20&from=0",
        "/commercial-properties-for-sale/ireland?sort=publishDateDesc&pageSize=20&from=0",
        "/commercial-properties-for-rent/ireland?sort=publishDateDesc&pageSize=20&from=0",
    )
    listing_path = re.compile(r"^/[\w-]+/[^/]+/(?P<ref>\d+)/?$")
    item_form = "/property/-/{ref}"
    country = "IE"
    currency = "EUR"
    timezone = ZoneInfo("Europe/Dublin")
    terms = "https://www.daft.ie/terms"
    checked_on = date(2026, 11, 15)
    paging = Offsets("from", 20)
    newest_first = "date"

    results_path = "pageProps.listings[].listing"
    total_path = "pageProps.paging.totalResults"
    document_path = "pageProps.listing"

    link_path = "seoFriendlyPath"
    dated_path = "publishDate"
    card_paths = ("title", "propertyType", "numBedrooms", "numBathrooms")
    price_path = "price"
    operation_path = "category"
    operations = {
        "Buy": "sale",
        "Rent": "rent",
    }
    area_path = "[floorArea.value, floorArea.unit]"
    point_path = "point"
    seller_path = "seller.sellerType"
    sellers = {
        "BRANDED_AGENT": "agency",
        "UNBRANDED_AGENT": "agency",
        "PRIVATE_USER": "owner",
    }
    agency_path = "seller.branch"
    status_path = "state"
    statuses = {
        "SALE_AGREED": "reserved",
        "LET_AGREED": "reserved",
        "WITHDRAWN": "delisted",
        "EXPIRED": "delisted",
    }
    fields = {
        "title": "title",
        "description": "description",
        "property_type": "propertyType",
        "subtype": "propertyType",
        "year_built": "dateOfConstruction",
        "bedrooms": "nonFormatted.beds",
        "bathrooms": "numBathrooms",
        "energy_class": "ber.rating",
        "energy_kwh_m2": "ber.epi",
        "street": "addressDetails.streetAddress",
        "city": "addressDetails.addressLocality",
        "region": "addressDetails.addressRegion",
        "postal_code": "addressDetails.postalCode",
        "photos": "media.images[].size1440x960",
    }
    dates = {
        "posted_at": "firstPublishDate",
        "updated_at": "lastUpdateDate",
    }
    extra_paths = {
        "sellingType": "sellingType",
        "sticker": "sticker",
    }
