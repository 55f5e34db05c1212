"""A search that finds more than the portal shows, in parts that together find the same."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isqrt

from realestate.crawling.searches import parameters, whole_number, with_parameters

#: A part is meant to be half as long as it may be: the market is not even, and each miss costs a request more.
ROOM = 2
#: Parts made at once. The page that tells the total shows too few prices for more.
MOST_PARTS = 24


class Axis(ABC):
    """Something by which a search can be cut."""

    @abstractmethod
    def cut(self, search: str, parts: int, sample: Sequence[int]) -> list[str]:
        """The search in about so many parts, or [] if it cannot be cut by this. `sample` is what some results have."""


@dataclass(frozen=True)
class Band(Axis):
    """A number within two parameters, both included. The outermost parts stay open: whatever the portal makes of a
    result without the number, it does once."""

    least: str
    most: str
    top: int = 10_000_000
    """Few results have more."""
    is_price: bool = True
    """Whether a page's prices tell how the results are spread."""

    def cut(self, search: str, parts: int, sample: Sequence[int]) -> list[str]:
        low, high = whole_number(search, self.least), whole_number(search, self.most)
        begins = self._begins(low or 0, high, parts, sample if self.is_price else ())
        if not begins:
            return []
        lows = [low, *begins]
        highs = [begin - 1 for begin in begins] + [high]
        return [
            with_parameters(search, {self.least: each, self.most: most}) for each, most in zip(lows, highs, strict=True)
        ]

    def _begins(self, low: int, high: int | None, parts: int, sample: Sequence[int]) -> list[int]:
        """Where the parts but for the first begin."""
        within = sorted(each for each in sample if low < each and (high is None or each <= high))
        parts = min(parts, len(within) // 2)
        if parts >= 2:
            return sorted({within[len(within) * part // parts] for part in range(1, parts)})
        ceiling = high if high is not None else max(self.top, 2 * low)
        middle = isqrt(max(low, 1) * ceiling) if ceiling > 4 * max(low, 1) else (low + ceiling + 1) // 2
        return [middle] if low < middle <= ceiling else []


@dataclass(frozen=True)
class Choice(Axis):
    """A parameter whose values, together, are everything: regions, cities, categories."""

    parameter: str
    values: tuple[str, ...]
    whole: str | None = None
    """The value that stands for all of them, where a search has to name one: the root of a tree."""

    def cut(self, search: str, parts: int, sample: Sequence[int]) -> list[str]:
        if parameters(search).get(self.parameter) != self.whole:
            return []
        return [with_parameters(search, {self.parameter: value}) for value in self.values]


def parts_of(search: str, axes: Sequence[Axis], total: int, reach: int, sample: Sequence[int]) -> list[str]:
    """The parts of a search, by the first axis that can cut it; [] if none can."""
    wanted = min(max(2, ceil(total * ROOM / reach)), MOST_PARTS)
    return next((parts for axis in axes if (parts := axis.cut(search, wanted, sample))), [])
