"""The data of a chart, as chart.js reads it. Each chart can also be read as a table, CSV and a picture."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Value = float | int | None


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart. `steps` holds a value until the next one; `bars` is for counts."""

    label: str
    values: Sequence[Value]
    kind: Literal["line", "steps", "bars", "points", "edge"] = "line"
    unit: str = ""
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Chart:
    """Values over time. `times` are seconds since 1970; `band` names two series that are the edges of an area."""

    name: str
    title: str
    times: Sequence[float]
    series: Sequence[Series]
    band: tuple[int, int] | None = None
    marks: Sequence[tuple[float, str]] = field(default=())
    """Times with a word, such as `delisted`."""
    limits: tuple[float, float] | None = None
    """The lowest and the highest value of the axis; by default those of the values, with some room."""

    def as_data(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "times": list(self.times),
            "series": [
                {
                    "label": each.label,
                    "values": list(each.values),
                    "kind": each.kind,
                    "unit": each.unit,
                    "digits": each.digits,
                }
                for each in self.series
            ],
            "band": self.band,
            "marks": list(self.marks),
            "limits": self.limits,
        }

    @property
    def unit(self) -> str:
        """The unit of the values; empty if they are counted, or have several."""
        units = {each.unit for each in self.series}
        return units.pop() if len(units) == 1 else ""

    @property
    def is_empty(self) -> bool:
        return not self.times
