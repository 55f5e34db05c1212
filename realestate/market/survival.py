"""The median time on the market, although many homes are still on it: the estimate of Kaplan and Meier."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def median_days(
    days: "NDArray[np.float64]", has_left: "NDArray[np.bool_]", entered: "NDArray[np.float64] | None" = None
) -> float | None:
    """Return after how many days half of the homes have left; None if fewer than half leave within what was seen.

    `days` is how long each was on the market until it left or was last seen. `entered` is how long it had been on the
    market already when the observation began: a home that had left before could not be seen."""
    import numpy as np

    if entered is None:
        entered = np.zeros(len(days))
    seen = days > entered
    days, has_left, entered = days[seen], has_left[seen], entered[seen]
    each_day, leaving = np.unique(days[has_left], return_counts=True)
    has_entered = np.searchsorted(np.sort(entered), each_day, side="left")
    has_ended = np.searchsorted(np.sort(days), each_day, side="left")
    survived = np.cumprod(1 - leaving / (has_entered - has_ended))
    below = np.flatnonzero(survived <= 0.5)
    return float(each_day[below[0]]) if len(below) else None
