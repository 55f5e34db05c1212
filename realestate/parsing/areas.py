"""Areas in square metres, from any unit."""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from realestate.parsing import numbers
from realestate.parsing.text import cached, plain

_SQUARE_METRES = {
    Decimal(1): "m2 m² м2 м² m^2 m<sup>2</sup> mq qm sqm kvm kvmetr kvadratmetr квм mkw mtk squaremetres squaremeters "
    "metressquared meterssquared squaremetre squaremeter m2s",
    Decimal(100): "sot sotka сот сотка ar are ares",
    Decimal(10_000): "ha har hektar hektare hectare hectares",
    Decimal("0.09290304"): "sqft ft2 ft² squarefeet squarefoot ftk feetsquared",
    Decimal("4046.8564224"): "ac acr acre acres",
}
_M2_OF_UNIT = {name: m2 for m2, names in _SQUARE_METRES.items() for name in names.split()}
#: Only land is measured in these units (by their size in square metres).
_LAND_UNITS = frozenset({Decimal(100), Decimal(10_000), Decimal("4046.8564224")})
#: A unit in a text, as `text.plain` writes it.
UNIT = (
    r"(?:m<sup>2</sup>|m\^2|[mм][2²](?!\d)|mq|qm|sqm|kv\. ?m(?:etr)?|kv ?m|кв\.? ?м|m kw|sq\.? m|square met(?:re|er)s?"
    r"|sotka|sot|сотк?а?|hektare?|hectares?|ares?|ar|ha|sq\.? ?ft|square f(?:ee|oo)t|ft[2²]|acres?)(?![^\W\d_])"
)
_AREA = re.compile(rf"(?<![\w.,])(?P<digits>{numbers.DIGITS})[ \u00a0-]?\(?(?P<unit>{UNIT})")
_UNIT = re.compile(rf"(?<![^\W\d_]){UNIT}")
_NOT_IN_NAME = re.compile(r"[\s._]+")
#: "85 - 120 m²" is a range: the homes of a project.
_RANGE_BEFORE = re.compile(rf"\d ?(?:{UNIT})? ?[-–—] ?$")
_RANGE_AFTER = re.compile(rf" ?[-–—] ?{numbers.DIGITS} ?{UNIT}")


@dataclass(frozen=True, slots=True)
class Area:
    """An area, and whether its unit is one for land."""

    m2: float
    is_land: bool


def parse(text: str | None, unit: str | None = None) -> Area | None:
    """Return the first area of a text: of a home ("85,5 m2") or of land ("6 sot").

    Returns None without a number or a known unit, and for a range. `unit` is the unit in the label, for a value
    without one: "Sahə (m2)" 85.
    """
    if not text:
        return None
    found = _every(text)
    if found:
        return found[0]
    words = plain(text)
    named = _UNIT.search(words)
    if named and _AREA.search(words) is None:
        return of(words[: named.start()] + " " + words[named.end() :], named[0])
    return of(text, unit) if unit and not named else None


def every(text: str | None) -> list[Area]:
    """Return all areas of a text in their order: "120 m², 4 sot" is a house and its land."""
    return list(_every(text or ""))


@cached
def _every(text: str) -> tuple[Area, ...]:
    words = plain(text)
    areas = []
    for found in _AREA.finditer(words):
        area = of(found["digits"], found["unit"])
        if area and not _is_part_of_range(words, *found.span()):
            areas.append(area)
    return tuple(areas)


def of(value: object, unit: str | None) -> Area | None:
    """Return the area of a number and the name of its unit, as in JSON: "m²", "METRES_SQUARED", UN/CEFACT "MTK"."""
    m2_of_unit = _m2_of(unit) if isinstance(unit, str) else None
    size = numbers.positive(value)
    if m2_of_unit is None or size is None:
        return None
    return Area(float(Decimal(str(size)) * m2_of_unit), m2_of_unit in _LAND_UNITS)


def _is_part_of_range(words: str, start: int, end: int) -> bool:
    return bool(_RANGE_BEFORE.search(words, max(0, start - 20), start) or _RANGE_AFTER.match(words, end))


@lru_cache(maxsize=256)
def _m2_of(unit: str) -> Decimal | None:
    return _M2_OF_UNIT.get(_NOT_IN_NAME.sub("", plain(unit)))
