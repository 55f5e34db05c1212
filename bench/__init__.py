"""Measurements beside peers: suites of measures, each against a peer in the same run.

A suite is a module of this package, named on the command line, with a function `measures(context)`; what the suites
share is in `rig/`.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Literal, Self, TypeVar

import msgspec

from bench.rig.context import Context
from realestate import embedded

__all__ = [
    "Context",
    "DoesNotCount",
    "Goal",
    "Measure",
    "NoSuchSuite",
    "Samples",
    "as_json",
    "chosen",
    "in_turns",
    "interleaved",
    "run",
    "suites",
]

T = TypeVar("T")
ROUNDS = 5
QUICK_ROUNDS = 2
#: A quick run shows that everything works; its sizes are too small for some goals.
QUICK_SCALE = 0.2


class NoSuchSuite(ValueError):
    """There is no suite with this name; the text lists all."""


class DoesNotCount(RuntimeError):
    """What was measured did not do the whole work; the text says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The goal of a measure: for its value, or for its ratio to the peer's. Without a bound it is context."""

    of: Literal["value", "ratio"] = "value"
    minimum: float | None = None
    maximum: float | None = None

    def __str__(self) -> str:
        bounds = ((sign, bound) for sign, bound in (("≥", self.minimum), ("≤", self.maximum)) if bound is not None)
        return " and ".join(f"{sign} {bound:g}" + (" ×" if self.of == "ratio" else "") for sign, bound in bounds)

    def holds(self, value: float) -> bool:
        above = self.minimum is None or value >= self.minimum
        return above and (self.maximum is None or value <= self.maximum)


@dataclass(frozen=True, slots=True)
class Samples:
    """The same thing measured several times."""

    values: Sequence[float]

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def spread(self) -> float:
        """The distance between the lowest and the highest value, as a share of the median."""
        return (max(self.values) - min(self.values)) / self.median if self.median else 0.0

    def beside(self, peers: "Samples") -> float | None:
        """How many times the peer's value, by the median of the rounds.

        What slows the machine for minutes slows both sides of a round. None if one side has more rounds than the other,
        or if a value of the peer is 0.
        """
        if len(self.values) != len(peers.values) or not all(peers.values):
            return None
        return median(ours / peer for ours, peer in zip(self.values, peers.values, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number beside its peer's. `ok` follows from the goal."""

    name: str
    value: float
    unit: str
    goal: Goal
    suite: str = ""
    peer: str | None = None
    peer_value: float | None = None
    spread: float = 0.0
    peer_spread: float = 0.0
    ratio_of_rounds: float | None = None

    @classmethod
    def of(cls, name: str, unit: str, goal: Goal, ours: Samples, peer: str, peers: Samples) -> Self:
        return cls(
            name=name,
            value=ours.median,
            unit=unit,
            goal=goal,
            peer=peer,
            peer_value=peers.median,
            spread=ours.spread,
            peer_spread=peers.spread,
            ratio_of_rounds=ours.beside(peers),
        )

    @property
    def ratio(self) -> float | None:
        if self.ratio_of_rounds is not None:
            return self.ratio_of_rounds
        return self.value / self.peer_value if self.peer_value else None

    @property
    def ok(self) -> bool:
        """A goal for the ratio is missed if there is no peer to compare with."""
        measured = self.value if self.goal.of == "value" else self.ratio
        return measured is not None and self.goal.holds(measured)

    def as_record(self) -> dict[str, Any]:
        names = ("suite", "name", "value", "unit", "spread", "peer", "peer_value", "peer_spread", "ratio")
        return {**{name: getattr(self, name) for name in names}, "goal": str(self.goal), "ok": self.ok}


def as_json(measures: Sequence[Measure]) -> str:
    return msgspec.json.format(msgspec.json.encode([each.as_record() for each in measures]), indent=2).decode()


def interleaved(ours: Callable[[], float], peer: Callable[[], float], rounds: int) -> tuple[Samples, Samples]:
    """Measure both in turns, so that a disturbance of the machine hits both. Each begins every other round."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            found[which].append((ours, peer)[which]())
    return Samples(found[0]), Samples(found[1])


def in_turns(ways: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """As `interleaved`, for more than two: every other round in the opposite order. A turn takes minutes, so each is
    announced."""
    found: dict[str, list[T]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in list(ways)[:: 1 if number % 2 == 0 else -1]:
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr)
            found[name].append(ways[name]())
    return found


def suites() -> list[str]:
    """The names of all suites."""
    modules = iter_modules(__path__)
    return sorted(module.name for module in modules if not module.ispkg and module.name != "__main__")


def chosen(names: Sequence[str]) -> list[str]:
    """The suites with these names, or all."""
    if unknown := [name for name in names if name not in suites()]:
        raise NoSuchSuite(f"no suite {unknown[0]!r}; there are: {', '.join(suites())}")
    return list(names) or suites()


def run(suite: str, show: Callable[[Measure], None], *, quick: bool = False) -> list[Measure]:
    """Run the suite and return its measures. `show` is called with each as soon as it is there."""
    (name,) = chosen([suite])
    measures: Callable[[Context], Iterator[Measure]] = import_module(f"{__name__}.{name}").measures
    found = []
    with fresh(QUICK_SCALE if quick else 1.0, QUICK_ROUNDS if quick else ROUNDS) as context:
        for measure in measures(context):
            found.append(replace(measure, suite=suite))
            show(found[-1])
    return found


@contextmanager
def fresh(scale: float, rounds: int) -> Iterator[Context]:
    """A context with its own services, in a temporary folder."""
    with TemporaryDirectory(prefix="realestate-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        with (
            embedded.services(home / "services") as services,
            Context(services, home, scale=scale, rounds=rounds) as context,
        ):
            yield context
