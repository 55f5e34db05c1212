"""The meaning of the words that emlak.az uses."""

from collections.abc import Mapping
from typing import Any, TypeVar

from realestate.items import Operation, PropertyType
from realestate.parsing import areas
from realestate.parsing.rows import Rows
from realestate.parsing.text import fold
from realestate.parsing.words import meaning

T = TypeVar("T")

Kind = tuple[PropertyType | None, str | None, bool | None]

#: "Əmlakın növü" (type of property) -> property type, subtype, is it a new building?
_KINDS: dict[str, Kind] = {
    "Yeni tikili": ("apartment", "new_building", True),
    "Köhnə tikili": ("apartment", "old_building", False),
    "Həyət evi": ("house", "yard_house", None),
    "Bağ evi": ("house", "garden_house", None),
    "Villa": ("house", "villa", None),
    "Ofis": ("office", None, None),
    "Qaraj": ("garage", None, None),
    "Torpaq": ("land", None, None),
    "Obyekt": ("commercial", None, None),
}
KINDS = {fold(label): kind for label, kind in _KINDS.items()}
CONDITIONS = {
    fold("Təmirsiz"): "unrenovated",
    fold("Orta təmirli"): "average",
    fold("Yaxşı təmirli"): "good",
    fold("Əla təmirli"): "excellent",
}
DEEDS = {fold("Çıxarış (Kupça)"): True, fold("Müqavilə"): False}
FOR_SALE = (fold("Satılır"), fold("Satilir"), fold("Satış"))
FOR_RENT = (fold("İcarəyə verilir"), fold("Kirayə"), fold("İcarə"))
EXPIRED = fold("Bu elanın vaxtı bitib")
UPDATED = fold("Yenilənmə")
AGENT = fold("Vasitəçi")
OWNER = fold("Mülkiyyətçi")


def operation_of(title: str) -> Operation | None:
    """Sale or rent, by the words of the title. They may stand anywhere in it ("Təcili satılır …")."""
    words = fold(title)
    if any(word in words for word in FOR_SALE):
        return "sale"
    return "rent" if any(word in words for word in FOR_RENT) else None


def known(rows: Rows, label: str, words: Mapping[str, T]) -> T | None:
    """The meaning of a row's value. A value that is not known stays in the rows, and so in `extra`."""
    value = meaning(rows.first(label), words)
    if value is not None:
        rows.take(label)
    return value


def kind_of(rows: Rows) -> dict[str, Any]:
    """The property type, subtype and size. A type that is not known is `other`."""
    unknown: Kind = ("other" if rows.first("Əmlakın növü") else None, None, None)
    kind, subtype, is_new = known(rows, "Əmlakın növü", KINDS) or unknown
    return {"property_type": kind, "subtype": subtype, "is_new_building": is_new} | _size(rows, kind)


def _size(rows: Rows, kind: PropertyType | None) -> dict[str, float]:
    """The area of the home; of its land if the unit is one for land, or if it is only land."""
    area = areas.parse(rows.first("Sahə"))
    if not area:
        return {}
    rows.take("Sahə")
    is_land = area.is_land or kind == "land"
    return {"plot_m2": area.m2} if is_land else {"area_m2": area.m2}


def seller_of(text: str | None) -> Any:
    """Agency or owner, by the words beside the seller's name."""
    folded = fold(text or "")
    if AGENT in folded:
        return "agency"
    return "owner" if OWNER in folded else None
