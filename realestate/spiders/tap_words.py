"""What tap's words mean, in the address of a search, its queries and an advert's rows."""

import re
from base64 import b64encode
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from realestate.items import Operation, PropertyType
from realestate.parsing import apollo, areas, numbers, prices, rows
from realestate.parsing.embedded import at, decoded, next_data
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
ROOT, LAND = "dasinmaz-emlak", "torpaq-sahesi"
#: Categories by the last word of their address: the portal's number, and what they hold.
CATEGORIES: dict[str, tuple[int, PropertyType]] = {
    "menziller": (635, "apartment"),
    "heyet-evleri": (601, "house"),
    LAND: (602, "land"),
    "obyektler-ve-ofisler": (605, "commercial"),
    "qarajlar": (603, "garage"),
}
BUILDING = ("Binanın tipi", "Əmlakın növü", "Obyektin növü")
DEAL = ("Elanın tipi", "Elanın növü", "Elan növü")
#: They have no word for sale or rent unless it is a rent.
FOR_SALE = (LAND, "qarajlar")
#: The building's own word -> type, subtype, is it new?
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
OVER = frozenset({"EXPIRED", "ARCHIVED", "DELETED", "REMOVED"})


def asked_by(search: str) -> dict[str, Any]:
    """A web page's address as the query's variables."""
    parts = urlsplit(search)
    category = parts.path.rstrip("/").rpartition("/")[2]
    if category not in CATEGORIES:
        raise ValueError(f"no category of tap.az that we know: {parts.path}")
    filters: dict[str, Any] = {"categoryId": global_id("Category", CATEGORIES[category][0])}
    asked: dict[str, Any] = {"filters": filters}
    least: list[int | None] = []
    most: list[int | None] = []
    options = []
    ends = iter((least, most))
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name == "q[price][]":
            next(ends, most).append(numbers.whole(value))
        elif name in ("price_from", "price_to"):
            (least if name == "price_from" else most).append(numbers.whole(value))
        elif name == "q[region_id]" and value:
            filters["regionId"] = global_id("Region", value)
        elif option := re.fullmatch(r"p\[(\d+)\](?:\[\])?", name):
            options.append({"legacyId": int(option[1]), "value": value})
        elif name in ("cursor", "q[keywords]"):
            asked["after" if name == "cursor" else "keywords"] = value or None
        elif name.startswith(("q[", "p[")) and value:
            raise ValueError(f"cannot search tap.az by {name}")
    if least or most:
        filters["price"] = {"from": max(filter(None, least), default=None), "to": min(filter(None, most), default=None)}
    if options:
        filters["propertyOptions"] = {"collection": options}
    return asked


def global_id(kind: str, number: object) -> str:
    return b64encode(f"gid://tap/{kind}/{number}".encode()).decode().rstrip("=")


def cache_of(document: str) -> Any:
    return decoded(at(next_data(document), "apolloState"))


def own_advert(cache: Any, ref: str) -> Any:
    """The advert of this number; the cache holds similar ones too."""
    own = {ref, global_id("Ad", ref), f"gid://tap/Ad/{ref}"}
    for key, ad in cache.items() if isinstance(cache, dict) else ():
        if key.startswith("Ad:") and isinstance(ad, dict):
            path = line(ad.get("path")) or ""
            if not own.isdisjoint((line(ad.get("legacyResourceId")), key[3:].rstrip("="), path.rpartition("/")[2])):
                return apollo.resolved(cache, {"__ref": key})
    return None


def kind_of(told: rows.Rows, category: str) -> dict[str, Any]:
    """What the row's word means, else what the category holds; a word we do not know stays among the rows, and so in
    `extra`."""
    _, usual = CATEGORIES.get(category, (None, None if category == ROOT else "other"))
    known = meaning(told.first(*BUILDING), KINDS)
    if known:
        told.take(*BUILDING)
    kind, subtype, is_new = known or (usual, None, None)
    return {"property_type": kind, "subtype": subtype, "is_new_building": is_new}


def deal_of(told: rows.Rows, category: str) -> dict[str, Any]:
    word = fold(line(told.first(*DEAL)) or "")
    lasts = prices.period(line(told.first("Kirayə müddəti")) or word)
    operation: Operation | None = None
    if word.startswith(("kirayə", "icarə")) or (not word and lasts):
        operation = "rent"
    elif word.startswith(("satılır", "satış")) or (not word and category in FOR_SALE):
        operation = "sale"
    if operation:
        told.take(*DEAL)
    if lasts:
        told.take("Kirayə müddəti")
    return {"operation": operation, "rent_period": lasts if operation == "rent" else None}


def sizes_of(told: rows.Rows, category: str) -> dict[str, float | None]:
    """Of the home and of its land; a label may name the unit: "Sahə, m²", "Sahə, sot". Land has nothing but itself."""
    area = plot = None
    for label in [label for label in told if label.startswith(("sahə", "torpaq"))]:
        size = areas.parse(line(told[label]), label.rpartition(",")[2])
        if size and (size.is_land or label.startswith("torpaq") or category == LAND):
            plot = plot or size.m2
        elif size:
            area = area or size.m2
        if size:
            del told[label]
    return {"area_m2": area, "plot_m2": plot}
