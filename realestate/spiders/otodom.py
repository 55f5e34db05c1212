"""otodom.pl: pages carry Next data: `data.searchAds.items[]` of a search, `ad` of a listing's page.

A listing's facts are `characteristics[]{key, value}`; counts may be words ("THREE", "floor_2"); the `rent` of a rent is
paid on top. A slug ends with the code, `-ID4BXrz`. From others' code of 2025-26; order and `status` are guesses.
"""

import re
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from realestate.crawling.embedding import EmbeddingSpider, number, paths
from realestate.crawling.paging import Numbers
from realestate.parsing import numbers, prices
from realestate.parsing.embedded import at
from realestate.parsing.text import line

KINDS = [f"{deal}/{kind}" for deal in ("sprzedaz", "wynajem") for kind in ("mieszkanie", "dom", "dzialka", "lokal")]


class OtodomSpider(EmbeddingSpider):
    name, site, allowed_domains = "otodom", "https://www.otodom.pl", ("www.otodom.pl",)
    searches = tuple(f"/pl/wyniki/{kind}/cala-polska?limit=72&by=LATEST&direction=DESC&page=1" for kind in KINDS)
    listing_path, item_form = re.compile(r"^/pl/oferta/(?:.*-)?ID(?P<ref>\w+)/?$"), "/pl/oferta/ID{ref}"
    country, currency, timezone = "PL", "PLN", ZoneInfo("Europe/Warsaw")
    terms, checked_on, state_at = "https://www.otodom.pl/pl/regulamin", date(2026, 11, 15), "status"
    paging, newest_first, states = Numbers("page", size=72), "date", paths("removed_by_user=delisted")
    rows, link_before, seller_at = ("characteristics", "key", "value"), "/pl/oferta/", "advertiserType"
    results_at, total_at = "pageProps.data.searchAds.items", "pageProps.data.searchAds.pagination.totalItems"
    listing_at, link_at, dated_at, promoted_at = "pageProps.ad", "slug", "pushedUpAt || dateCreated", "isPromoted"
    price_at, period_at = "totalPrice.value || told.price", "characteristics[?key=='price'].localizedValue | [0]"
    dates, deals = paths("posted_at=createdAt updated_at=modifiedAt"), paths("SELL=sale RENT=rent")
    deal_at, point_at = "transaction || adCategory.type", "location.coordinates.[latitude, longitude]"
    sellers, agency_at = paths("business=agency developer=developer private=owner"), "agency.name"
    fields = paths(
        """title description property_type=adCategory.name subtype=told.building_type area_m2=told.m
        plot_m2=told.terrain_area rooms=told.rooms_num floor=told.floor_no floors_total=told.building_floors_num
        year_built=told.build_year heating=told.heating condition=told.construction_status photos=images[].large
        city=location.address.city.name district=location.address.district.name region=location.address.province.name
        postal_code=location.address.postalCode"""
    )

    def more(self, ad: Any) -> dict[str, Any]:
        told, kind = ad["told"], at(ad, "adCategory.name")
        is_let = at(ad, "adCategory.type") == "RENT" and told.get("price")
        street = [line(at(ad, f"location.address.street.{part}")) for part in ("name", "number")]
        more: dict[str, Any] = {"charges": prices.of(told.get("rent") if is_let else None, self.currency).amount}
        if kind == "TERRAIN" or not (kind or told.get("rooms_num")):  # without a kind nobody knows of what its size is
            more |= {"area_m2": None} | ({"plot_m2": numbers.positive(number(told.get("m")))} if kind else {})
        return more | {"street": " ".join(filter(None, street)) or None}
