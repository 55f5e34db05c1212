"""otodom.pl: pages contain Next data: `data.searchAds.items[]` on a search page, `ad` on a listing's page.

A listing's facts are rows, `characteristics[]{key, value}`. Counts may be words ("THREE", "floor_2"). The `rent` of a
rented flat is paid on top of its price. A developer's project (`INVESTMENT`) has ranges instead of values, and leads to
the pages of its homes. A slug ends with the listing's code, `-ID4BXrz`. From other people's code of
2025-26; the order of the results and the values of `status` are guesses.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from scrapy.http import TextResponse

from realestate.crawling import Covers, EmbeddedJsonSpider, Found, Numbers, RowPaths, number
from realestate.items import Listing, PropertyType, SellerType
from realestate.parsing import numbers, prices, property_types
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line
from realestate.parsing.words import folded, meaning

SELLERS: dict[str, SellerType] = folded(
    {
        "business": "agency",
        "agency": "agency",
        "developer": "developer",
        "developer_unit": "developer",
        "private": "owner",
        "owner": "owner",
    }
)
#: Whether a home is new, by the market it is sold on.
MARKETS = folded({"PRIMARY": True, "SECONDARY": False})
#: What a developer's project consists of.
_PROJECTS: dict[str, PropertyType] = folded(
    {
        "flats": "apartment",
        "apartments": "apartment",
        "houses": "house",
        "terrains": "land",
        "plots": "land",
        "commercial": "commercial",
        "offices": "office",
        "garages": "garage",
    }
)


def _path(unit: Any) -> str | None:
    """The path of a project's home."""
    slug = line(at(unit, "slug"))
    url = line(at(unit, "url"))
    return urlsplit(url).path if url else f"{OtodomSpider.link_prefix}{slug}" if slug else None


def _project_fields(ad: Any) -> dict[str, Any]:
    """The type of a project's homes. Their sizes and prices are ranges, which no field can have."""
    rows = ad["rows"]
    kinds = rows.get("offered_estates_type") or rows.get("offered_estates_types_project")
    names = kinds if isinstance(kinds, list) else str(kinds or "").split(",")
    types = {found for name in names if (found := meaning(str(name).rpartition("::")[2].strip(), _PROJECTS))}
    by_category = property_types.of(at(ad, "adCategory.name"))
    extra = {name: rows[name] for name in ("price_per_m_from", "area_from", "area_to") if rows.get(name)}
    return {
        "property_type": types.pop() if len(types) == 1 else by_category or ("building" if types else None),
        "subtype": "project",
        "area_m2": None,
        "rooms": None,
        "extra": extra,
    }


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
    parser_version = 2
    paging = Numbers("page", size=72)
    newest_first = "date"
    search_path = re.compile(r"^/pl/(?:wyniki|oferty)/.+")
    search_words = {
        "/sprzedaz/": Covers(operation="sale"),
        "/wynajem/": Covers(operation="rent"),
        "/mieszkanie/": Covers(types=("apartment", "room")),
        "/dom/": Covers(types=("house",)),
        "/dzialka/": Covers(types=("land",)),
        "/lokal/": Covers(types=("commercial", "office", "building", "garage", "other")),
    }

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
        "INVESTMENT": "sale",  # a developer's project
    }
    point_path = "location.coordinates.[latitude, longitude]"
    agency_path = "agency.name || owner.name"
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

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        """Also the homes of a developer's project: each has its own page."""
        yield from super().parse_listing(response, **hints)
        ad = self._at(self._props(response), self.document_path)
        for unit in listed(at(ad, "paginatedUnits.items")):
            path = _path(unit)
            if path and self.ref_of(path):
                yield self.found(path)

    def _with_rows(self, ad: Any) -> Any:
        """Also the rows of newer pages, whose values are "label::value"."""
        ad = super()._with_rows(ad)
        if not isinstance(ad, dict):
            return ad
        for row in (*listed(ad.get("topInformation")), *listed(ad.get("additionalInformation"))):
            values = [str(value).rpartition("::")[2] for value in listed(at(row, "values"))]
            if values:
                ad["rows"].setdefault(str(at(row, "label")).lower(), values[0] if len(values) == 1 else values)
        return ad

    def is_project(self, result: Any) -> bool:
        return "INVESTMENT" in (at(result, "estate"), at(result, "adCategory.name"), at(result, "adCategory.type"))

    def seller_of(self, ad: Any) -> SellerType | None:
        """The kind of firm, if the page names one; otherwise whether it is a firm or a private person."""
        kinds = (at(ad, "agency.type"), at(ad, "owner.type"), at(ad, "rows.advertiser_type"), at(ad, "advertiserType"))
        sellers = [seller for kind in kinds if (seller := meaning(kind, SELLERS))]
        if "developer" in sellers or self.is_project(ad):
            return "developer"
        return sellers[0] if sellers else None

    def shows_price(self, result: Any) -> bool:
        return super().shows_price(result) or at(result, "hidePrice") is True

    def more_fields(self, ad: Any) -> dict[str, Any]:
        if self.is_project(ad):
            return {"street": self._street(ad), "is_new_building": True, **_project_fields(ad)}
        return self._home_fields(ad)

    def _home_fields(self, ad: Any) -> dict[str, Any]:
        rows = ad["rows"]
        market = line(at(ad, "market")) or line(rows.get("market"))
        fields: dict[str, Any] = {"street": self._street(ad), "is_new_building": meaning(market, MARKETS)}
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
