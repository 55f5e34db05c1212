"""Finds a listing in a JSON document of unknown structure: the object with the most usual keys of a listing.

Only keys with a clear meaning are read: a number under `area` may have any unit, `areaInSquareMeters` has one.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

from realestate.parsing import coordinates, currencies, numbers, prices
from realestate.parsing.embedded import at
from realestate.parsing.text import line, paragraphs

_NAMES = {
    "title": ("title", "headline", "heading", "name"),
    "description": ("description", "descriptionText", "body"),
    "rooms": ("rooms", "roomCount", "numberOfRooms", "roomsNumber"),
    "bedrooms": ("bedrooms", "bedroomCount", "numberOfBedrooms", "numBedrooms", "beds"),
    "bathrooms": ("bathrooms", "bathroomCount", "numberOfBathrooms", "numBathrooms", "baths"),
    "area_m2": ("areaInSquareMeters", "livingAreaM2", "areaM2", "minimumAreaSqM", "squareMeters"),
    "postal_code": ("postalCode", "postcode", "postCode", "zipCode"),
    "city": ("city", "addressLocality", "locality", "town"),
    "street": ("street", "streetAddress"),
}
_PRICES = ("price", "priceRaw", "askingPrice", "priceValue", "totalPrice", "mainValue")
_CURRENCIES = ("currency", "priceCurrency", "currencyCode")
_PLACES = ("location", "address", "geo", "coordinates", "property", "addressDetails")
_TEXTS = ("title", "postal_code", "city", "street")
#: Limits of the search: depth and number of objects. The listing of a page is near the top.
_MAX_DEPTH = 8
_MAX_OBJECTS = 5_000
#: An object with fewer usual keys is not a listing.
_MIN_SCORE = 3

#: The ISO 4217 code for "no currency".
NO_CURRENCY = "XXX"


def find_listing(document: Any) -> dict[str, Any] | None:
    """Return the object that looks most like a listing, the outermost of equals; None if no object does."""
    best = max(_objects(document), key=_score, default=None)
    return best if best is not None and _score(best) >= _MIN_SCORE else None


def fields(node: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a listing that the object contains."""
    found = {field: value for field, names in _NAMES.items() if (value := _named(node, names)) is not None}
    texts = {field: text for field in _TEXTS if (text := line(found.get(field)))}
    counts = {
        field: count for field in ("rooms", "bedrooms", "bathrooms") if (count := _count(found.get(field))) is not None
    }
    area = numbers.positive(found.get("area_m2"))
    description = found.get("description")
    point = next((each for place in _around(node) if (each := _point(place)).latitude is not None), coordinates.Point())
    known = {**texts, **counts, "area_m2": area, "latitude": point.latitude, "longitude": point.longitude}
    known["description"] = paragraphs(description) if isinstance(description, str) else None
    return {field: value for field, value in known.items() if value is not None}


def price(node: dict[str, Any]) -> prices.Price:
    """Return the price of the object. Without a currency, in a key or in the price's text, it is empty."""
    asked = _named(node, _PRICES)
    inner = asked if isinstance(asked, dict) else node
    currency = currencies.code(line(_named(inner, _CURRENCIES) or _named(node, _CURRENCIES)))
    amount = inner.get("value") or inner.get("amount") if isinstance(asked, dict) else asked
    if isinstance(amount, str) and not amount.replace(".", "", 1).isdecimal():
        found = prices.parse(amount, currency or NO_CURRENCY)
        return found if found.currency != NO_CURRENCY else prices.Price()
    return prices.of(amount, currency) if currency and numbers.positive(amount) is not None else prices.Price()


def _objects(document: Any) -> Iterator[dict[str, Any]]:
    waiting = deque([(document, 0)])
    seen = 0
    while waiting and seen < _MAX_OBJECTS:
        each, depth = waiting.popleft()
        seen += 1
        if isinstance(each, dict):
            yield each
        inner = each.values() if isinstance(each, dict) else ()  # lists contain other listings, or parts of this one
        waiting += [(value, depth + 1) for value in inner if isinstance(value, dict) and depth < _MAX_DEPTH]


def _score(node: dict[str, Any]) -> int:
    names = (*_NAMES.values(), _PRICES, ("images", "photos", "media"), ("location", "address", "coordinates"))
    return sum(any(node.get(name) not in (None, "", []) for name in each) for each in names)


def _around(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for name in _PLACES:
        inner = node.get(name)
        if isinstance(inner, dict):
            yield inner
            yield from (deeper for other in _PLACES if isinstance(deeper := inner.get(other), dict))


def _named(node: dict[str, Any], names: tuple[str, ...]) -> Any:
    found = (at(each, name) for each in _around(node) for name in names)
    return next((value for value in found if value not in (None, "", [], {})), None)


def _count(value: Any) -> int | None:
    return numbers.worded(value) if isinstance(value, int | float | str) else None


def _point(node: dict[str, Any]) -> coordinates.Point:
    if isinstance(node.get("coordinates"), list):
        return coordinates.geojson(node)
    latitude = node.get("latitude", node.get("lat"))
    longitude = node.get("longitude", node.get("lng", node.get("lon")))
    return coordinates.of(latitude, longitude)
