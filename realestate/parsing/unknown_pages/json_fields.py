"""Fields from an object of a JSON document: by the keys of the object and of the objects inside it."""

import re
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, TypeVar

from realestate.parsing import areas, coordinates, currencies, numbers, prices
from realestate.parsing.text import line, paragraphs
from realestate.parsing.unknown_pages import countries, json_keys, places, values, vocabulary
from realestate.parsing.unknown_pages.document import Document
from realestate.parsing.unknown_pages.json_objects import key

T = TypeVar("T")

_MOST_DEPTH = 5
_MOST_OBJECTS = 3_000
_MOST_ENTRIES = 60
#: Deeper than this a date or a title belongs to something else.
_NEAR = 2
_NEAR_FIELDS = frozenset({"posted_at", "updated_at", "title", "description", "operation", "property_type", "seller"})
_PLACES = frozenset({"city", "district", "region", "street"})
_ADDRESS = frozenset({"city", "street", "postal_code", "district"})
#: An object with fewer fields is not the listing, even if it has its id: it may be its entry in a menu.
_FEWEST_FIELDS = 3
_CYRILLIC = re.compile("[а-яА-ЯёЁіїєґқңөұүһәғ]{3}")
_COUNTS = frozenset({"rooms", "bedrooms", "bathrooms"})


def best(document: Document, own: list[tuple[str, dict[str, Any]]]) -> tuple[str, dict[str, Any]] | None:
    """Return the fields of the object that has the most of them, and its source."""
    read = [(source, fields(document, node)) for source, node in own]
    most = max(read, key=lambda each: len(each[1]), default=None)
    if most is None or len(most[1]) < _FEWEST_FIELDS:
        return None
    source, found = most
    return source, {name: value for name, value in found.items() if not _is_transliterated(document, name, value)}


def fields(document: Document, listing: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a listing in an object. Of several objects with the same key, the outermost counts.

    The parts of an address come from one object: another one may be the agency's.
    """
    found: dict[str, Any] = {}
    for node, depth in _objects(listing):
        read = _read(document, node, depth)
        has_address = any(name in found for name in _ADDRESS)
        for name, value in read.items():
            if not (has_address and name in _ADDRESS):
                found.setdefault(name, value)
    return found


def usual_values(document: Document, objects: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return the point and the postal code that most objects of the page have. Others are those of schools."""
    points: list[coordinates.Point] = []
    codes: list[str] = []
    for node in objects:
        by_key = {key(name): value for name, value in node.items() if isinstance(name, str) and len(name) <= 40}
        point = _point(by_key)
        if point.latitude is not None and point.longitude is not None:
            points.append(coordinates.Point(round(point.latitude, 6), round(point.longitude, 6)))
        code = next(
            (by_key[name] for name in ("postalcode", "postcode", "zipcode") if isinstance(by_key.get(name), str)), ""
        )
        codes += values.read("postal_code", code, "", document).values()
    found: dict[str, Any] = {}
    point_of_most = _of_most(points)
    if point_of_most:
        found |= {"latitude": point_of_most.latitude, "longitude": point_of_most.longitude}
    code_of_most = _of_most(codes)
    if code_of_most:
        found["postal_code"] = code_of_most
    return found


def _of_most(found: list[T]) -> T | None:
    """The value that more than two thirds of the objects have."""
    if not found:
        return None
    value, count = Counter(found).most_common(1)[0]
    return value if 3 * count > 2 * len(found) else None


def _objects(listing: dict[str, Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the object and those inside it that are about the same home, the outermost first."""
    waiting: deque[tuple[Any, int]] = deque([(listing, 0)])
    seen = 0
    while waiting and seen < _MOST_OBJECTS:
        node, depth = waiting.popleft()
        seen += 1
        if isinstance(node, dict):
            yield node, depth
        if depth >= _MOST_DEPTH:
            continue
        inner = (
            [value for name, value in node.items() if not _is_other(name)]
            if isinstance(node, dict)
            else node[:_MOST_ENTRIES]
        )
        waiting += [(value, depth + 1) for value in inner if isinstance(value, dict | list) and value]


def _is_other(name: str) -> bool:
    lower = name.lower()
    return any(other in lower for other in json_keys.OTHER_SUBJECTS)


def _read(document: Document, node: dict[str, Any], depth: int) -> dict[str, Any]:
    by_key = {key(name): value for name, value in node.items() if isinstance(name, str) and len(name) <= 40}
    found: dict[str, Any] = dict(_row(document, by_key))
    for name, value in by_key.items():
        field = json_keys.FIELD_OF_KEY.get(name)
        if field and (depth <= _NEAR or field not in _NEAR_FIELDS):
            for own, read in _value(document, field, name, value, by_key).items():
                found.setdefault(own, read)
    price = _price(document, by_key)
    if price:
        found["price"] = price
    point = _point(by_key)
    if point.latitude is not None:
        found |= {"latitude": point.latitude, "longitude": point.longitude}
    return found


def _row(document: Document, by_key: dict[str, Any]) -> dict[str, Any]:
    """{"label": "Bedrooms", "value": "3"} is a row."""
    label = next((by_key[name] for name in json_keys.ROW_LABELS if isinstance(by_key.get(name), str)), None)
    value = next(
        (by_key[name] for name in json_keys.ROW_VALUES if isinstance(by_key.get(name), str | int | float)), None
    )
    typed = next((by_key[name] for name in ("type", "key", "name", "id") if isinstance(by_key.get(name), str)), "")
    field_of_type = json_keys.FIELD_OF_KEY.get(key(typed)) if len(typed) <= 40 else None
    shown = next(
        (
            by_key[name]
            for name in ("value", "label", "text", "name")
            if isinstance(by_key.get(name), str | int | float)
        ),
        None,
    )
    if field_of_type and shown is not None and shown != typed and field_of_type not in _NEAR_FIELDS:
        return _value(document, field_of_type, key(typed), shown, {})
    if label is None or value is None or len(label) > 60 or isinstance(value, bool):
        return {}
    for field in vocabulary.fields_of_label(label, document.language):
        read = values.read(field, str(value), label, document)
        if read:
            return {name: each for name, each in read.items() if name not in ("title", "description")}
    return {}


def _value(document: Document, field: str, name: str, value: Any, by_key: dict[str, Any]) -> dict[str, Any]:
    """The value of one key. Values of an unexpected form are left out."""
    if isinstance(value, bool) or value in (None, "", [], {}):
        return {}
    if field in ("area_m2", "area_any", "plot_m2"):
        area = _area(name, value, by_key)
        return {field: area} if area else {}
    if isinstance(value, dict):
        value = value.get("name") or value.get("value") or value.get("label")
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return {}
    if field in _COUNTS:
        is_bedrooms = field == "rooms" and document.language in ("es", "pt")  # "rooms" translates "habitaciones"
        field = "bedrooms" if is_bedrooms else field
        count = values.count(value, field)
        return {field: count} if count is not None else {}
    return _text_value(document, field, value)


def _text_value(document: Document, field: str, value: str | int | float) -> dict[str, Any]:
    text = line(value)
    language = document.language
    if text is None:
        return {}
    match field:
        case "city":
            return places.city(text) if text != text.lower() else {}  # "mal-marbella" is a key
        case "description":
            return {field: paragraphs(value)} if isinstance(value, str) else {}
        case "posted_at" | "updated_at":
            found: Any = values.moment(value, language)
        case "country":
            found = countries.code(text)
        case "property_type":
            found = vocabulary.property_type(text.replace("_", " "), language) if len(text) <= 60 else None
        case "operation":
            found = vocabulary.operation(text.replace("_", " "), language) if len(text) <= 40 else None
        case "seller":
            field = "seller_type"
            found = vocabulary.seller(text, language)
        case "year_built":
            found = values.year(value)
        case "energy_class":
            found = values.energy_class(text) if len(text) <= 5 else None
        case "floor":
            return values.floor(value)
        case "floors_total":
            found = values.count(value, field)
        case "postal_code":
            return values.read(field, text, "", document)
        case "street" | "region" | "district":
            # "PUBLISHED", "some-key", "Some_key"
            is_code = text == text.lower() or (text == text.upper() and len(text) > 3) or "_" in text
            found = text if len(text) <= 80 and not is_code else None
        case _:
            found = text if len(text) <= 300 else None
    return {field: found} if found is not None else {}


def _is_transliterated(document: Document, field: str, value: Any) -> bool:
    """Whether a place is in Latin letters on a page with a title in Cyrillic ones: "Astana" is a key for "Астана"."""
    is_latin = field in _PLACES and isinstance(value, str) and value.isascii()
    return is_latin and any(_CYRILLIC.search(title) for title in document.titles)


def _area(name: str, value: Any, by_key: dict[str, Any]) -> float | None:
    """A size with its unit: in the value, in the key, or in a key beside it."""
    unit = next((unit for part, unit in json_keys.UNITS if part in name), None)
    if isinstance(value, dict):
        by_key = {key(each): inner for each, inner in value.items() if isinstance(each, str)}
        value = by_key.get("value", by_key.get("size", by_key.get("area")))
    if isinstance(value, str):
        with_unit = values.area(value)
        if with_unit:
            return with_unit.m2
    beside = next((by_key[each] for each in json_keys.UNIT_KEYS if isinstance(by_key.get(each), str)), None)
    found = areas.of(value, unit or beside or "") if numbers.positive(value) is not None else None
    return found.m2 if found else None


def _price(document: Document, by_key: dict[str, Any]) -> prices.Price | None:
    asked = next((by_key[name] for name in json_keys.PRICES if by_key.get(name) not in (None, "", [], {}, 0)), None)
    around = by_key
    if isinstance(asked, dict):
        around = {key(name): value for name, value in asked.items() if isinstance(name, str)}
        asked = next((around[name] for name in json_keys.AMOUNTS if around.get(name) not in (None, "", 0)), None)
        if isinstance(asked, dict):
            around = {**around, **{key(name): value for name, value in asked.items() if isinstance(name, str)}}
            asked = next(
                (around[name] for name in json_keys.AMOUNTS if isinstance(around.get(name), int | float | str)), None
            )
    named = next(
        (each[name] for each in (around, by_key) for name in json_keys.CURRENCIES if isinstance(each.get(name), str)),
        None,
    )
    currency = currencies.code(named)
    if isinstance(asked, str) and not asked.replace(".", "", 1).isdecimal():
        found = values.price(asked, document.home_country)
        return found if found.amount is not None else None
    if currency is None or isinstance(asked, bool) or not isinstance(asked, int | float | str):
        return None
    return prices.of(asked, currency) if (numbers.positive(asked) or 0) >= 10 else None


def _point(by_key: dict[str, Any]) -> coordinates.Point:
    if isinstance(by_key.get("coordinates"), list):
        return coordinates.geojson(by_key)
    latitude = next((by_key[name] for name in json_keys.LATITUDES if name in by_key), None)
    longitude = next((by_key[name] for name in json_keys.LONGITUDES if name in by_key), None)
    return coordinates.of(latitude, longitude)
