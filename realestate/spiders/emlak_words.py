"""What emlak's words mean."""

from collections.abc import Mapping
from typing import Any, TypeVar

from realestate.items import Operation, PropertyType
from realestate.parsing import areas
from realestate.parsing.rows import Rows
from realestate.parsing.text import fold
from realestate.parsing.words import meaning

T = TypeVar("T")

Kind = tuple[PropertyType | None, str | None, bool | None]

#: "Əmlakın növü" -> type, subtype, is it a new building?
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
SELLING = tuple(map(fold, ("Satılır", "Satilir", "Satış")))
LETTING = tuple(map(fold, ("İcarəyə verilir", "Kirayə", "İcarə")))
EXPIRED = fold("Bu elanın vaxtı bitib")
UPDATED = fold("Yenilənmə")
AGENT, OWNER = fold("Vasitəçi"), fold("Mülkiyyətçi")


def operation_of(title: str) -> Operation | None:
    """By its words: a title need not begin with them ("Təcili satılır …")."""
    words = fold(title)
    if any(word in words for word in SELLING):
        return "sale"
    return "rent" if any(word in words for word in LETTING) else None


def known(told: Rows, label: str, words: Mapping[str, T]) -> T | None:
    """What the row's value means; a value we do not know stays among the rows, and so in `extra`."""
    known = meaning(told.first(label), words)
    if known is not None:
        told.take(label)
    return known


def kind_of(told: Rows) -> dict[str, Any]:
    """What it is and how large. A kind we have no word for is another, and no kind is none."""
    unknown: Kind = ("other" if told.first("Əmlakın növü") else None, None, None)
    kind, subtype, is_new = known(told, "Əmlakın növü", KINDS) or unknown
    return {"property_type": kind, "subtype": subtype, "is_new_building": is_new} | _size(told, kind)


def _size(told: Rows, kind: PropertyType | None) -> dict[str, float]:
    """Of the home; of land where its unit tells so, or there is nothing else."""
    area = areas.parse(told.first("Sahə"))
    if not area:
        return {}
    told.take("Sahə")
    return {"plot_m2" if area.is_land or kind == "land" else "area_m2": area.m2}


def seller_of(text: str | None) -> Any:
    folded = fold(text or "")
    if AGENT in folded:
        return "agency"
    return "owner" if OWNER in folded else None
