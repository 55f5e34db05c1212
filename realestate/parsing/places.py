"""Azerbaijani addresses: each part tells by its ending what it is."""

import re
from dataclasses import dataclass

from realestate.parsing.text import fold, line

#: By their folded last word.
_KINDS = {
    **dict.fromkeys(("ş.", "ş", "şəhəri", "şəh."), "city"),
    **dict.fromkeys(("r.", "rayonu", "ray."), "district"),
    **dict.fromkeys(("q.", "qəsəbəsi", "qəs.", "kəndi"), "settlement"),
    **dict.fromkeys(("m.", "metrosu", "metro", "m/st", "m/st."), "metro_station"),
}
#: Written without a word for what they are.
_CITIES = frozenset(
    {"bakı", "sumqayıt", "gəncə", "xırdalan", "abşeron", "naxçıvan", "mingəçevir", "şirvan", "lənkəran", "şəki", "quba"}
    | {"qusar", "xaçmaz", "qəbələ", "şamaxı", "ismayıllı", "yevlax", "bərdə", "salyan", "masallı", "zaqatala", "göyçay"}
)
_METRO_AT_END = re.compile(r"(?:tikili|evi|ofis|obyekt|qaraj|villa|torpaq)\s+(.+?) m\.$", re.IGNORECASE)
#: No station's name is longer; a long title full of such words would be read again from each of them.
_LONGEST_END = 100
_STREET = re.compile(r"\b(küç|pr|prospekti|küçəsi)\b")


@dataclass(frozen=True, slots=True)
class Place:
    city: str | None = None
    district: str | None = None
    settlement: str | None = None
    metro_station: str | None = None
    street: str | None = None


def parse(address: str | None) -> Place:
    """ "Bakı ş., Nəsimi r., 28 May m., Füzuli küç. 12"."""
    found: dict[str, str] = {}
    for part in (address or "").split(","):
        if (cleaned := line(part)) and (kind := _kind(cleaned)):
            name = cleaned if kind == "street" or fold(cleaned) in _CITIES else cleaned.rpartition(" ")[0]
            found.setdefault(kind, name)
    return Place(**found)


def metro_at_end(title: str | None) -> str | None:
    """ "Satılır 3 otaqlı 85 m2 yeni tikili Nizami m." ends with a metro station."""
    found = _METRO_AT_END.search((line(title) or "")[-_LONGEST_END:])
    return found[1] if found else None


def _kind(part: str) -> str | None:
    """By its last word: "Azadlıq pr." ends with "r." too and is a street."""
    folded = fold(part)
    if folded in _CITIES:
        return "city"
    name, _, last = folded.rpartition(" ")
    if name and last in _KINDS:
        return _KINDS[last]
    return "street" if _STREET.search(folded) else None
