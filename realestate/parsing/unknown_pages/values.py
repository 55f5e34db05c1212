"""Values of fields from texts, each with its own checks. What is unclear is left out: a size without a unit."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from realestate.parsing import areas, currencies, dates, floors, numbers, prices
from realestate.parsing.text import line
from realestate.parsing.unknown_pages import countries, vocabulary

if TYPE_CHECKING:
    from realestate.parsing.unknown_pages.document import Document

_UTC = ZoneInfo("UTC")
_PLUS = re.compile(r"(?<![\d.,+])(\d{1,2})\s?\+\s?(\d)(?![\d.,+])")
_COUNT = re.compile(r"(?<![\d.,/+-])(\d{1,2})(?![\d/+-]|[.,]\d)")
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)?")
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_ENERGY_CLASS = re.compile(r"(?<![A-Za-z+])([A-G](?:\+{1,4}|[1-3])?)(?![A-Za-z+\d])")
_KWH = re.compile(rf"({numbers.DIGITS})\s?kwh", re.IGNORECASE)
_UNIT_OF_LABEL = re.compile(areas.UNIT)
#: What Mexican pages write for pesos: "MN 1,500,000".
_MONEDA_NACIONAL = re.compile(r"(?<![^\W\d_])M\.?N\.?(?![^\W\d_])")
_PLAIN_NUMBER = re.compile(r"\d[\d.,]*")
_GROUND = frozenset(
    {"piano terra", "bajo", "planta baja", "terreo", "parter", "parterre", "erdgeschoss", "eg", "zemin", "zemin kat"}
    | {
        "begane grond",
        "stueetage",
        "stuen",
        "bottenvaning",
        "rez de chaussee",
        "rdc",
        "ground",
        "ground floor",
        "prizemlje",
    }
    | {"ισογειο", "prizemi", "foldszint", "gelijkvloers", "giris kati", "r c", "res do chao", "piano rialzato", "pt"}
)
#: The most that a home has of each.
_MOST = {"rooms": 60, "bedrooms": 40, "bathrooms": 40}
#: Prices below are those of something else: a fee, or a price per night.
_LOWEST_PRICE = 10
_DATE = re.compile(r"(?:19|20)\d\d")
#: Area limits in square metres.
_SMALLEST_AREA = 7
_LARGEST_AREA = 100_000


def read(field: str, value: str, label: str, document: "Document") -> dict[str, Any]:
    """Return the fields that a row says; {} if its value cannot be read as this field's."""
    text = line(value)
    if text is None:
        return {}
    reader = _READERS.get(field)
    return reader(text, label, document) if reader else _text(field, text)


def area(text: str, label: str = "") -> areas.Area | None:
    """Return the only area of a text. Its unit is in the text, or in the label: "Area (m²)" 85."""
    unit = _UNIT_OF_LABEL.search(label.lower())
    if unit and vocabulary.is_unit(label) and not _PLAIN_NUMBER.fullmatch(text):
        return None
    every = areas.every(text)
    metric = [each for each in every if each.m2 == int(each.m2)] if len(every) == 2 else []  # "1,631 sq ft (152 m²)"
    found = metric[0] if len(metric) == 1 else areas.parse(text, unit[0] if unit else None)
    return found if found and is_possible(found) else None


def is_possible(size: areas.Area) -> bool:
    """Return whether a home or its land can have this size."""
    return _SMALLEST_AREA <= size.m2 <= _LARGEST_AREA * (1000 if size.is_land else 1)


def count(text: object, field: str = "rooms") -> int | None:
    """Return a count: of "3", "3 rooms", or "3+1" (three rooms and a living room)."""
    if isinstance(text, bool):
        return None
    if not isinstance(text, str) or text == "0":
        whole = numbers.worded(text)
        is_studio = whole == 0 and field == "bedrooms"
        return whole if whole is not None and (is_studio or 0 < whole <= _MOST.get(field, 60)) else None
    if len(text) > 40:
        return None
    plus = _PLUS.search(text)
    if plus:
        return int(plus[1]) + int(plus[2]) if field == "rooms" else None
    amounts = _NUMBERS.findall(text)
    if not amounts:
        return numbers.worded(text) or None
    if len(amounts) > 1:
        return None
    found = _COUNT.search(text)
    return int(found[1]) if found and 0 < int(found[1]) <= _MOST.get(field, 60) else None


def year(text: object) -> int | None:
    """Return the only year of a text."""
    found = set(_YEAR.findall(str(text))) if isinstance(text, str | int | float) and len(str(text)) <= 60 else set()
    return int(found.pop()) if len(found) == 1 else None


def energy_class(text: object) -> str | None:
    """Return the only energy class of a short text: "D", "A+", "BER C1"."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    found = set(_ENERGY_CLASS.findall(text))
    return found.pop() if len(found) == 1 else None


def price(text: str | None, country: str | None) -> prices.Price:
    """Return the price of a text that names its currency. "$" and "kr" are the country's own; without one, nothing."""
    home = currencies.of_country(country)
    if home == "MXN" and text:
        text = _MONEDA_NACIONAL.sub("MXN", text)
    found = prices.parse(text, home or currencies.NONE)
    if text and home is None and currencies.is_shared(text):
        return prices.Price()
    is_named = currencies.is_written(text or "")
    is_price = found.amount is not None and is_named and found.currency not in (None, currencies.NONE)
    return found if is_price and found.amount and found.amount >= _LOWEST_PRICE else prices.Price()


def moment(value: object, language: str = "", country: str | None = None) -> datetime | None:
    """Return an absolute date: in ISO 8601, as a timestamp, or in words with a year."""
    if isinstance(value, int | float):
        return dates.stamp(value)
    if not isinstance(value, str) or len(value) > 60:
        return None
    exact = dates.iso(value.strip(), _UTC)
    if exact:
        return exact
    if value.strip().isdecimal():
        return dates.stamp(value.strip())
    if not _DATE.search(value):
        return None
    languages = (language,) if language else ()
    return dates.parse(value, _UTC, datetime.now(UTC), languages=languages, month_first=country == "US")


def _area(field: str) -> Callable[[str, str, "Document"], dict[str, Any]]:
    def reader(text: str, label: str, _: "Document") -> dict[str, Any]:
        found = area(text, label)
        return {field: found.m2} if found else {}

    return reader


def _count(field: str) -> Callable[[str, str, "Document"], dict[str, Any]]:
    def reader(text: str, _label: str, _: "Document") -> dict[str, Any]:
        found = count(text, field)
        return {field: found} if found is not None else {}

    return reader


def floor(value: object) -> dict[str, Any]:
    """Return the floor, and the number of floors if the text says it. {} if the text is a size."""
    text = str(value)
    if len(text) > 40 or areas.parse(text) or text.strip() == "0":  # sites write 0 for unknown
        return {}
    if vocabulary.words(text) in _GROUND:
        return {"floor": 0}
    found = floors.parse(value)
    known = {"floor": found.floor, "floors_total": found.total}
    return {name: each for name, each in known.items() if each is not None and -5 <= each <= 150}


def _floor(text: str, label: str, document: "Document") -> dict[str, Any]:
    return floor(text) or _area("area_m2")(text, label, document)  # "Floor 96 m²"


def _energy_use(text: str, _label: str, _: "Document") -> dict[str, Any]:
    found = _KWH.search(text)
    value = numbers.value(found[1]) if found else None
    return {"energy_kwh_m2": float(value)} if value is not None and 0 < value < 2000 else {}


def _price(text: str, _label: str, document: "Document") -> dict[str, Any]:
    found = price(text, document.home_country)
    return {"price": found} if found.amount is not None else {}


def _rent(text: str, label: str, document: "Document") -> dict[str, Any]:
    found = _price(text, label, document)
    return {**found, "operation": "rent"} if found else {}


def _sale(text: str, label: str, document: "Document") -> dict[str, Any]:
    found = _price(text, label, document)
    return {**found, "operation": "sale"} if found else {}


def _charges(text: str, label: str, document: "Document") -> dict[str, Any]:
    found = _price(text, label, document)
    return {"charges": found["price"]} if found else {}


def _date(field: str) -> Callable[[str, str, "Document"], dict[str, Any]]:
    def reader(text: str, _label: str, document: "Document") -> dict[str, Any]:
        found = moment(text, document.language, document.host_country)
        return {field: found} if found else {}

    return reader


def _type(text: str, _label: str, document: "Document") -> dict[str, Any]:
    kind = vocabulary.property_type(text, document.language) if len(text) <= 80 else None
    named = vocabulary.operation(text, document.language) if len(text) <= 80 else None
    known = {"property_type": kind, "operation": named}
    return {name: each for name, each in known.items() if each}


def _operation(text: str, _label: str, document: "Document") -> dict[str, Any]:
    found = vocabulary.operation(text, document.language)
    return {"operation": found} if found else {}


def _seller(text: str, _label: str, document: "Document") -> dict[str, Any]:
    found = vocabulary.seller(text, document.language)
    return {"seller_type": found} if found else {}


def _country(text: str, _label: str, _: "Document") -> dict[str, Any]:
    found = countries.code(text)
    return {"country": found} if found else {}


def _text(field: str, text: str) -> dict[str, Any]:
    """A city, a street …: a short text that is not a sentence."""
    is_short = 1 < len(text) <= 60 and not re.search(r"[:;!?©]|\d{6}|https?", text)
    if field == "postal_code":
        return {field: text} if re.fullmatch(r"[A-Z0-9][A-Z0-9 -]{2,9}", text) and re.search(r"\d", text) else {}
    if field in ("city", "district", "region") and (re.search(r"\d", text) or "," in text):
        return {}
    return {field: text} if is_short else {}


def _year(text: str, _label: str, _: "Document") -> dict[str, Any]:
    found = year(text)
    return {"year_built": found} if found else {}


def _energy(text: str, _label: str, _: "Document") -> dict[str, Any]:
    found = energy_class(text)
    return {"energy_class": found} if found else {}


def _floors_total(text: str, _label: str, _: "Document") -> dict[str, Any]:
    found = count(text, "floors_total")
    return {"floors_total": found} if found else {}


_READERS: dict[str, Callable[[str, str, "Document"], dict[str, Any]]] = {
    "area_m2": _area("area_m2"),
    "area_any": _area("area_any"),
    "plot_m2": _area("plot_m2"),
    "rooms": _count("rooms"),
    "bedrooms": _count("bedrooms"),
    "bathrooms": _count("bathrooms"),
    "floor": _floor,
    "floors_total": _floors_total,
    "year_built": _year,
    "energy_class": _energy,
    "energy_kwh_m2": _energy_use,
    "price": _price,
    "sale_price": _sale,
    "rent_price": _rent,
    "warm_rent": lambda text, label, document: (
        {"warm_rent": found["price"]} if (found := _rent(text, label, document)) else {}
    ),
    "charges": _charges,
    "posted_at": _date("posted_at"),
    "updated_at": _date("updated_at"),
    "property_type": _type,
    "operation": _operation,
    "seller": _seller,
    "country": _country,
}


#: An amount with its currency, and the period or the unit behind it.
_MENTION = re.compile(
    rf"(?:{currencies.WRITTEN}\s?{numbers.DIGITS}|{numbers.DIGITS}\s?{currencies.WRITTEN})(?:\s?(?:/|per|pro|par|por|al|p)\s?\.?[^\s,.;|)]{{1,8}}|\s(?:pcm|pw|pa)\b)?",
    re.IGNORECASE,
)


def price_mentions(text: str) -> list[str]:
    """Return the parts of a short text that are an amount with its currency: "£995 pcm" of "House, £995 pcm"."""
    return [each[0] for each in _MENTION.finditer(text[:1000])]


def tagged_price(amount: str | None, currency: str | None) -> prices.Price | None:
    """Return the price of two tags; None without both."""
    code = currencies.code(currency)
    found = prices.of(amount, code) if code and amount else prices.Price()
    return found if found.amount is not None else None
