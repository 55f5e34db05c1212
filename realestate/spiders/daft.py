"""daft.ie: pages contain Next data: `pageProps.listings[].listing` on a search page, `pageProps.listing` on a
listing's.

A point is GeoJSON, longitude first. Of an energy rating "C1" the letter counts. The size of land is in acres. The JSON
of the site's gateway (gateway.daft.ie) has the same objects. Checked against a page of 2026. How searches page (`from`,
20 a page, `paging`) and the values of `state` come from other people's code: look there first if something breaks.
"""

import re
from codecs import BOM_UTF8
from datetime import date
from zoneinfo import ZoneInfo

from realestate.crawling import Covers, EmbeddedJsonSpider, Offsets
from realestate.parsing.embedded import at, decoded


class DaftSpider(EmbeddedJsonSpider):
    name = "daft"
    site = "https://www.daft.ie"
    allowed_domains = ("www.daft.ie", "gateway.daft.ie")
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
    search_path = re.compile(r"^/[a-z-]+-for-(?:sale|rent)/[a-z0-9-]+(?:/[a-z-]+)?/?$")
    search_words = {
        "-for-sale/": Covers(operation="sale"),
        "-for-rent/": Covers(operation="rent"),
        "/property-": Covers(types=("apartment", "house", "land", "room", "other")),
        "/commercial-": Covers(types=("commercial", "office", "building", "garage", "land", "other")),
    }
    whole_country = "/ireland"

    results_path = "pageProps.listings[].listing"
    total_path = "pageProps.paging.totalResults"
    document_path = "pageProps.listing"

    link_path = "seoFriendlyPath"
    id_path = "id"
    dated_path = "publishDate"
    card_paths = ("title", "propertyType", "numBedrooms", "numBathrooms")
    price_path = "price"
    operation_path = "category || saleType[0]"
    operations = {
        "Buy": "sale",
        "Rent": "rent",
        "For Sale": "sale",
        "To Let": "rent",
        "Sharing": "rent",
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

    def wrapped(self, document: bytes) -> bytes:
        """Also a response of the gateway, which has what pages have below `pageProps`."""
        value = decoded(document)
        if isinstance(at(value, "listings"), list) or isinstance(at(value, "listing"), dict):
            document = b'{"pageProps": ' + document.removeprefix(BOM_UTF8) + b"}"
        return super().wrapped(document)
