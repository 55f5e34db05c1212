"""The hedonic price index: how the price of the same home changes, while other homes come on the market.

A median moves too when only the mix changes: if cheap districts advertise more, it falls although no home became
cheaper. The index is a regression of the logarithm of the price on the properties of the homes and on the week they
came; it compares like with like.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A week with fewer new homes has no index.
FEWEST = 5


@dataclass(frozen=True, slots=True)
class Sold:
    """A home as the regression sees it. Words are what it belongs to; a missing one is a word of its own."""

    week: int
    price: float
    size: float
    words: tuple[str, ...]
    """District, type, rooms, condition and so on, always in the same order."""


def price_index(homes: Sequence[Sold], weeks: int) -> list[float | None]:
    """Return the index of each week; 100 in the first week that has enough homes. None for a week with too few."""
    import numpy as np

    counts = np.bincount([each.week for each in homes], minlength=weeks) if homes else np.zeros(weeks)
    known = [week for week in range(weeks) if counts[week] >= FEWEST]
    if len(known) < 2:
        return [100.0 if week in known else None for week in range(weeks)]
    effects = week_effects([each for each in homes if counts[each.week] >= FEWEST], known)
    index: list[float | None] = [None] * weeks
    for week, effect in zip(known, effects, strict=True):
        index[week] = round(100 * float(np.exp(effect)), 2)
    return index


def week_effects(homes: Sequence[Sold], weeks: Sequence[int]) -> "NDArray[np.float64]":
    """Return the effect of each week on the logarithm of the price; that of the first week is 0."""
    import numpy as np
    from scipy.sparse.linalg import lsqr

    matrix = design(homes, weeks)
    price = np.log([each.price for each in homes])
    middle = price.mean()
    solved = lsqr(matrix, price - middle, atol=1e-12, btol=1e-12, iter_lim=5_000)[0]
    return np.concatenate([[0.0], solved[1 : len(weeks)]])


def design(homes: Sequence[Sold], weeks: Sequence[int]) -> "object":
    """Return the regression's matrix: a constant, each week but the first, the logarithm of the size, and each word but
    the first of its column."""
    import numpy as np
    from scipy.sparse import csr_array

    columns = {("week", week): at for at, week in enumerate(weeks)}
    columns["size", 0] = len(columns)
    words: dict[tuple[int, str], int] = {}
    firsts: dict[int, str] = {}
    rows: list[int] = []
    places: list[int] = []
    values: list[float] = []

    def add(row: int, place: int, value: float) -> None:
        rows.append(row)
        places.append(place)
        values.append(value)

    for row, home in enumerate(homes):
        add(row, 0, 1.0)
        if home.week != weeks[0]:
            add(row, columns["week", home.week], 1.0)
        add(row, columns["size", 0], float(np.log(home.size)))
        for column, word in enumerate(home.words):
            if firsts.setdefault(column, word) != word:
                add(row, len(columns) + words.setdefault((column, word), len(words)), 1.0)
    return csr_array((values, (rows, places)), shape=(len(homes), len(columns) + len(words)))
