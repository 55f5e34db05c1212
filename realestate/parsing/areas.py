"""Areas, in square metres whatever the portal's unit."""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from realestate.parsing import numbers
from realestate.parsing.text import plain, remembered

_SQUARE_METRES = {
    Decimal(1): "m2 m² м2 м² m^2 m<sup>2</sup> mq qm sqm kvm kvmetr kvadratmetr квм mkw mtk squaremetres squaremeters "
    "metressquared meterssquared squaremetre squaremeter m2s",
    Decimal(100): "sot sotka сот сотка ar are ares",
    Decimal(10_000): "ha har hektar hektare hectare hectares",
    Decimal("0.09290304"): "sqft ft2 ft² squarefeet squarefoot ftk feetsquared",
    Decimal("4046.8564224"): "ac acr acre acres",
}
_WORTH = {name: worth for worth, names in _SQUARE_METRES.items() for name in names.split()}
#: Units in which only land is measured.
_LAND_WORTH = frozenset({Decimal(100), Decimal(10_000), Decimal("4046.8564224")})
#: As a unit stands in a text, in lower case, every i one.
UNIT = (
    r"(?:m<sup>2</sup>|m\^2|[mм][2²](?!\d)|mq|qm|sqm|kv\. ?m(?:etr)?|kv ?m|кв\.? ?м|m kw|sq\.? m|square met(?:re|er)s?"
    r"|sotka|sot|сотк?а?|hektare?|hectares?|ares?|ar|ha|sq\.? ?ft|square f(?:ee|oo)t|ft[2²]|acres?)(?![^\W\d_])"
)
_AREA = re.compile(rf"(?<![\w.,])(?P<digits>{numbers.DIGITS})[ \u00a0-]?\(?(?P<unit>{UNIT})")
_UNIT = re.compile(rf"(?<![^\W\d_]){UNIT}")
_NOT_IN_NAME = re.compile(r"[\s._]+")
#: "85 - 120 m²" is a project's.
_RANGE_BEFORE = re.compile(rf"\d ?(?:{UNIT})? ?[-–—] ?$")
_RANGE_AFTER = re.compile(rf" ?[-–—] ?{numbers.DIGITS} ?{UNIT}")


@dataclass(frozen=True, slots=True)
class Area:
    m2: float
    is_land: bool


def parse(text: str | None, unit: str | None = None) -> Area | None:
    """ "85,5 m2" is a home's, "6 sot" is land's; None without a number or a unit we know, and for a range.

    `unit` is that of the label, where the value has none: "Sahə (m2)" 85.
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
    """All of a text, in their order: a house stands on its land ("120 m², 4 sot")."""
    return list(_every(text or ""))


@remembered
def _every(text: str) -> tuple[Area, ...]:
    words = plain(text)
    told = ((of(found["digits"], found["unit"]), found.span()) for found in _AREA.finditer(words))
    return tuple(area for area, span in told if area and not _is_of_range(words, *span))


def of(value: object, unit: str | None) -> Area | None:
    """From a number and the name of its unit as JSON has them: "m²", "METRES_SQUARED", UN/CEFACT's "MTK"."""
    worth = _worth(unit) if isinstance(unit, str) else None
    size = numbers.positive(value)
    if worth is None or size is None:
        return None
    return Area(float(Decimal(str(size)) * worth), worth in _LAND_WORTH)


def _is_of_range(words: str, start: int, end: int) -> bool:
    return bool(_RANGE_BEFORE.search(words, max(0, start - 20), start) or _RANGE_AFTER.match(words, end))


@lru_cache(maxsize=256)
def _worth(unit: str) -> Decimal | None:
    return _WORTH.get(_NOT_IN_NAME.sub("", plain(unit)))
