"""Areas, in square metres whatever the portal's unit."""

import re
from dataclasses import dataclass
from decimal import Decimal

from realestate.parsing import numbers
from realestate.parsing.text import fold

_SQUARE_METRES = {
    "m2": Decimal(1),
    "m²": Decimal(1),
    "м2": Decimal(1),
    "м²": Decimal(1),
    "kvm": Decimal(1),
    "sot": Decimal(100),
    "ar": Decimal(100),
    "ha": Decimal(10_000),
    "hektar": Decimal(10_000),
    "sqft": Decimal("0.09290304"),
}
_UNIT = re.compile(r"(?<![a-zəı])(m2|m²|м2|м²|kv\.? ?m|sot|hektar|ar|ha|sq ?ft)(?![a-z])")
#: Units in which only land is measured.
_LAND = frozenset({"sot", "ar", "ha", "hektar"})


@dataclass(frozen=True, slots=True)
class Area:
    m2: float
    is_land: bool


def parse(text: str | None) -> Area | None:
    """ "85,5 m2" is a home's, "6 sot" is land's; None without a number or a unit we know."""
    number = numbers.first(text)
    unit = _UNIT.search(fold(text or ""))
    if number is None or number <= 0 or unit is None:
        return None
    name = unit[1].replace(".", "").replace(" ", "")
    return Area(float(number * _SQUARE_METRES[name]), name in _LAND)
