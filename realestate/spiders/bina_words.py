"""What bina's words mean, in the address of a search and in an item."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from scrapy.http import TextResponse

from realestate.crawling.old_markup import OldPage
from realestate.crawling.reading import located, placed
from realestate.crawling.seeds import BadSeed
from realestate.items import PropertyType, RentPeriod, SellerType
from realestate.parsing import apollo, areas, azerbaijani_addresses, coordinates, jsonld, prices
from realestate.parsing.currencies import code
from realestate.parsing.embedded import at, decoded, first_at, listed, next_data
from realestate.parsing.text import fold, line, paragraphs
from realestate.parsing.words import folded, meaning, truth

Kind = tuple[PropertyType | None, str | None, bool | None]

#: Words of a search's address -> its filter. The numbers of other cities are not known, nor those of new and old
#: buildings apart.
CITIES = {"baki": "1"}
DEALS: dict[str, dict[str, Any]] = {
    "alqi-satqi": {"leased": False},
    "kiraye": {"leased": True},
    "gunluk-kiraye": {"leased": True, "paidDaily": True},
}
CATEGORIES = {"menziller": "1", "heyet-evleri": "5", "ofisler": "7", "qarajlar": "8", "torpaq": "9", "obyektler": "10"}
NUMBERS = {"price_from": "priceFrom", "price_to": "priceTo", "area_from": "areaFrom", "area_to": "areaTo"}
LISTS = {"room_ids[]": "roomIds", "location_ids[]": "locationIds"}
SWITCHES = {name: re.sub("_(.)", lambda found: found[1].upper(), name) for name in ("has_bill_of_sale", "has_mortgage")}
#: A category's name -> type, subtype, is it a new building?
KINDS: dict[str, Kind] = folded(
    {
        "Yeni tikili": ("apartment", "new_building", True),
        "Köhnə tikili": ("apartment", "old_building", False),
        **dict.fromkeys(("Mənzil", "Mənzillər"), ("apartment", None, None)),
        **dict.fromkeys(
            ("Həyət evi/Bağ evi", "Həyət evi", "Bağ evi", "Həyət evləri"), ("house", "yard_or_garden_house", None)
        ),
        "Villa": ("house", "villa", None),
        **dict.fromkeys(("Ofis", "Ofislər"), ("office", None, None)),
        **dict.fromkeys(("Qaraj", "Qarajlar"), ("garage", None, None)),
        "Torpaq": ("land", None, None),
        **dict.fromkeys(("Obyekt", "Obyektlər"), ("commercial", None, None)),
    }
)
#: Whether it is a rent.
DEAL_WORDS = folded({"Satış": False, "Alqı-satqı": False, "Satılır": False, "Kirayə": True, "Kirayə verilir": True})
SELLERS: dict[str, SellerType] = folded({"vasitəçi (agent)": "agency", "mülkiyyətçi": "owner", "sahibi": "owner"})
#: Somebody paid for it; by either name.
PROMOTED = ("vipped", "isVipped", "featured", "isFeatured")
#: What the item tells that no field takes.
MORE = ("views", "expiresAt", "hasInternalLoan", "isVipped", "isFeatured")


def asked_by(search: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The filter and the cursor of a search's address. What is not known cannot be left out: it would find more."""
    parts = urlsplit(search)
    told = {} if parts.path == "/items/all" else _of_path(parts.path)
    cursor = {}
    for name, value in parse_qsl(parts.query):
        if name == "cursor":
            cursor = {"cursor": value}
        elif name in NUMBERS and value.isascii() and value.isdecimal():
            told[NUMBERS[name]] = int(value)
        elif name in LISTS:
            told.setdefault(LISTS[name], []).append(value)
        elif name in SWITCHES and value == "true":
            told[SWITCHES[name]] = True
        elif name != "page":
            raise BadSeed(f"bina: the filter {name}={value[:50]} is not known")
    return told, cursor


def _of_path(path: str) -> dict[str, Any]:
    """`/baki/alqi-satqi/menziller`; the city and the category may be missing."""
    found = re.fullmatch(r"(?:/([a-z-]+?))?/(alqi-satqi|kiraye|gunluk-kiraye)(?:/([a-z-]+))?/?", path)
    city, deal, category = found.groups() if found else (None, None, None)
    if deal and (city is None or city in CITIES) and (category is None or category in CATEGORIES):
        told = {"cityId": CITIES.get(city or ""), "categoryId": CATEGORIES.get(category or ""), **DEALS[deal]}
        return {name: value for name, value in told.items() if value is not None}
    raise BadSeed(f"bina: what {path[:100]!r} finds is not known")


def item_of(response: TextResponse, ref: str) -> dict[str, Any] | None:
    """The page's own item, and no similar one: by its id. Of a bare JSON document too."""
    told = decoded(response.text) if response.text.lstrip()[:1] == "{" else {"pageProps": next_data(response.text)}
    props = at(told, "pageProps")
    given = (at(props, "currentItemData"), at(told, "currentItemData"), at(told, "data.item"), told)
    cached = (apollo.first(cache, "Item", ref) for cache in (props.values() if isinstance(props, dict) else ()))
    for item in (*given, *cached):
        if isinstance(item, dict) and line(item.get("id")) == ref:
            return {name.partition("(")[0]: value for name, value in item.items()}
    return None if told_id(response.text) else _of_linked(response.text, ref)


def _of_linked(document: str, ref: str) -> dict[str, Any] | None:
    """What a page tells by its JSON-LD alone, as an item tells it: the title has its deal and its kind."""
    linked = jsonld.first(document, "Product")
    offered, title = at(linked, "offers.itemOffered"), fold(line(at(linked, "name")) or "")
    deals = {is_rent for word, is_rent in DEAL_WORDS.items() if title.startswith(word)}
    if not isinstance(offered, dict) or len(deals) != 1:
        return None
    size, offer = at(offered, "floorSize"), at(linked, "offers")
    return {
        "id": ref,
        "leased": deals.pop(),
        "price": {"total": offer["price"], "currency": offer.get("priceCurrency")} if "price" in offer else None,
        "rooms": offered.get("numberOfRooms"),
        "area": {"value": at(size, "value"), "units": at(size, "unitCode")},
        "category": {"name": next((kind for kind in KINDS if f" {kind} " in f"{title} ".replace(",", " ")), None)},
        "city": {"name": at(offered, "address.addressLocality")},
        "address": at(offered, "address.streetAddress"),
    }


def told_id(document: str) -> str | None:
    """The id of the item that a page is about, where nobody says which it should be."""
    props = next_data(document)
    caches = props.values() if isinstance(props, dict) else ()
    items = (at(props, "currentItemData"), *(apollo.fullest(cache, "Item") for cache in caches))
    return next((ref for item in items if (ref := line(at(item, "id")))), None)


def price_of(item: Any, home: str) -> prices.Price:
    """ "total" or "value", as the query calls it. Null is a price on request; what is not there tells nothing."""
    told = at(item, "price")
    currency = code(line(at(told, "currency")) or home, home)
    if currency is None or not isinstance(told, dict) or told.keys().isdisjoint(("total", "value")):
        return prices.Price()
    return prices.of(first_at(told, "total", "value"), currency)


def item_fields(item: dict[str, Any], linked: dict[str, Any], currency: str) -> dict[str, Any]:
    """What an item tells in more places than one, for `fields_of`. A place's pin is near the home, not at it."""
    nearest = (at(each, "fullName") for each in listed(item.get("nearestLocations")))
    home, near = (coordinates.of(at(item, f"{of}latitude"), at(item, f"{of}longitude")) for of in ("", "location."))
    return {
        "price": price_of(item, currency),
        "is_rent": truth(first_at(item, "isLeased", "leased")),
        "rent_period": period_of(item),
        "kinds": (at(item, "category.name"), item.get("buildingTypeName")),
        "sizes": (areas.of(at(item, "area.value"), at(item, "area.units")), plot_of(item, linked)),
        "named": [line(each) for each in (at(item, "location.fullName"), *nearest)],
        "city": line(at(item, "city.name")),
        "point": home if home.latitude is not None else near,
        "is_near": home.latitude is None,
        "is_renovated": item.get("hasRepair"),
        "street": street_of(item.get("address")),
        "title": line(linked.get("name")) or line(item.get("title")) or line(at(item, "metaTags.title")),
        "description": next(filter(None, map(text_of, (item, linked))), None),
        "seller_type": "agency" if line(at(item, "company.name")) else meaning(item.get("contactTypeName"), SELLERS),
        "extra": {name: item[name] for name in MORE if item.get(name) not in (None, False)},
    }


def old_fields(page: OldPage) -> dict[str, Any]:
    """The same of a page of the old form."""
    told, crumbs = page.rows, page.crumbs
    land = areas.parse(told.take("Torpaq sahəsi"))
    return {
        "is_rent": meaning(crumbs[0], DEAL_WORDS),
        "kinds": (told.take("Kateqoriya"), *crumbs[1:][-1:]),
        "sizes": (areas.parse(told.take("Sahə")), land.m2 if land else None),
        "named": page.places,
        "point": page.point,
        "is_renovated": told.take("Təmir"),
        "seller_type": meaning(page.seller, SELLERS),
    }


def period_of(item: Any) -> RentPeriod | None:
    if first_at(item, "isLeased", "leased") is not True:
        return None
    is_daily = first_at(item, "isPaidDaily", "paidDaily")
    return None if is_daily is None else "day" if is_daily else "month"


def plot_of(item: Any, linked: Any) -> float | None:
    """The item's own has no unit in some queries: then JSON-LD's, which has."""
    told, beside = at(item, "landArea"), at(linked, "offers.itemOffered.landArea")
    area = areas.of(at(told, "value"), at(told, "units")) or areas.of(at(beside, "value"), at(beside, "unitCode"))
    return area.m2 if area else None


def street_of(address: Any) -> str | None:
    """One text, or an object."""
    return line(first_at(address, "street", "streetAddress", "address") if isinstance(address, dict) else address)


def text_of(told: dict[str, Any]) -> str | None:
    text = told.get("description")
    return paragraphs(text) if isinstance(text, str) else None


def photos_of(item: Any, linked: Any) -> list[str]:
    told = [first_at(photo, "full", "large", "url") for photo in listed(item.get("photos"))]
    beside = linked.get("image")
    return [url for url in (told or listed(beside) or [beside]) if isinstance(url, str) and url]


def fields_of(
    *,
    is_rent: bool | None,
    rent_period: RentPeriod | None,
    kinds: Sequence[Any],
    sizes: tuple[areas.Area | None, float | None],
    named: Sequence[str | None],
    point: coordinates.Point,
    is_near: bool = False,
    is_renovated: Any,
    **fields: Any,
) -> dict[str, Any]:
    """Fields of a listing, of what both forms of a page tell. The finer of two names for its kind counts."""
    unknown: Kind = ("other" if any(map(line, kinds)) else None, None, None)
    known = [kind for name in kinds if (kind := meaning(name, KINDS))]
    property_type, subtype, is_new = next((each for each in known if each[1]), known[0] if known else unknown)
    area, plot = sizes
    is_land = property_type == "land" or (area is not None and area.is_land)
    renovated = truth(is_renovated)
    return {
        "operation": None if is_rent is None else "rent" if is_rent else "sale",
        "rent_period": rent_period if is_rent else None,
        "property_type": property_type,
        "subtype": subtype,
        "is_new_building": is_new,
        "area_m2": area.m2 if area and not is_land else None,
        "plot_m2": area.m2 if area and is_land else plot,
        "condition": None if renovated is None else "renovated" if renovated else "unrenovated",
        **located(azerbaijani_addresses.parse(", ".join(filter(None, named)))),
        **placed(point, "approximate" if is_near else "exact"),
        **fields,
    }
