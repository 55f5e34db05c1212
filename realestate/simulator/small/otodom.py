"""A portal like otodom: Next data, facts as characteristics by key, codes in place of numbers."""

import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from html import escape
from typing import Any
from zoneinfo import ZoneInfo

from realestate.simulator.adverts import Advert
from realestate.simulator.site import Found
from realestate.simulator.small.facts import Facts, facts_of
from realestate.simulator.small.small_portal import SmallSite, grouped, next_page, slug

WARSAW = ZoneInfo("Europe/Warsaw")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
KINDS = {
    "house": ("HOUSE", "dom", "house"),
    "apartment": ("FLAT", "mieszkanie", "apartment"),
    "land": ("TERRAIN", "dzialka", "land"),
    "office": ("COMMERCIAL_PROPERTY", "lokal", "commercial"),
    "shop": ("COMMERCIAL_PROPERTY", "lokal", "commercial"),
}
WORDS = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN", "MORE", "MORE")
PERIODS = {"month": " zł/miesiąc", "day": " zł/doba", None: " zł"}


class Otodom(SmallSite):
    portal = "otodom"
    index = "/pl/wyniki/sprzedaz/mieszkanie/cala-polska"
    searches = {  # noqa: RUF012
        f"/pl/wyniki/{word}/{name}/cala-polska": (deal, kinds)
        for deal, word in (("sale", "sprzedaz"), ("rent", "wynajem"))
        for name, kinds in (
            ("mieszkanie", ("apartment",)),
            ("dom", ("house",)),
            ("dzialka", ("land",)),
            ("lokal", ("office", "shop")),
        )
    }
    advert_path = re.compile(r"/pl/oferta/.*-ID([0-9a-z]+)")
    page_size = 72
    currency = "PLN"

    def ref(self, advert: Advert) -> str:
        code = ""
        number = advert.ref
        while number:
            number, digit = divmod(number, 36)
            code = DIGITS[digit] + code
        return code

    def number(self, ref: str) -> int:
        return int(ref, 36)

    def path(self, advert: Advert) -> str:
        return f"/pl/oferta/{self._slug(advert)}"

    def results(self, found: Found, begin: int, shown: list[Advert]) -> bytes:
        pages = {"totalItems": found.total, "totalPages": -(-found.total // 72), "page": begin // 72 + 1}
        ads = {"items": [self._item(advert) for advert in shown], "pagination": pages}
        return next_page({"pageProps": {"data": {"searchAds": ads}}})

    def render(self, advert: Advert) -> bytes:
        home = advert.home
        facts = facts_of(advert)
        street, _, number = (facts.street or "").rpartition(" ")
        place = home.place
        ad = {
            "id": advert.ref,
            "slug": self._slug(advert),
            "title": facts.title,
            "description": "".join(f"<p>{escape(text, quote=False)}</p>" for text in facts.paragraphs),
            "adCategory": {"name": KINDS[home.kind][0], "type": "SELL" if home.operation == "sale" else "RENT"},
            "status": "removed_by_user" if advert.gone else "active",
            "createdAt": _local(advert.posted_at),
            "modifiedAt": _local(advert.updated_at),
            "advertiserType": "private" if facts.is_private else "business",
            "agency": None if facts.is_private else {"name": facts.agency, "phones": ["+48000000000"]},
            "owner": {"name": facts.person, "phones": ["+48000000000"]},
            "characteristics": list(_characteristics(advert, facts)),
            "images": [{"large": each, "small": each} for each in self.pictures(advert, "img.otodom.example")],
            "location": {
                "coordinates": {"latitude": home.latitude, "longitude": home.longitude} if facts.is_mapped else None,
                "address": {
                    "street": {"name": street, "number": number} if facts.street else None,
                    "district": {"name": place.district},
                    "city": {"name": place.city},
                    "province": {"name": place.region},
                    "postalCode": place.postal_code,
                },
            },
        }
        return next_page(
            {"pageProps": {"ad": ad, "contactDetails": {"name": facts.person, "phones": ["+48000000000"]}}}
        )

    def portal_fields(self, advert: Advert, facts: Facts) -> dict[str, Any]:
        home = advert.home
        is_land = advert.home.kind == "land"
        return {
            "property_type": KINDS[home.kind][2],
            "charges": None if (rent := _charges(advert)) is None else Decimal(rent),
            "area_m2": None if is_land else facts.area_m2,
            "plot_m2": facts.plot_m2,
            "rooms": facts.rooms,
            "floor": facts.floor,
            "floors_total": facts.floors,
            "year_built": facts.year,
            "heating": "urban" if facts.energy else None,
            "street": facts.street,
            "district": home.place.district,
            "city": home.place.city,
            "region": home.place.region,
            "postal_code": home.place.postal_code,
            "photos": self.pictures(advert, "img.otodom.example"),
            "posted_at": advert.posted_at,
            "updated_at": advert.updated_at,
        }

    def _slug(self, advert: Advert) -> str:
        return f"{slug(facts_of(advert).title)}-ID{self.ref(advert)}"

    def _item(self, advert: Advert) -> dict[str, Any]:
        price = advert.price
        facts = facts_of(advert)
        return {
            "id": advert.ref,
            "slug": self._slug(advert),
            "title": facts.title,
            "estate": KINDS[advert.home.kind][0],
            "transaction": "SELL" if advert.home.operation == "sale" else "RENT",
            "totalPrice": None if price is None else {"value": price, "currency": "PLN"},
            "hidePrice": price is None,
            "roomsNumber": None if facts.rooms is None else WORDS[facts.rooms],
            "areaInSquareMeters": facts.area_m2 or facts.plot_m2,
            "dateCreated": f"{advert.updated_at.astimezone(WARSAW):%Y-%m-%d %H:%M:%S}",
            "pushedUpAt": None,
            "isPromoted": False,
        }


def _characteristics(advert: Advert, facts: Facts) -> Iterator[dict[str, str]]:
    price = advert.price
    is_old = advert.ref % 5 == 0
    rooms = None if facts.rooms is None else WORDS[facts.rooms] if is_old and facts.rooms < 11 else facts.rooms
    characteristics: dict[str, Any] = {
        "price": price,
        "rent": _charges(advert),
        "m": facts.area_m2 or facts.plot_m2,
        "terrain_area": facts.plot_m2 if advert.home.kind == "house" else None,
        "rooms_num": rooms,
        "floor_no": None if facts.floor is None else f"floor_{facts.floor}" if facts.floor else "ground_floor",
        "building_floors_num": facts.floors,
        "build_year": facts.year,
        "heating": "urban" if facts.energy else None,
    }
    for key, value in characteristics.items():
        if value is not None:
            shown = f"{grouped(value, ' ')}{PERIODS[advert.rent_period]}" if key == "price" else f"{value}"
            yield {
                "key": key,
                "value": f"{value}",
                "localizedValue": shown,
                "currency": "PLN" if key == "price" else "",
            }


def _charges(advert: Advert) -> int | None:
    return (
        advert.asking // 10 if advert.price is not None and advert.home.operation == "rent" and advert.ref % 2 else None
    )


def _local(when: datetime) -> str:
    return when.astimezone(WARSAW).isoformat()
