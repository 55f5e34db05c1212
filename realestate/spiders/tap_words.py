"""The meaning of the words that tap.az uses, in the URL of a search and in an advert's rows; and its queries."""

import re
from base64 import b64encode
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from realestate.crawling import Covers
from realestate.items import Operation, PropertyType
from realestate.parsing import apollo, areas, numbers, prices
from realestate.parsing.embedded import at, decoded, next_data
from realestate.parsing.rows import Rows
from realestate.parsing.text import fold, line
from realestate.parsing.words import folded, meaning

SEARCH = """
query Search($filters: AdFilterInput, $keywords: String, $first: Int, $after: String) {
  adSearch(filters: $filters, keywords: $keywords, source: DESKTOP) {
    ads(first: $first, after: $after) {
      totalCount
      nodes { path price updatedAt }
      pageInfo { endCursor hasNextPage }
    }
  }
}"""
CALL = "mutation Call($adId: ID) { createCall(adId: $adId, source: DESKTOP) { entity } }"
ROOT = "dasinmaz-emlak"
LAND = "torpaq-sahesi"
#: Last part of a category's URL -> the portal's number, and what the category contains.
CATEGORIES: dict[str, tuple[int, PropertyType]] = {
    "menziller": (635, "apartment"),
    "heyet-evleri": (601, "house"),
    LAND: (602, "land"),
    "obyektler-ve-ofisler": (605, "commercial"),
    "qarajlar": (603, "garage"),
}
#: Parts of a search's path -> what such a search shows.
SEARCH_WORDS: dict[str, Covers] = {
    "/menziller": Covers(types=("apartment", "room", "other")),
    "/heyet-evleri": Covers(types=("house", "other")),
    f"/{LAND}": Covers(types=("land",)),
    "/obyektler-ve-ofisler": Covers(types=("commercial", "office", "building", "other")),
    "/qarajlar": Covers(types=("garage",)),
}
#: Labels of the row with the type of building.
BUILDING = ("Binanın tipi", "Əmlakın növü", "Obyektin növü")
#: Labels of the row with sale or rent.
OPERATION = ("Elanın tipi", "Elanın növü", "Elan növü")
#: Categories whose adverts name the operation only if it is a rent.
FOR_SALE = (LAND, "qarajlar")
#: Type of building -> property type, subtype, is it new?
KINDS: dict[str, tuple[PropertyType, str | None, bool | None]] = folded(
    {
        "Yeni tikili": ("apartment", "new_building", True),
        "Köhnə tikili": ("apartment", "old_building", False),
        "Həyət evi": ("house", "yard_house", None),
        "Bağ evi": ("house", "garden_house", None),
        "Villa": ("house", "villa", None),
        "Ofis": ("office", None, None),
        "Obyekt": ("commercial", None, None),
        "Qaraj": ("garage", None, None),
    }
)
#: The `status` of an advert that is gone.
OVER = frozenset({"EXPIRED", "ARCHIVED", "DELETED", "REMOVED"})


def query_variables(search: str) -> dict[str, Any]:
    """The variables of the query, made of the URL of a search. Raises ValueError for a filter that is not known."""
    parts = urlsplit(search)
    category = parts.path.rstrip("/").rpartition("/")[2]
    if category not in CATEGORIES:
        raise ValueError(f"not a known category of tap.az: {parts.path}")
    filters: dict[str, Any] = {"categoryId": global_id("Category", CATEGORIES[category][0])}
    variables: dict[str, Any] = {"filters": filters}
    least: list[int | None] = []
    most: list[int | None] = []
    site_prices: list[int | None] = []
    options = []
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name == "q[price][]":
            site_prices.append(numbers.whole(value))
        elif name == "price_from":
            least.append(numbers.whole(value))
        elif name == "price_to":
            most.append(numbers.whole(value))
        elif name == "q[region_id]" and value:
            filters["regionId"] = global_id("Region", value)
        elif option := re.fullmatch(r"p\[(\d+)\](?:\[\])?", name):
            options.append({"legacyId": int(option[1]), "value": value})
        elif name == "cursor":
            variables["after"] = value or None
        elif name == "q[keywords]":
            variables["keywords"] = value or None
        elif name.startswith(("q[", "p[")) and value:
            raise ValueError(f"cannot search tap.az by {name}")
    # the site's own form sends the least and the greatest price under one name, in this order
    least += site_prices[:1]
    most += site_prices[1:]
    if least or most:
        filters["price"] = {
            "from": max((price for price in least if price), default=None),
            "to": min((price for price in most if price), default=None),
        }
    if options:
        filters["propertyOptions"] = {"collection": options}
    return variables


def global_id(kind: str, number: object) -> str:
    """The id that the GraphQL API uses."""
    return b64encode(f"gid://tap/{kind}/{number}".encode()).decode().rstrip("=")


def cache_of(document: str) -> Any:
    """Apollo's cache in a page."""
    return decoded(at(next_data(document), "apolloState"))


def own_advert(cache: Any, ref: str) -> Any:
    """The advert of this number; None if there is none. The cache contains similar adverts too."""
    own = {ref, global_id("Ad", ref), f"gid://tap/Ad/{ref}"}
    if not isinstance(cache, dict):
        return None
    for key, ad in cache.items():
        if not key.startswith("Ad:") or not isinstance(ad, dict):
            continue
        path = line(ad.get("path")) or ""
        names = {line(ad.get("legacyResourceId")), key[3:].rstrip("="), path.rpartition("/")[2]}
        if own & names:
            return apollo.resolved(cache, {"__ref": key})
    return None


def type_fields(rows: Rows, category: str) -> dict[str, Any]:
    """The property type: what the row's word means, otherwise what the category contains.

    A word that is not known stays in the rows, and so in `extra`."""
    known = meaning(rows.first(*BUILDING), KINDS)
    if known:
        rows.take(*BUILDING)
        property_type, subtype, is_new = known
        return {"property_type": property_type, "subtype": subtype, "is_new_building": is_new}
    usual: PropertyType | None = None
    if category in CATEGORIES:
        usual = CATEGORIES[category][1]
    elif category != ROOT:
        usual = "other"
    return {"property_type": usual, "subtype": None, "is_new_building": None}


def operation_fields(rows: Rows, category: str) -> dict[str, Any]:
    """Sale or rent, and the period of a rent."""
    word = fold(line(rows.first(*OPERATION)) or "")
    period = prices.period(line(rows.first("Kirayə müddəti")) or word)
    operation: Operation | None = None
    if word.startswith(("kirayə", "icarə")) or (not word and period):
        operation = "rent"
    elif word.startswith(("satılır", "satış")) or (not word and category in FOR_SALE):
        operation = "sale"
    if operation:
        rows.take(*OPERATION)
    if period:
        rows.take("Kirayə müddəti")
    return {"operation": operation, "rent_period": period if operation == "rent" else None}


def size_fields(rows: Rows, category: str) -> dict[str, float | None]:
    """The areas of the home and of its land. A label may contain the unit: "Sahə, m²", "Sahə, sot"."""
    area = None
    plot = None
    for label in [label for label in rows if label.startswith(("sahə", "torpaq"))]:
        size = areas.parse(line(rows[label]), label.rpartition(",")[2])
        if size is None:
            continue
        if size.is_land or label.startswith("torpaq") or category == LAND:
            plot = plot or size.m2
        else:
            area = area or size.m2
        del rows[label]
    return {"area_m2": area, "plot_m2": plot}
