"""Fields from schema.org nodes, of JSON-LD or microdata. A page spreads them: a Product, and a House beside it.

All nodes about this page's home are read together. Address and name show which nodes belong to other homes.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from realestate.parsing import areas, coordinates, currencies, numbers, periods, prices, schemaorg
from realestate.parsing.text import line, paragraphs
from realestate.parsing.unknown_pages import countries, firms, places, values, vocabulary
from realestate.parsing.unknown_pages.document import Document

#: Types of nodes that can describe a home or its offer.
HOMES = frozenset(
    {"RealEstateListing", "Apartment", "House", "SingleFamilyResidence", "Residence", "Accommodation", "Suite", "Room"}
    | {
        "Product",
        "Offer",
        "Place",
        "ApartmentComplex",
        "BuyAction",
        "RentAction",
        "SellAction",
        "Event",
        "AggregateOffer",
    }
    | {"product", "IndividualProduct", "LodgingBusiness", "RealEstateAgent:listing", "Landform", "CivicStructure"}
)
RESULTS = frozenset({"SearchResultsPage", "CollectionPage", "OfferCatalog"})
_WITHIN = (
    "about",
    "itemOffered",
    "mainEntity",
    "mainEntityOfPage",
    "object",
    "location",
    "accommodation",
    "subjectOf",
    "item",
)
_SELLERS = ("seller", "offeredBy", "provider", "broker", "agent", "realEstateAgent", "landlord")
_FIRMS = frozenset({"RealEstateAgent", "Organization", "LocalBusiness", "Corporation", "RealEstateAgency"})
#: The others are written for every seller by some sites, also for persons.
_AGENCIES = frozenset({"RealEstateAgent", "RealEstateAgency"})
#: The firm that an agent works for.
_EMPLOYERS = ("worksFor", "parentOrganization", "memberOf", "affiliation", "brand")
_UNITS: dict[str, periods.Period] = {"DAY": "day", "WEE": "week", "MON": "month", "ANN": "year"}
_ACTIONS: dict[str, vocabulary.Operation] = {"BuyAction": "sale", "SellAction": "sale", "RentAction": "rent"}
_FUNCTIONS: dict[str, vocabulary.Operation] = {"sell": "sale", "leaseout": "rent", "lease": "rent"}
#: What the type of a node says about the home. Many sites write `House` or `SingleFamilyResidence` for every home.
_TYPES: dict[str, str] = {"Apartment": "apartment", "House": "house", "Room": "room"}
_WEAK_TYPES: dict[str, str] = {"SingleFamilyResidence": "house"}
_MOST_DEPTH = 4
#: From this number on, nodes of one type that differ are a list of homes.
LIST_OF_HOMES = 3


class Subject(NamedTuple):
    """The nodes about this page's home, and how many others there are."""

    nodes: list[dict[str, Any]]
    others: int
    is_matched: bool
    """Whether a node is about this page for sure: its address or its name is the page's."""


def subject(document: Document, nodes: list[dict[str, Any]]) -> Subject:
    """Return the nodes that describe the home of this page."""
    by_id = {each["@id"]: each for each in nodes if isinstance(each.get("@id"), str) and len(each) > 1}
    fit = [_resolved(each, by_id) for each in nodes if schemaorg.types_of(each) & HOMES and _has_values(each)]
    groups: dict[str, list[dict[str, Any]]] = {}
    for node in fit:
        groups.setdefault(",".join(sorted(schemaorg.types_of(node))), []).append(node)
    chosen: list[dict[str, Any]] = []
    others = 0
    is_matched = False
    for group in groups.values():
        own = [each for each in group if _is_of_page(document, each)]
        is_matched = is_matched or bool(own)
        distinct = {_identity(each) for each in group}
        if own:
            chosen += own
            others += len(distinct) - 1 if len(distinct) > len(own) else 0
        elif len(distinct) == 1:
            chosen += group
        elif len(distinct) < LIST_OF_HOMES:
            chosen.append(max(group, key=len))
            others += len(distinct) - 1
        else:
            others += len(distinct)
    return Subject(chosen, others, is_matched)


def fields(document: Document, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields of a listing that the nodes contain; and `price`, `operation`, `country` as they say them."""
    around = [inner for node in nodes for inner in _around(node)]
    offers = [offer for each in around for offer in (*_many(each.get("offers")), each)]
    # An open house has its own name.
    named = [inner for node in nodes if "Event" not in schemaorg.types_of(node) for inner in _around(node)]
    point = next((found for each in around if (found := _point(each)).latitude is not None), coordinates.Point())
    known: dict[str, Any] = {
        "title": line(_first(named, "name", "headline")),
        "description": paragraphs(_text(_first(named, "description"))),
        "area_m2": _area(around, "floorSize", "floorArea", "livingArea"),
        "area_any": _area(around, "size", "area"),
        "plot_m2": _area(around, "lotSize", "landSize", "landArea"),
        "rooms": _count(around, "rooms", "numberOfRooms"),
        "bedrooms": _count(around, "bedrooms", "numberOfBedrooms"),
        "bathrooms": _count(
            around, "bathrooms", "numberOfBathroomsTotal", "numberOfFullBathrooms", "numberOfBathrooms"
        ),
        "year_built": values.year(_value(_first(around, "yearBuilt"))),
        "latitude": point.latitude,
        "longitude": point.longitude,
        "photos": list(
            dict.fromkeys(each for node in around for each in _pictures(node.get("image") or node.get("photo")))
        ),
        "posted_at": values.moment(_first(around, "datePosted")),
        "updated_at": values.moment(_first(around, "dateModified")) if _is_listing(around) else None,
        "price": _price(offers),
        **values.floor(_value(_first(around, "floorLevel")) or ""),
        **_address(around),
        **_seller(document, around, offers),
    }
    for name, value in _additional(document, around).items():
        known[name] = known.get(name) or value
    return {name: value for name, value in known.items() if value not in (None, [])}


def type_words(nodes: list[dict[str, Any]]) -> list[str]:
    """Return the words for the property type that the nodes name, in `category` and its like."""
    around = [inner for node in nodes for inner in _around(node)]
    found = (each.get(name) for each in around for name in ("accommodationCategory", "category", "additionalType"))
    return [
        text.rpartition("/")[2]
        for each in found
        if (text := _text(each[0] if isinstance(each, list) and each else each))
    ]


def type_of_node(nodes: list[dict[str, Any]], *, weak: bool = False) -> str | None:
    """Return the property type of the nodes' own types. `Residence` and `Product` say nothing."""
    around = [inner for node in nodes for inner in _around(node)]
    table = _WEAK_TYPES if weak else _TYPES
    found = {table[name] for each in around for name in schemaorg.types_of(each) if name in table}
    return found.pop() if len(found) == 1 else None


def actions(nodes: list[dict[str, Any]]) -> set[vocabulary.Operation]:
    """Return the operations that the types of nodes and of their `potentialAction` say."""
    around = [inner for node in nodes for inner in _around(node)]
    every = [*around, *(action for each in around for action in _many(each.get("potentialAction")))]
    return {_ACTIONS[name] for each in every for name in schemaorg.types_of(each) if name in _ACTIONS}


def functions(nodes: list[dict[str, Any]]) -> set[vocabulary.Operation]:
    """Return the operations that `businessFunction` says. Some sites write "Sell" for all of their listings."""
    around = [inner for node in nodes for inner in _around(node)]
    offers = [offer for each in around for offer in (*_many(each.get("offers")), each)]
    names = [_text(each.get("businessFunction")) or "" for each in offers]
    return {_FUNCTIONS[name] for each in names if (name := re.split("[/#]", each)[-1].lower()) in _FUNCTIONS}


def is_range_of_offers(nodes: list[dict[str, Any]]) -> bool:
    """Return whether a node offers several homes at different prices, as pages of results do."""
    for node in nodes:
        for offer in (*_many(node.get("offers")), node):
            count = numbers.whole(offer.get("offerCount"))
            low = numbers.positive(offer.get("lowPrice"))
            high = numbers.positive(offer.get("highPrice"))
            if "AggregateOffer" in schemaorg.types_of(offer) and (
                (count or 0) > 2 or (low and high and high > 1.5 * low)
            ):
                return True
    return False


def breadcrumbs(nodes: list[dict[str, Any]]) -> list[str]:
    """Return the names and the addresses of the breadcrumbs, without the last one, which is the page itself."""
    lists = [
        each
        for node in nodes
        for each in (node, *_many(node.get("breadcrumb")))
        if "BreadcrumbList" in schemaorg.types_of(each)
    ]
    texts: list[str] = []
    for crumbs in lists[:4]:
        for crumb in _many(crumbs.get("itemListElement"))[:10]:
            item = crumb.get("item")
            inner = item if isinstance(item, dict) else {}
            found = (crumb.get("name"), inner.get("name"), item, inner.get("@id"))
            texts += [each for each in found if isinstance(each, str)]
    old = [
        each
        for node in nodes
        if "Breadcrumb" in schemaorg.types_of(node)
        for each in (node.get("title"), node.get("url"))
    ]
    return texts + [each for each in old if isinstance(each, str)]


def _around(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the node, and the nodes inside it that are about the same home."""
    waiting = [(node, 0)]
    while waiting:
        each, depth = waiting.pop(0)
        yield each
        if depth < _MOST_DEPTH:
            inner = [found for name in _WITHIN for found in _many(each.get(name))[:3]]
            inner += [found for offer in _many(each.get("offers"))[:3] for found in _many(offer.get("itemOffered"))[:3]]
            waiting += [(found, depth + 1) for found in inner]


def _resolved(node: dict[str, Any], by_id: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the node with other nodes in place of references to them."""
    resolved = dict(node)
    for name, value in node.items():
        if isinstance(value, dict) and value.keys() == {"@id"} and value["@id"] != node.get("@id"):
            resolved[name] = by_id.get(value["@id"], value) if isinstance(value["@id"], str) else value
    return resolved


def _has_values(node: dict[str, Any]) -> bool:
    """Whether a node has more than types and empty texts. Templates are left in some pages."""
    return any(
        _has_values(value) if isinstance(value, dict) else value not in (None, "", [])
        for name, value in node.items()
        if not name.startswith("@")
    )


def _is_of_page(document: Document, node: dict[str, Any]) -> bool:
    for inner in _around(node):
        named = [
            inner.get("url"),
            inner.get("@id"),
            inner.get("mainEntityOfPage"),
            *(each.get("url") for each in _many(inner.get("offers"))),
        ]
        if any(isinstance(each, str) and _path(each) in _paths(document) for each in named):
            return True
        name = _text(inner.get("name"))
        if name and len(name) > 8 and vocabulary.words(name) in {vocabulary.words(each) for each in document.titles}:
            return True
    return False


def _paths(document: Document) -> set[str]:
    return {path for each in document.addresses if (path := _path(each))}


def _path(address: str) -> str:
    """The part of an address that identifies a page on its site."""
    without_host = re.sub(r"^(?:https?:)?//[^/]+", "", address)
    return re.split("[#]", without_host)[0].rstrip("/").partition("?utm")[0]


def _identity(node: dict[str, Any]) -> str:
    around = list(_around(node))
    price = _price([offer for each in around for offer in (*_many(each.get("offers")), each)])
    return repr((_first(around, "name"), _first(around, "url"), price.amount if price else None))


def _is_listing(around: list[dict[str, Any]]) -> bool:
    return any("RealEstateListing" in schemaorg.types_of(each) for each in around)


def _many(value: Any) -> list[dict[str, Any]]:
    each_of = value if isinstance(value, list) else [value]
    return [each for each in each_of if isinstance(each, dict)]


def _first(around: list[dict[str, Any]], *names: str) -> Any:
    found = (_single(each.get(name)) for name in names for each in around)
    return next((each for each in found if each not in (None, "", [])), None)


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _value(value: Any) -> Any:
    """The value of a QuantitativeValue, or the value itself."""
    return value.get("value") if isinstance(value, dict) else value


def _count(around: list[dict[str, Any]], field: str, *names: str) -> int | None:
    found = (values.count(_value(_single(each.get(name))), field) for name in names for each in around)
    return next((each for each in found if each is not None), None)


def _area(around: list[dict[str, Any]], *names: str) -> float | None:
    """The first size with a unit. A number alone is not a size: it may be in square feet."""
    for name in names:
        for each in around:
            found = _sized(_single(each.get(name)))
            if found:
                return found.m2
    return None


def _sized(value: Any) -> areas.Area | None:
    if isinstance(value, str):
        return values.area(value)
    if not isinstance(value, dict):
        return None
    unit = _text(value.get("unitCode")) or _text(value.get("unitText")) or ""
    found = areas.of(value.get("value"), unit) or (values.area(str(value["value"])) if value.get("value") else None)
    return found if found and values.is_possible(found) else None


def _point(node: dict[str, Any]) -> coordinates.Point:
    for geo in (*_many(node.get("geo")), node):
        latitude, longitude = (_degrees(geo.get(name)) for name in ("latitude", "longitude"))
        point = coordinates.of(latitude, longitude)
        if point.latitude is not None:
            return point
    return coordinates.Point()


def _degrees(value: Any) -> Any:
    single = _single(value)
    return single.replace(",", ".") if isinstance(single, str) else single


def _pictures(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        address = (each.get("contentUrl") or each.get("url")) if isinstance(each, dict) else each
        if isinstance(address, str) and address.startswith(("https://", "http://")):
            yield address


def _price(offers: list[dict[str, Any]]) -> prices.Price | None:
    """The price of the first offer that has an amount and a currency. A range of prices is not a price."""
    for offer in offers:
        parts = (offer, *_many(offer.get("priceSpecification")))
        amount = next((each[name] for each in parts for name in ("price", "lowPrice") if each.get(name)), None)
        high = next((each["highPrice"] for each in parts if each.get("highPrice")), None)
        if high is not None and numbers.positive(high) != numbers.positive(amount):
            continue
        named = next(
            (text for each in parts if (text := _text(_single(each.get("priceCurrency") or each.get("currency"))))),
            None,
        )
        currency = currencies.code(named)
        if currency is None or numbers.positive(_single(amount)) is None:
            continue
        unit = next(
            (text for each in parts for name in ("unitCode", "unitText") if (text := _text(each.get(name)))), None
        )
        return prices.of(
            _single(amount), currency, _UNITS.get(unit or "") or (periods.parse(f"/{unit}") if unit else None)
        )
    return None


def _address(around: list[dict[str, Any]]) -> dict[str, Any]:
    found = [*(each for node in around for each in _many(node.get("address"))), *around]
    country = _first(found, "addressCountry")
    own = {
        "region": line(_text(_first(found, "addressRegion"))),
        "street": line(_text(_first(found, "streetAddress"))),
        "postal_code": line(_first(found, "postalCode")),
        "country": countries.code(country.get("name") if isinstance(country, dict) else country),
    }
    named = {name: value for name, value in own.items() if value}
    return {**places.city(_text(_first(found, "addressLocality"))), **named}


def _seller(document: Document, around: list[dict[str, Any]], offers: list[dict[str, Any]]) -> dict[str, Any]:
    """The firm that offers the home. A person may be its owner or an agent: that is not said."""
    for node in (*around, *offers):
        for each in (seller for name in _SELLERS for seller in _many(node.get(name))):
            employers = [firm for name in _EMPLOYERS for firm in _many(each.get(name))]
            for firm in (*employers, each):
                name = line(_text(firm.get("name")))
                types = schemaorg.types_of(firm)
                if not types & _FIRMS or not name or document.is_site_name(name):
                    continue
                has_logo = "RealEstateAgent" not in types and bool(firm.get("logo"))
                if firm is not each or has_logo or firms.is_firm(name):
                    return {"seller_type": "agency", "agency_name": name}
                if types & _AGENCIES:
                    return {"seller_type": "agency"}
    return {}


def _additional(document: Document, around: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields in `additionalProperty`: rows of a name and a value."""
    found: dict[str, Any] = {}
    for node in around:
        for row in _many(node.get("additionalProperty"))[:100]:
            name = _text(row.get("name")) or ""
            value = line(row.get("value")) if not isinstance(row.get("value"), dict | list) else None
            if value is None or len(name) > 60:
                continue
            unit = _text(row.get("unitCode")) or _text(row.get("unitText")) or ""
            for field in vocabulary.fields_of_label(name, document.language):
                read = values.read(field, f"{value} {unit}".strip(), name, document)
                found = {**read, **found}
                if read:
                    break
    return found
