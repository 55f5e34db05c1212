"""Finds the figures of a place that somebody typed: a country, a city, or city/district, with or without accents."""

import unicodedata
from collections.abc import Iterable

from realestate.market.weekly import WEEK
from realestate.storage import FullStore
from realestate.storage.homes import MarketFilter, MarketWeek

#: English names of cities whose portals use another.
_LOCAL = {"baku": "baki", "ganja": "gence", "sumgait": "sumqayit", "brussels": "bruxelles", "vienna": "wien"}
_LETTERS = str.maketrans({"ə": "e", "ı": "i", "ö": "o", "ü": "u", "ğ": "g", "ş": "s", "ç": "c", "ł": "l"})


def weeks_of_place(
    store: FullStore, place: str, operation: str, property_type: str, weeks: int | None = None
) -> list[MarketWeek]:
    """Return the last weeks of a place, the oldest first.

    Of several series (currencies, rent periods, countries), the one with the most homes."""
    known = [
        row
        for row in store.newest_market_weeks()
        if (row.operation, row.property_type) == (operation, property_type) and _is_of(row, place)
    ]
    if not known:
        return []
    newest = max(known, key=lambda row: (row.stock, row.week))
    wanted = MarketFilter(
        country=newest.country,
        city=newest.city,
        district=newest.district,
        operation=operation,
        property_type=property_type,
        since=None if weeks is None else newest.week - (weeks - 1) * WEEK,
    )
    return [row for row in store.market_weeks(wanted) if _is_same(row, newest)]


def cities(rows: Iterable[MarketWeek]) -> list[str]:
    """Return the names of the cities that have figures."""
    return sorted({row.city for row in rows if row.city})


def _is_same(row: MarketWeek, other: MarketWeek) -> bool:
    return (row.currency, row.rent_period) == (other.currency, other.rent_period)


def _is_of(row: MarketWeek, place: str) -> bool:
    if len(place) == 2 and place.isalpha():
        return row.country == place.upper() and not row.city
    city, _, district = (plain_name(part) for part in place.partition("/"))
    return plain_name(row.city) in (city, _LOCAL.get(city)) and plain_name(row.district) == district


def plain_name(name: str) -> str:
    """Return the name in small letters without accents."""
    small = unicodedata.normalize("NFD", name.casefold().replace("i̇", "i").translate(_LETTERS))
    return "".join(letter for letter in small if not unicodedata.combining(letter)).strip()
