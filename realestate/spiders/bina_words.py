"""The meaning of the words that bina.az uses, in the URL of a search and in an item."""

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from scrapy.http import TextResponse

from realestate.crawling import BadSeed, OldPage, parameters, place_fields, point_fields
from realestate.items import PropertyType, RentPeriod, SellerType
from realestate.parsing import apollo, areas, azerbaijani_addresses, coordinates, jsonld, prices
from realestate.parsing.currencies import code
from realestate.parsing.embedded import at, decoded, first_at, listed, next_data
from realestate.parsing.text import fold, line, paragraphs
from realestate.parsing.words import folded, meaning, truth

Kind = tuple[PropertyType | None, str | None, bool | None]

#: Parts of a search's URL -> the value of its filter. The numbers of other cities are not known, nor those of new and
#: old buildings.
CITIES = {
    "baki": "1",
}
OPERATIONS: dict[str, dict[str, Any]] = {
    "alqi-satqi": {"leased": False},
    "kiraye": {"leased": True},
    "gunluk-kiraye": {"leased": True, "paidDaily": True},
}
CATEGORIES = {
    "menziller": "1",
    "heyet-evleri": "5",
    "ofisler": "7",
    "qarajlar": "8",
    "torpaq": "9",
    "obyektler": "10",
}
#: Our words -> parts of a search's URL.
OPERATION_PATHS = {
    "sale": "alqi-satqi",
    "rent": "kiraye",
}
TYPE_PATHS: dict[str, str] = {
    "apartment": "menziller",
    "house": "heyet-evleri",
    "office": "ofisler",
    "garage": "qarajlar",
    "land": "torpaq",
    "commercial": "obyektler",
}
#: Parameters of a search's URL -> names of the filter.
NUMBERS = {
    "price_from": "priceFrom",
    "price_to": "priceTo",
    "area_from": "areaFrom",
    "area_to": "areaTo",
}
LISTS = {
    "room_ids[]": "roomIds",
    "location_ids[]": "locationIds",
}
SWITCHES = {
    "has_bill_of_sale": "hasBillOfSale",
    "has_mortgage": "hasMortgage",
}
#: A category's name -> property type, subtype, is it a new building?
KINDS: dict[str, Kind] = folded(
    {
        "Yeni tikili": ("apartment", "new_building", True),
        "Köhnə tikili": ("apartment", "old_building", False),
        "Mənzil": ("apartment", None, None),
        "Mənzillər": ("apartment", None, None),
        "Həyət evi/Bağ evi": ("house", "yard_or_garden_house", None),
        "Həyət evi": ("house", "yard_or_garden_house", None),
        "Bağ evi": ("house", "yard_or_garden_house", None),
        "Həyət evləri": ("house", "yard_or_garden_house", None),
        "Villa": ("house", "villa", None),
        "Ofis": ("office", None, None),
        "Ofislər": ("office", None, None),
        "Qaraj": ("garage", None, None),
        "Qarajlar": ("garage", None, None),
        "Torpaq": ("land", None, None),
        "Obyekt": ("commercial", None, None),
        "Obyektlər": ("commercial", None, None),
    }
)
#: A word for the operation -> is it a rent?
IS_RENT = folded(
    {
        "Satış": False,
        "Alqı-satqı": False,
        "Satılır": False,
        "Kirayə": True,
        "Kirayə verilir": True,
    }
)
SELLERS: dict[str, SellerType] = folded(
    {
        "vasitəçi (agent)": "agency",
        "mülkiyyətçi": "owner",
        "sahibi": "owner",
    }
)
#: Flags of an item whose place somebody paid for. Queries use either name.
PROMOTED = (
    "vipped",
    "isVipped",
    "featured",
    "isFeatured",
)
#: Values of an item that go into `extra`.
EXTRA = (
    "views",
    "expiresAt",
    "hasInternalLoan",
    "isVipped",
    "isFeatured",
)


def filter_of(search: str) -> dict[str, Any]:
    """The filter of a search's URL. Raises BadSeed for an unknown part: without it, the search would find more."""
    parts = urlsplit(search)
    filter = {} if parts.path == "/items/all" else _filter_of_path(parts.path)
    for name, value in parse_qsl(parts.query):
        if name in ("cursor", "page"):
            continue
        if name in NUMBERS and value.isascii() and value.isdecimal():
            filter[NUMBERS[name]] = int(value)
        elif name in LISTS:
            filter.setdefault(LISTS[name], []).append(value)
        elif name in SWITCHES and value == "true":
            filter[SWITCHES[name]] = True
        else:
            raise BadSeed(f"bina: unknown filter {name}={value[:50]}")
    return filter


def cursor_of(search: str) -> str | None:
    """The cursor of a search's URL; None for the first page."""
    return parameters(search).get("cursor")


def _filter_of_path(path: str) -> dict[str, Any]:
    """The filter of `/baki/alqi-satqi/menziller`. The city and the category may be missing."""
    found = re.fullmatch(r"(?:/([a-z-]+?))?/(alqi-satqi|kiraye|gunluk-kiraye)(?:/([a-z-]+))?/?", path)
    city, operation, category = found.groups() if found else (None, None, None)
    is_known = (city is None or city in CITIES) and (category is None or category in CATEGORIES)
    if not operation or not is_known:
        raise BadSeed(f"bina: unknown search {path[:100]!r}")
    filter: dict[str, Any] = {}
    if city:
        filter["cityId"] = CITIES[city]
    if category:
        filter["categoryId"] = CATEGORIES[category]
    return filter | OPERATIONS[operation]


def item_of(response: TextResponse, ref: str) -> dict[str, Any] | None:
    """The item with this id in a page or in a bare JSON document. A page also contains similar items."""
    is_bare = response.text.lstrip()[:1] == "{"
    document = decoded(response.text) if is_bare else {"pageProps": next_data(response.text)}
    props = at(document, "pageProps")
    for item in _items_in(document, props, ref):
        if isinstance(item, dict) and line(item.get("id")) == ref:
            return {name.partition("(")[0]: value for name, value in item.items()}
    return None if item_id(response.text) else _item_of_json_ld(response.text, ref)


def _items_in(document: Any, props: Any, ref: str) -> Iterator[Any]:
    """The places where a document may have the item."""
    yield at(props, "currentItemData")
    yield at(document, "currentItemData")
    yield at(document, "data.item")
    yield document
    if isinstance(props, dict):
        for cache in props.values():
            yield apollo.first(cache, "Item", ref)


def _item_of_json_ld(document: str, ref: str) -> dict[str, Any] | None:
    """The values of a page that has only JSON-LD, in the form of an item. The operation and the type are in the
    title."""
    linked = jsonld.first(document, "Product")
    offered = at(linked, "offers.itemOffered")
    title = fold(line(at(linked, "name")) or "")
    operations = {is_rent for word, is_rent in IS_RENT.items() if title.startswith(word)}
    if not isinstance(offered, dict) or len(operations) != 1:
        return None
    size = at(offered, "floorSize")
    offer = at(linked, "offers")
    price = None
    if "price" in offer:
        price = {"total": offer["price"], "currency": offer.get("priceCurrency")}
    return {
        "id": ref,
        "leased": operations.pop(),
        "price": price,
        "rooms": offered.get("numberOfRooms"),
        "area": {"value": at(size, "value"), "units": at(size, "unitCode")},
        "category": {"name": _kind_in(title)},
        "city": {"name": at(offered, "address.addressLocality")},
        "address": at(offered, "address.streetAddress"),
    }


def _kind_in(title: str) -> str | None:
    """The first category that a title names."""
    words = f"{title} ".replace(",", " ")
    return next((kind for kind in KINDS if f" {kind} " in words), None)


def item_id(document: str) -> str | None:
    """The id of the item that a page is about, if the URL of the page is not known."""
    props = next_data(document)
    items = [at(props, "currentItemData")]
    if isinstance(props, dict):
        items += [apollo.fullest(cache, "Item") for cache in props.values()]
    for item in items:
        if ref := line(at(item, "id")):
            return ref
    return None


#: Values of a result that change when the advert does.
CARD = ("rooms", "floor", "floors", "area.value", "hasRepair", "hasBillOfSale", "hasMortgage", "photosCount")


def price_of(item: Any, home_currency: str) -> prices.Price:
    """The price: "total" or "value", as the query names it. Null means on request; without the key there is none."""
    price = at(item, "price")
    currency = code(line(at(price, "currency")) or home_currency, home_currency)
    if currency is None or not isinstance(price, dict) or price.keys().isdisjoint(("total", "value")):
        return prices.Price()
    return prices.of(first_at(price, "total", "value"), currency)


def item_values(item: dict[str, Any], linked: dict[str, Any], currency: str) -> dict[str, Any]:
    """The values of an item that may stand in several places, for `fields_of`."""
    nearest = [at(each, "fullName") for each in listed(item.get("nearestLocations"))]
    home = coordinates.of(at(item, "latitude"), at(item, "longitude"))
    place = coordinates.of(at(item, "location.latitude"), at(item, "location.longitude"))
    agency = agency_of(item)
    return {
        "price": price_of(item, currency),
        "is_rent": truth(first_at(item, "isLeased", "leased")),
        "rent_period": period_of(item),
        "kinds": (at(item, "category.name"), item.get("buildingTypeName")),
        "area": areas.of(at(item, "area.value"), at(item, "area.units")),
        "plot_m2": plot_of(item, linked),
        "place_names": [line(each) for each in (at(item, "location.fullName"), *nearest)],
        "city": line(at(item, "city.name")),
        "point": place if home.latitude is None else home,
        "is_near": home.latitude is None,  # the point is the place's, which is near the home
        "is_renovated": item.get("hasRepair"),
        "street": street_of(item.get("address")),
        "title": line(linked.get("name")) or line(item.get("title")) or line(at(item, "metaTags.title")),
        "description": description_of(item) or description_of(linked),
        "agency_name": agency,
        "seller_type": "agency" if agency else meaning(item.get("contactTypeName"), SELLERS),
        "extra": {name: item[name] for name in EXTRA if item.get(name) not in (None, False)},
    }


def agency_of(item: Any) -> str | None:
    """The name of the firm; never the contact's, which some items repeat as the name of the company."""
    contact = fold(line(item.get("contactName")) or "")
    for name in (line(at(item, "business.name")), line(at(item, "company.name"))):
        if name and fold(name) != contact:
            return name
    return None


def old_values(page: OldPage) -> dict[str, Any]:
    """The same values of an old page."""
    rows = page.rows
    breadcrumbs = page.breadcrumbs
    land = areas.parse(rows.take("Torpaq sahəsi"))
    return {
        "is_rent": meaning(breadcrumbs[0], IS_RENT),
        "kinds": (rows.take("Kateqoriya"), *breadcrumbs[1:][-1:]),
        "area": areas.parse(rows.take("Sahə")),
        "plot_m2": land.m2 if land else None,
        "place_names": page.places,
        "point": page.point,
        "is_renovated": rows.take("Təmir"),
        "seller_type": meaning(page.seller, SELLERS),
    }


def period_of(item: Any) -> RentPeriod | None:
    """The period of a rent; None if it is a sale, or if the item does not say."""
    if first_at(item, "isLeased", "leased") is not True:
        return None
    is_daily = first_at(item, "isPaidDaily", "paidDaily")
    if is_daily is None:
        return None
    return "day" if is_daily else "month"


def plot_of(item: Any, linked: Any) -> float | None:
    """The area of the land. The item's has no unit in some queries; then JSON-LD's is used."""
    own = at(item, "landArea")
    other = at(linked, "offers.itemOffered.landArea")
    area = areas.of(at(own, "value"), at(own, "units")) or areas.of(at(other, "value"), at(other, "unitCode"))
    return area.m2 if area else None


def street_of(address: Any) -> str | None:
    """The street. An address is a text or an object."""
    if isinstance(address, dict):
        address = first_at(address, "street", "streetAddress", "address")
    return line(address)


def description_of(document: dict[str, Any]) -> str | None:
    text = document.get("description")
    return paragraphs(text) if isinstance(text, str) else None


def photos_of(item: Any, linked: Any) -> list[str]:
    """The photos of the item, or else of the JSON-LD."""
    photos = [first_at(photo, "full", "large", "url") for photo in listed(item.get("photos"))]
    if not photos:
        image = linked.get("image")
        photos = listed(image) or [image]
    return [url for url in photos if isinstance(url, str) and url]


def fields_of(
    *,
    is_rent: bool | None,
    rent_period: RentPeriod | None,
    kinds: Sequence[Any],
    area: areas.Area | None,
    plot_m2: float | None,
    place_names: Sequence[str | None],
    point: coordinates.Point,
    is_near: bool = False,
    is_renovated: Any,
    **fields: Any,
) -> dict[str, Any]:
    """The fields of a listing, from the values of a new or an old page."""
    property_type, subtype, is_new = _kind_of(kinds)
    is_land = property_type == "land" or (area is not None and area.is_land)
    operation = None
    if is_rent is not None:
        operation = "rent" if is_rent else "sale"
    renovated = truth(is_renovated)
    condition = None
    if renovated is not None:
        condition = "renovated" if renovated else "unrenovated"
    return {
        "operation": operation,
        "rent_period": rent_period if is_rent else None,
        "property_type": property_type,
        "subtype": subtype,
        "is_new_building": is_new,
        "area_m2": area.m2 if area and not is_land else None,
        "plot_m2": area.m2 if area and is_land else plot_m2,
        "condition": condition,
        **place_fields(azerbaijani_addresses.parse(", ".join(name for name in place_names if name))),
        **point_fields(point, "approximate" if is_near else "exact"),
        **fields,
    }


def _kind_of(names: Sequence[Any]) -> Kind:
    """The property type by the names of a category. A name with a subtype is preferred."""
    known = [kind for name in names if (kind := meaning(name, KINDS))]
    for kind in known:
        if kind[1]:
            return kind
    if known:
        return known[0]
    is_named = any(line(name) for name in names)
    return ("other" if is_named else None, None, None)
