"""Why two listings are one home, or are not: every field, and what it counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from realestate.homes.facts import Facts
from realestate.homes.scorer import Columns, Parameters, features, scores
from realestate.homes.vetoes import vetoes

#: Contributions to the log odds that are smaller are not worth a line.
_LEAST = 0.05


@dataclass(frozen=True, slots=True)
class Reasons:
    """What speaks for and against two listings being one home."""

    score: float
    """The probability, before blocks and pins are considered."""
    vetoes: Sequence[str]
    """Contradictions. One is enough to keep the two apart."""
    counted: Sequence[tuple[str, float]]
    """What agrees or differs, and how much it counts in log odds, the most first."""


def reasons(a: Facts, b: Facts, parameters: Parameters, *, in_block: bool = False) -> Reasons:
    """Return the reasons for and against two listings being one home."""
    import numpy as np

    one = np.array([0])
    found = features(Columns.of([a, b]), one, one + 1, np.array([in_block]))
    counted = {name: parameters.weights.get(name, 0.0) * float(values[0]) for name, values in found.items()}
    return Reasons(
        score=float(scores(parameters, found)[0]),
        vetoes=vetoes(a, b),
        counted=sorted(
            ((name, round(value, 2)) for name, value in counted.items() if abs(value) >= _LEAST),
            key=lambda each: -abs(each[1]),
        ),
    )
