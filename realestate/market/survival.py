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
    survived = 1.0
    for day in np.unique(days[has_left]):
        at_risk = int(((entered < day) & (days >= day)).sum())
        survived *= 1 - int((has_left & (days == day)).sum()) / at_risk
        if survived <= 0.5:
            return float(day)
    return None
