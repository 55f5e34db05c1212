"""The hedonic price index: how the price of the same home changes, while other homes come on the market.

A median moves too when only the mix changes: if cheap districts advertise more, it falls although no home became
cheaper. The index is a regression of the logarithm of the price on the properties of the homes and on the week they
came; it compares like with like.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A week with fewer new homes has no index.
FEWEST = 5


@dataclass(frozen=True, slots=True)
class Sales:
    """Homes as the regression sees them, as arrays of one length."""

    week: "NDArray[np.int64]"
    price: "NDArray[np.float64]"
    size: "NDArray[np.float64]"
    words: "tuple[NDArray[np.int64], ...]"
    """District, type, rooms, condition and so on: equal numbers for equal words. A missing word is one, too."""

    def of(self, rows: "NDArray[np.int64] | NDArray[np.bool_]") -> "Sales":
        """Some of the homes."""
        return Sales(self.week[rows], self.price[rows], self.size[rows], tuple(each[rows] for each in self.words))


def price_index(sales: Sales, weeks: int) -> list[float | None]:
    """Return the index of each week; 100 in the first week that has enough homes. None for a week with too few."""
    import numpy as np

    counts = np.bincount(sales.week, minlength=weeks)
    known = np.flatnonzero(counts >= FEWEST)
    index: list[float | None] = [None] * weeks
    effects = week_effects(sales.of(counts[sales.week] >= FEWEST), known) if len(known) else ()
    for week, effect in zip(known.tolist(), effects, strict=True):
        index[week] = round(100 * float(np.exp(effect)), 2)
    return index


def week_effects(sales: Sales, weeks: "NDArray[np.int64]") -> "NDArray[np.float64]":
    """Return the effect of each of these weeks on the logarithm of the price; that of the first week is 0. All homes
    came in one of them."""
    import numpy as np
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import lsqr, norm

    matrix = design(sales, weeks)
    price = np.log(sales.price)
    # With columns of the same length, the solver needs far fewer steps.
    lengths = norm(matrix, axis=0)
    solved = lsqr(matrix @ diags_array(1 / lengths), price - price.mean(), atol=1e-10, btol=1e-10, iter_lim=5_000)[0]
    return np.concatenate([[0.0], (solved / lengths)[1 : len(weeks)]])


def design(sales: Sales, weeks: "NDArray[np.int64]") -> Any:
    """Return the regression's matrix: a constant, each week but the first, the logarithm of the size, and each word but
    the first of its column."""
    import numpy as np
    from scipy.sparse import csr_array

    count = len(sales.week)
    everyone = np.arange(count)
    rows = [everyone, everyone]
    places = [np.zeros(count, dtype="int64"), np.full(count, len(weeks))]
    values = [np.ones(count), np.log(sales.size)]
    width = len(weeks) + 1
    for codes, first in ((sales.week, 1), *((each, 0) for each in sales.words)):
        _, number = np.unique(codes, return_inverse=True)
        others = np.flatnonzero(number)  # the first one is in the constant
        rows.append(others)
        places.append(number[others] if first else number[others] - 1 + width)
        values.append(np.ones(len(others)))
        if not first:
            width += int(number.max(initial=0))
    return csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(places))), shape=(count, width))
