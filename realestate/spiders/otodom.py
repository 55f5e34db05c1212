"""otodom.pl: pages contain Next data: `data.searchAds.items[]` on a search page, `ad` on a listing's page.

A listing's facts are rows, `characteristics[]{key, value}`. Counts may be words ("THREE", "floor_2"). The `rent` of a
rented flat is paid on top of its price. A slug ends with the listing's code, `-ID4BXrz`. From other people's code of
2025-26; the order of the results and the values of `status` are guesses.
"""

import re
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from realestate.crawling import EmbeddedJsonSpider, Numbers, RowPaths, number
from realestate.parsing import numbers, prices
from realestate.parsing.embedded import at
from realestate.parsing.text import line


class OtodomSpider(EmbeddedJsonSpider):
    name = "otodom"
    site = "https://www.otodom.pl"
    allowed_domains = ("www.otodom.pl",)
    searches = (
        "/pl/wyniki/sprzedaz/mieszkanie/cala-polska?limit=72&by=LATEST&direction=DESC&page=1",
        "/pl/wyniki/sprzedaz/dom/cala-polska?limit=72&by=LATEST&direction=DESC&page=1",
        "/pl/wyniki/sprzedaz/dzialka/cala-polska?limit=72&by=LATEST&direction=DESC&page=1",
        "/pl/wyniki/sprzedaz/lokal/cala-polska?limit=72&by=LATEST&direction=DESC&page=1",
        "/pl/wyniki/wynajem/mieszkanie/cala-polska?limit=72&by=LATEST&direction=DESC&page=1",
        "/pl/wyniki/wynajem/dom/cala-polska?limit=72&by=LATEST&direction=DESC&page=1",
        "/pl/wyniki/wynajem/dzialka/cala-polska?limit=72&by=LATEST&direction=DESC&page=1",
        "/pl/wyniki/wynajem/lokal/cala-polska?limit=72&by=LATEST&direction=DESC&page=1",
    )
    listing_path = re.compile(r"^/pl/oferta/(?:.*-)?ID(?P<ref>\w+)/?$")
    item_form = "/pl/oferta/ID{ref}"
    country = "PL"
    currency = "PLN"
    timezone = ZoneInfo("Europe/Warsaw")
    terms = "https://www.otodom.pl/pl/regulamin"
    checked_on = date(2026, 11, 15)
    paging = Numbers("page", size=72)
    newest_first = "date"

    results_path = "pageProps.data.searchAds.items"
    total_path = "pageProps.data.searchAds.pagination.totalItems"
    document_path = "pageProps.ad"
    row_paths = RowPaths(rows="characteristics", label="key", value="value")

    link_path = "slug"
    link_prefix = "/pl/oferta/"
    dated_path = "pushedUpAt || dateCreated"
    promoted_path = "isPromoted"
    card_paths = ("title", "roomsNumber", "areaInSquareMeters")
    price_path = "totalPrice.value || rows.price"
    period_path = "characteristics[?key=='price'].localizedValue | [0]"
    operation_path = "transaction || adCategory.type"
    operations = {
        "SELL": "sale",
        "RENT": "rent",
    }
    point_path = "location.coordinates.[latitude, longitude]"
    seller_path = "advertiserType"
    sellers = {
        "business": "agency",
        "developer": "developer",
        "private": "owner",
    }
    agency_path = "agency.name"
    status_path = "status"
    statuses = {
        "removed_by_user": "delisted",
    }
    fields = {
        "title": "title",
        "description": "description",
        "property_type": "adCategory.name",
        "subtype": "rows.building_type",
        "area_m2": "rows.m",
        "plot_m2": "rows.terrain_area",
        "rooms": "rows.rooms_num",
        "floor": "rows.floor_no",
        "floors_total": "rows.building_floors_num",
        "year_built": "rows.build_year",
        "heating": "rows.heating",
        "condition": "rows.construction_status",
        "photos": "images[].large",
        "city": "location.address.city.name",
        "district": "location.address.district.name",
        "region": "location.address.province.name",
        "postal_code": "location.address.postalCode",
    }
    dates = {
        "posted_at": "createdAt",
        "updated_at": "modifiedAt",
    }

    def shows_price(self, result: Any) -> bool:
        return super().shows_price(result) or at(result, "hidePrice") is True

    def more_fields(self, ad: Any) -> dict[str, Any]:
        rows = ad["rows"]
        fields: dict[str, Any] = {"street": self._street(ad)}
        is_rent = at(ad, "adCategory.type") == "RENT" and rows.get("price")
        fields["charges"] = prices.of(rows.get("rent") if is_rent else None, self.currency).amount
        category = at(ad, "adCategory.name")
        if category == "TERRAIN":
            fields["area_m2"] = None
            fields["plot_m2"] = numbers.positive(number(rows.get("m")))
        elif not category and not rows.get("rooms_num"):
            fields["area_m2"] = None  # it may be the size of a home or of land
        return fields

    def _street(self, ad: Any) -> str | None:
        name = line(at(ad, "location.address.street.name"))
        house_number = line(at(ad, "location.address.street.number"))
        parts = [part for part in (name, house_number) if part]
        return " ".join(parts) or None
