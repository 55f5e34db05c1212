"""Splits a search that has more results than the portal shows into parts that together have the same results."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isqrt

from realestate.crawling.search_urls import parameters, whole_number, with_parameters

#: Parts are planned to be half as large as allowed: prices are not spread evenly, and a part that is too large has to
#: be split again.
ROOM = 2
#: The most parts made at once. The first page shows too few prices for more.
MOST_PARTS = 24


class Axis(ABC):
    """A parameter by which a search can be split."""

    @abstractmethod
    def split(self, search: str, parts: int, sample: Sequence[int]) -> list[str]:
        """The search in about this many parts, or [] if it cannot be split by this parameter.

        `sample` has the values of some results."""


@dataclass(frozen=True)
class Band(Axis):
    """A range of numbers, given by two parameters, both inclusive. The outermost parts stay open, so that a result
    without the number is in exactly one part, or in none if the portal never shows it."""

    least: str
    most: str
    top: int = 10_000_000
    """Few results have a greater number."""
    is_price: bool = True
    """Whether it is the price. Then the prices on the page show how the results are spread."""

    def split(self, search: str, parts: int, sample: Sequence[int]) -> list[str]:
        low = whole_number(search, self.least)
        high = whole_number(search, self.most)
        begins = self._begins(low or 0, high, parts, sample if self.is_price else ())
        if not begins:
            return []
        lows = [low, *begins]
        highs = [begin - 1 for begin in begins] + [high]
        return [
            with_parameters(search, {self.least: each, self.most: most}) for each, most in zip(lows, highs, strict=True)
        ]

    def _begins(self, low: int, high: int | None, parts: int, sample: Sequence[int]) -> list[int]:
        """Where the second part and all later ones begin."""
        within = sorted(each for each in sample if low < each and (high is None or each <= high))
        parts = min(parts, len(within) // 2)
        if parts >= 2:
            return sorted({within[len(within) * part // parts] for part in range(1, parts)})
        ceiling = high if high is not None else max(self.top, 2 * low)
        middle = isqrt(max(low, 1) * ceiling) if ceiling > 4 * max(low, 1) else (low + ceiling + 1) // 2
        return [middle] if low < middle <= ceiling else []


@dataclass(frozen=True)
class Choice(Axis):
    """A parameter whose values together cover everything: regions, cities, categories."""

    parameter: str
    values: tuple[str, ...]
    whole: str | None = None
    """The value that means all of them, if a search has to name one: the root of a tree of categories."""

    def split(self, search: str, parts: int, sample: Sequence[int]) -> list[str]:
        if parameters(search).get(self.parameter) != self.whole:
            return []
        return [with_parameters(search, {self.parameter: value}) for value in self.values]


def parts_of(search: str, axes: Sequence[Axis], total: int, reach: int, sample: Sequence[int]) -> list[str]:
    """The parts of a search, split by the first axis that can; [] if none can."""
    wanted = min(max(2, ceil(total * ROOM / reach)), MOST_PARTS)
    for axis in axes:
        parts = axis.split(search, wanted, sample)
        if parts:
            return parts
    return []
