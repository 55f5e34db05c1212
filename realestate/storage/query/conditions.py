"""A filter: conditions that must all hold."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal

#: `None` stands for a missing value, a timedelta for the time that long ago.
Value = str | bool | int | float | Decimal | datetime | timedelta | None
Operator = Literal["=", "!=", "<", "<=", ">", ">="]
#: The statuses of a listing that is on the market.
ON_THE_MARKET = ("active", "reserved")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field compared with a value. `=` and `!=` may have several values: the field is one, or none, of them.

    A missing value is equal to None only, and neither smaller nor larger than anything. Of a set such as `features`,
    `=` holds if one of the values is in it."""

    field: str
    operator: Operator
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{','.join(map(_written, self.values))}"


@dataclass(frozen=True, slots=True)
class Words:
    """Each word is the beginning of a word of the field. Case, accents and punctuation make no difference."""

    field: str
    words: tuple[str, ...]
    """As `folding.words_of` returns them."""

    def __str__(self) -> str:
        return f'{self.field}~"{" ".join(self.words)}"'


@dataclass(frozen=True, slots=True)
class Box:
    """The listing is on the map between these degrees."""

    west: float
    south: float
    east: float
    north: float

    def contains(self, longitude: float, latitude: float) -> bool:
        return self.west <= longitude <= self.east and self.south <= latitude <= self.north

    def __str__(self) -> str:
        return "bbox=" + ",".join(map(_written, (self.west, self.south, self.east, self.north)))


@dataclass(frozen=True, slots=True)
class Polygon:
    """The listing is within these corners, each with its longitude and latitude."""

    corners: tuple[tuple[float, float], ...]

    @property
    def box(self) -> Box:
        longitudes = [longitude for longitude, _ in self.corners]
        latitudes = [latitude for _, latitude in self.corners]
        return Box(min(longitudes), min(latitudes), max(longitudes), max(latitudes))

    def contains(self, longitude: float, latitude: float) -> bool:
        """Whether the edges go around the place, as PostgreSQL decides it: also where edges cross each other."""
        turns = 0
        before = self.corners[-1]
        for corner in self.corners:
            (x1, y1), (x2, y2) = before, corner
            side = (x2 - x1) * (latitude - y1) - (longitude - x1) * (y2 - y1)
            if y1 <= latitude < y2 and side > 0:
                turns += 1
            elif y2 <= latitude < y1 and side < 0:
                turns -= 1
            before = corner
        return turns != 0

    def __str__(self) -> str:
        return "polygon=" + ";".join(f"{_written(x)},{_written(y)}" for x, y in self.corners)


Condition = Comparison | Words | Box | Polygon


@dataclass(frozen=True, slots=True)
class Filter:
    """The listings for which all conditions hold. Without a condition on `status`: those on the market."""

    conditions: tuple[Condition, ...] = ()
    any_status: bool = False
    """Written as `status=any`: also listings that left the market."""
    text: str = field(default="", compare=False)
    """As it was written."""

    def __iter__(self) -> Iterator[Condition]:
        """The conditions, with the one on the market if it is not written."""
        yield from self.conditions
        if not self.any_status and not self._has_status:
            yield Comparison("status", "=", ON_THE_MARKET)

    def with_any_status(self) -> "Filter":
        """The filter without conditions on `status`: for what happened to listings that may have left the market."""
        others = tuple(
            each for each in self.conditions if not (isinstance(each, Comparison) and each.field == "status")
        )
        return replace(self, conditions=others, any_status=True)

    @property
    def _has_status(self) -> bool:
        return any(isinstance(each, Comparison) and each.field == "status" for each in self.conditions)

    def __str__(self) -> str:
        """The filter in its own language; `parse_filter` reads it again."""
        return " ".join((*map(str, self.conditions), *(("status=any",) if self.any_status else ())))


EVERYTHING = Filter()

_UNITS = {"w": 7 * 86400, "d": 86400, "h": 3600, "m": 60}


def _written(value: Value) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case timedelta():
            seconds = int(value.total_seconds())
            unit = next(unit for unit, size in _UNITS.items() if seconds % size == 0)
            return f"{seconds // _UNITS[unit]}{unit}"
        case int():
            return str(value)
        case _:
            return f"{Decimal(repr(value)):f}" if isinstance(value, float) else f"{value:f}"
