"""Fields of a listing from a schema.org node, which comes from JSON-LD or microdata.

A node of the page (`RealEstateListing`, `Product`, `House` …) may contain the home under `about`, and its price under
`offers`. Values of the outer node come first.
"""

import re
from collections.abc import Iterator
from typing import Any

from realestate.parsing import areas, coordinates, currencies, numbers, periods, prices, property_types
from realestate.parsing.embedded import at
from realestate.parsing.text import line, paragraphs

#: Types of a node that can be a listing, the most specific ones first.
LISTINGS = (
    "RealEstateListing",
    "Apartment",
    "House",
    "SingleFamilyResidence",
    "Residence",
    "Accommodation",
    "Suite",
    "Room",
    "Product",
    "Offer",
    "Place",
)
_WITHIN = ("about", "itemOffered", "mainEntity", "mainEntityOfPage", "containedInPlace")
_UNITS: dict[str, periods.Period] = {"DAY": "day", "WEE": "week", "MON": "month", "ANN": "year"}
_GONE = frozenset({"SoldOut", "Discontinued", "OutOfStock"})


def fields(node: Any) -> dict[str, Any]:
    """Return the fields of a listing that the node contains. Missing fields are left out."""
    around = list(_around(node))
    point = next((found for each in around if (found := _point(each)).latitude is not None), coordinates.Point())
    sizes = [area for each in around if (area := _area(each, "floorSize", "floorArea", "size"))]
    plot = next(filter(None, (_area(each, "lotSize", "landSize") for each in around)), None)
    known: dict[str, Any] = {
        "title": line(_first(around, "name", "headline")),
        "description": paragraphs(_text(_first(around, "description"))),
        "property_type": _property_type(around),
        "area_m2": sizes[0].m2 if sizes else None,
        "plot_m2": plot.m2 if plot else None,
        "rooms": _count(around, "numberOfRooms"),
        "bedrooms": _count(around, "numberOfBedrooms"),
        "bathrooms": _count(around, "numberOfBathroomsTotal", "numberOfFullBathrooms"),
        "floor": _count(around, "floorLevel"),
        "year_built": _count(around, "yearBuilt"),
        "region": line(_first(around, "address.addressRegion")),
        "city": line(_first(around, "address.addressLocality")),
        "street": line(_first(around, "address.streetAddress")),
        "postal_code": line(_first(around, "address.postalCode")),
        "latitude": point.latitude,
        "longitude": point.longitude,
        "photos": list(_pictures(_first(around, "image", "photo"))),
    }
    return {name: value for name, value in known.items() if value not in (None, [])}


def price(node: Any, home: str | None = None) -> prices.Price:
    """Return the price of the node's offer. Without a currency, its own or the portal's (`home`), it is empty."""
    for each in _around(node):
        for offer in (each, *_many(each.get("offers"))):
            amount = _offered(offer, "price")
            code = currencies.code(_offered(offer, "priceCurrency")) or home
            if numbers.positive(amount) is not None and code:
                return prices.of(amount, code, _period(offer))
    return prices.Price()


def country(node: Any) -> str | None:
    """Return the country as the node has it: a code or a name."""
    found = _first(list(_around(node)), "address.addressCountry")
    return line(found.get("name") if isinstance(found, dict) else found)


def types_of(node: dict[str, Any]) -> set[str]:
    """Return the types without a prefix: "Product" for "https://schema.org/Product"."""
    types = node.get("@type")
    names = types if isinstance(types, list) else [types]
    return {re.split("[/:#]", name)[-1] for name in names if isinstance(name, str)}


def is_gone(node: Any) -> bool:
    """Return whether an offer of the node says that it is sold or withdrawn."""
    offers = (offer for each in _around(node) for offer in _many(each.get("offers")))
    return any((line(offer.get("availability")) or "").rpartition("/")[2] in _GONE for offer in offers)


def _around(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the node and the nodes inside it, two levels deep."""
    if isinstance(node, dict):
        yield node
        for name in _WITHIN:
            for inner in _many(node.get(name)):
                yield inner
                yield from (deeper for each in _WITHIN for deeper in _many(inner.get(each)))


def _many(value: Any) -> list[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, dict)]


def _first(around: list[dict[str, Any]], *paths: str) -> Any:
    return next((found for path in paths for each in around if (found := _at(each, path)) not in (None, "", [])), None)


def _at(node: dict[str, Any], path: str) -> Any:
    """Return the value at a path. An object may be inside a list."""
    name, _, rest = path.partition(".")
    found = node.get(name)
    return at(found[0] if isinstance(found, list) and found else found, rest) if rest else found


def _offered(offer: dict[str, Any], name: str) -> Any:
    parts = (offer, *_many(offer.get("priceSpecification")))
    return next((each[name] for each in parts if each.get(name)), None)


def _period(offer: dict[str, Any]) -> periods.Period | None:
    """Return the rent period, from a UN/CEFACT code or a word."""
    unit = line(_offered(offer, "unitCode") or _offered(offer, "unitText"))
    return _UNITS.get(unit or "") or periods.parse(f"/{unit}")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(around: list[dict[str, Any]], *names: str) -> int | None:
    """Return a count from a number, a text or a QuantitativeValue."""
    found = _first(around, *names)
    return numbers.whole(found.get("value") if isinstance(found, dict) else found)


def _area(node: dict[str, Any], *names: str) -> areas.Area | None:
    for name in names:
        found = node.get(name)
        if isinstance(found, dict):
            return areas.of(found.get("value"), found.get("unitCode") or found.get("unitText") or "m2")
        if isinstance(found, str):
            return areas.parse(found)
    return None


def _property_type(around: list[dict[str, Any]]) -> property_types.PropertyType | None:
    """Return the property type of the innermost node that has one: a Product may contain a House."""
    names = [name for each in around for name in (each.get("@type"), each.get("category"))]
    flat = [each for name in names for each in (name if isinstance(name, list) else [name])]
    types = [each.rpartition("/")[2] for each in flat if isinstance(each, str)]
    inner_first = (property_types.of(each) for each in reversed(types) if each != "RealEstateListing")
    return next(filter(None, inner_first), None)


def _point(node: dict[str, Any]) -> coordinates.Point:
    for geo in (*_many(node.get("geo")), node):
        point = coordinates.of(geo.get("latitude"), geo.get("longitude"))
        if point.latitude is not None:
            return point
    return coordinates.Point()


def _pictures(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        address = (each.get("url") or each.get("contentUrl")) if isinstance(each, dict) else each
        if isinstance(address, str) and address.startswith(("https://", "http://")):
            yield address
