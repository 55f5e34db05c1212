"""Azerbaijani addresses: city, district, settlement, metro station and street, by the ending of each part."""

import re
from dataclasses import dataclass

from realestate.parsing.text import fold, line

#: What a part is, by its last word as `text.fold` writes it.
_FIELD_OF_ENDING = {
    **dict.fromkeys(("ş.", "ş", "şəhəri", "şəh."), "city"),
    **dict.fromkeys(("r.", "rayonu", "ray."), "district"),
    **dict.fromkeys(("q.", "qəsəbəsi", "qəs.", "kəndi"), "settlement"),
    **dict.fromkeys(("m.", "metrosu", "metro", "m/st", "m/st."), "metro_station"),
}
#: Cities, which are written without such an ending.
_CITIES = frozenset(
    {"bakı", "sumqayıt", "gəncə", "xırdalan", "abşeron", "naxçıvan", "mingəçevir", "şirvan", "lənkəran", "şəki", "quba"}
    | {"qusar", "xaçmaz", "qəbələ", "şamaxı", "ismayıllı", "yevlax", "bərdə", "salyan", "masallı", "zaqatala", "göyçay"}
)
_METRO_AT_END = re.compile(r"(?:tikili|evi|ofis|obyekt|qaraj|villa|torpaq)\s+(.+?) m\.$", re.IGNORECASE)
#: Only the end of a title is searched: a long title would take quadratic time.
_LONGEST_END = 100
_STREET = re.compile(r"\b(küç|pr|prospekti|küçəsi)\b")


@dataclass(frozen=True, slots=True)
class Place:
    """The parts of an address."""

    city: str | None = None
    district: str | None = None
    settlement: str | None = None
    metro_station: str | None = None
    street: str | None = None


def parse(address: str | None) -> Place:
    """Return the parts of an address such as "Bakı ş., Nəsimi r., 28 May m., Füzuli küç. 12"."""
    found: dict[str, str] = {}
    for part in (address or "").split(","):
        if (cleaned := line(part)) and (field := _field(cleaned)):
            name = cleaned if field == "street" or fold(cleaned) in _CITIES else cleaned.rpartition(" ")[0]
            found.setdefault(field, name)
    return Place(**found)


def metro_at_end(title: str | None) -> str | None:
    """Return the metro station at the end of a title: "Satılır 3 otaqlı 85 m2 yeni tikili Nizami m."."""
    found = _METRO_AT_END.search((line(title) or "")[-_LONGEST_END:])
    return found[1] if found else None


def _field(part: str) -> str | None:
    """Return the field that a part belongs to. "Azadlıq pr." also ends with "r.", but is a street."""
    folded = fold(part)
    if folded in _CITIES:
        return "city"
    name, _, last = folded.rpartition(" ")
    if name and last in _FIELD_OF_ENDING:
        return _FIELD_OF_ENDING[last]
    return "street" if _STREET.search(folded) else None
