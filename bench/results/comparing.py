"""Compares today's ratios with those that were recorded.

Both sides of a ratio were measured in the same run, so another machine or a busy one changes it little. A time depends
as much on the machine as on our code. Only ratios that have a goal are compared: those of peers are not ours.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench import Measure

#: A ratio moves by about half of it from run to run.
ALLOWED = 0.15


class NoRecord(ValueError):
    """The file does not exist, or has other content."""


class Recorded(msgspec.Struct, kw_only=True):
    """A measure as `--json` writes it. Its other fields are for people."""

    suite: str
    name: str
    value: float
    unit: str
    goal: str
    ok: bool
    spread: float = 0.0
    peer: str | None = None
    peer_value: float | None = None
    peer_spread: float = 0.0
    ratio: float | None = None


def read(file: Path) -> list[Recorded]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[Recorded])
    except (OSError, msgspec.MsgspecError) as error:
        raise NoRecord(f"{file}: no measures of `bench --json` are in it: {error}") from error


def fallen(today: Sequence[Measure], recorded: Sequence[Recorded], allowed: float = ALLOWED) -> list[str]:
    """A line for each ratio that is worse by more than `allowed`; what is only in one of the two is not compared."""
    before = {(each.suite, each.name): each.ratio for each in recorded}
    lines = []
    for measure in held(today):
        then = before.get((measure.suite, measure.name))
        now = measure.ratio
        if then and now and _is_worse(measure, then, now, allowed):
            lines.append(f"{measure.suite}: {measure.name}: {now:.2f} ×, was {then:.2f} × ({now / then - 1:+.0%})")
    return lines


def _is_worse(measure: Measure, then: float, now: float, allowed: float) -> bool:
    return now > then / (1 - allowed) if measure.goal.minimum is None else now < then * (1 - allowed)


def compared(today: Sequence[Measure], recorded: Sequence[Recorded]) -> int:
    """How many ratios there were to compare. None is no success, unless no measure has a goal for its ratio."""
    known = {(each.suite, each.name) for each in recorded if each.ratio}
    return sum(1 for each in held(today) if each.ratio and (each.suite, each.name) in known)


def held(today: Sequence[Measure]) -> list[Measure]:
    """Those whose ratio must not fall. `startup` has none: its goals are seconds."""
    return [each for each in today if each.goal.of == "ratio"]
