"""Measures whether the CPU time of a function grows in proportion to its input."""

import gc
from collections.abc import Callable
from contextlib import suppress
from time import process_time
from typing import TypeVar

T = TypeVar("T")

#: A time that can be measured. Shorter ones are mostly noise.
MEASURABLE = 0.05
#: Doubled input may take this many times as long: 2 if it is linear, 4 if it is quadratic.
MOST_GROWTH = 3.0
#: An input that fails is measured again, since the machine may be busy.
TRIES = 4
FIRST_SIZE = 8_000


def seconds(read: Callable[[T], object], value: T) -> float:
    """The CPU time of one call. A refused input counts as read."""
    gc.disable()  # a collection may fall into one call and not into the other
    try:
        started = process_time()
        with suppress(ValueError, RecursionError):
            read(value)
        return process_time() - started
    finally:
        gc.enable()


def grows_too_fast(read: Callable[[T], object], make: Callable[[int], T], largest: int) -> str | None:
    """Why the time is not proportional to the size, or None.

    The input is doubled until the time can be measured, or until `largest`. An input whose time would stay below the
    measurable one even if it were quadratic is not doubled further.
    """
    size = FIRST_SIZE
    before = 0.0
    taken = seconds(read, make(size))
    while taken < MEASURABLE:
        if size >= largest or taken * (largest / size) ** 2 < MEASURABLE:
            return None
        size *= 2
        before = taken
        taken = seconds(read, make(size))
    if taken <= MOST_GROWTH * before:
        return None
    half = make(size // 2)
    whole = make(size)
    ratio = 0.0
    for _ in range(TRIES):
        shorter = min(seconds(read, half) for _ in range(3))
        longer = min(seconds(read, whole) for _ in range(3))
        ratio = longer / max(shorter, 1e-6)
        if ratio <= MOST_GROWTH or longer < MEASURABLE:
            return None
    return f"{size // 2} -> {size}: {shorter:.3f} s -> {longer:.3f} s, {ratio:.1f} times"
