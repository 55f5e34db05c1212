"""How likely two listings are the same home: a logistic regression over what agrees and what differs.

The parameters are data (`parameters.json`). `realestate homes train` estimates them again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

import msgspec

from realestate.homes.facts import PERMUTATIONS, Facts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Positions = NDArray[np.int64]

#: Weight of the penalty for large parameters in training.
_RIDGE = 1.0
#: A fraction of a metre that tells homes apart: two listings with 81.4 m² are more alike than two with 80.
_WHOLE = 1e-6
#: Plots have such sizes often.
_ROUND_M2 = 50


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The weights of the features, and from which probability on two listings are linked."""

    version: int
    intercept: float
    weights: dict[str, float]
    threshold: float
    trained_on: str
    """What they were estimated from."""


@cache
def shipped() -> Parameters:
    """The parameters that come with this version."""
    return msgspec.json.decode(files("realestate.homes").joinpath("parameters.json").read_bytes(), type=Parameters)


@dataclass(frozen=True, slots=True)
class Columns:
    """The values of the listings as arrays. A missing number is NaN, a missing word -1."""

    numbers: Mapping[str, "Numbers"]
    words: Mapping[str, "Positions"]
    signatures: Any
    has_text: Any
    names: Sequence[tuple[int, ...]]
    photos: Sequence[tuple[int, ...]]

    @classmethod
    def of(cls, listings: Sequence[Facts]) -> Self:
        import numpy as np

        empty = bytes(4 * PERMUTATIONS)
        numbers = {
            name: np.array([getattr(each, name) for each in listings], dtype="float64")
            for name in ("price", "size", "rooms", "floor", "floors", "latitude", "longitude", "is_exact", "is_new")
        }
        words = {name: _coded([getattr(each, name) for each in listings]) for name in _WORDS}
        signatures = np.frombuffer(b"".join(each.signature or empty for each in listings), dtype="uint32")
        has_text = np.array([each.signature is not None for each in listings], dtype=bool)
        return cls(
            numbers,
            words,
            signatures.reshape(-1, PERMUTATIONS),
            has_text,
            names=[each.names for each in listings],
            photos=[each.photos for each in listings],
        )


_WORDS = ("portal", "money", "period", "city", "district", "metro", "street", "number", "agency", "code", "wording")


def _coded(values: list[Any]) -> "Positions":
    """Return a number for each value: equal numbers for equal values, -1 for None."""
    import numpy as np

    codes: dict[Any, int] = {None: -1}
    return np.array([codes.setdefault(value, len(codes)) for value in values], dtype="int64")


def features(columns: Columns, a: "Positions", b: "Positions", in_block: "NDArray[np.bool_]") -> dict[str, "Numbers"]:
    """Return the features of pairs, each 0 or 1. Where a value is missing, both of a field's features are 0."""
    import numpy as np

    found: dict[str, Any] = {}

    def both(name: str) -> tuple["Numbers", "Numbers"]:
        return columns.numbers[name][a], columns.numbers[name][b]

    def words(name: str) -> tuple[Any, Any]:
        one, other = columns.words[name][a], columns.words[name][b]
        is_known = (one >= 0) & (other >= 0)
        return is_known & (one == other), is_known & (one != other)

    for name in ("city", "district", "metro", "street", "agency"):
        found[f"{name}_same"], found[f"{name}_differs"] = words(name)
    found["number_same"], found["number_differs"] = (
        each & found["street_same"].astype(bool) for each in words("number")
    )
    same_code = words("code")[0]
    found["code_same"] = same_code & found["agency_same"].astype(bool)
    found["code_same_agency_unknown"] = same_code & ~(found["agency_same"] | found["agency_differs"])
    found["wording_same"] = words("wording")[0]
    found["portal_same"] = words("portal")[0]
    for name in ("rooms", "floor", "floors"):
        one, other = both(name)
        found[f"{name}_same"] = one == other
        found[f"{name}_differs"] = np.abs(one - other) > 0
    one, other = both("size")
    difference = np.abs(one - other)
    is_fraction = np.abs(one - np.round(one)) > _WHOLE
    is_other_fraction = np.abs(other - np.round(other)) > _WHOLE
    found["size_same_fraction"] = (difference < _WHOLE) & is_fraction
    is_round = one % _ROUND_M2 == 0
    found["size_same_whole"] = (difference < _WHOLE) & ~is_fraction & ~is_round
    found["size_same_round"] = (difference < _WHOLE) & is_round
    found["size_rounded"] = (difference <= 0.5) & (difference >= _WHOLE) & (is_fraction != is_other_fraction)
    found["size_differs"] = (difference > 0.5) | (is_fraction & is_other_fraction & (difference >= _WHOLE))
    is_comparable = words("money")[0]
    found["period_differs"] = words("period")[1]
    one, other = both("price")
    apart = np.abs(np.log(one) - np.log(other))
    found["price_same"] = is_comparable & (apart < 1e-9)
    for name, low, high in (("1", 1e-9, 0.01), ("3", 0.01, 0.03), ("6", 0.03, 0.06), ("12", 0.06, 0.12)):
        found[f"price_within_{name}"] = is_comparable & (apart >= low) & (apart < high)
    found["price_differs"] = is_comparable & (apart >= 0.12)
    is_exact = (columns.numbers["is_exact"][a] == 1) & (columns.numbers["is_exact"][b] == 1)
    metres = _metres(*both("latitude"), *both("longitude"))
    bins = (("30", 0.0, 30.0), ("100", 30.0, 100.0), ("600", 100.0, 600.0), ("1500", 600.0, 1500.0))
    for name, low, high in bins:
        found[f"metres_{name}"] = (metres >= low) & (metres < high)
    found["metres_many"] = (metres >= 1500) & ~is_exact
    found["metres_many_exact"] = (metres >= 1500) & is_exact
    is_new = (columns.numbers["is_new"][a] == 1) & (columns.numbers["is_new"][b] == 1)
    found["new_floor_unknown"] = is_new & ~(found["floor_same"] | found["floor_differs"]).astype(bool)
    has_text = columns.has_text[a] & columns.has_text[b]
    alike = (columns.signatures[a] == columns.signatures[b]).mean(axis=1) * has_text if len(a) else np.zeros(0)
    for low, high in zip(_ALIKE, (*_ALIKE[1:], 2.0), strict=True):
        found[f"text_alike_{low:g}"] = has_text & (alike >= low) & (alike < high)
    found |= _names(columns.names, a, b)
    is_owner = (columns.words["agency"][a] < 0) & (columns.words["agency"][b] < 0)
    for name in [name for name in found if name.startswith("text_")]:
        found[f"one_agency_{name}"] = found["agency_same"] & found[name]
        found[f"no_agency_{name}"] = is_owner & found[name]
    # flats of a block show the same pictures of the house
    found["photos_same"] = _photos(columns.photos, a, b, found["portal_same"]) & ~in_block
    found["in_block"] = in_block
    found["in_block_portal_same"] = in_block & found["portal_same"]
    for name in [
        name for name in found if name.startswith(("text_", "names_", "wording_", "number_same", "metres_30"))
    ]:
        found[f"in_block_{name}"] = in_block & np.asarray(found[name], dtype=bool)
    return {name: np.asarray(values, dtype="float64") for name, values in found.items()}


#: Hashes of one photo in two sizes differ in at most so many of 64 bits; those of two photos in about half of them.
_OTHER_BITS = 6


def _photos(photos: Sequence[tuple[int, ...]], a: "Positions", b: "Positions", portal_same: Any) -> Any:
    """Whether the photos of each pair have one in common; on one portal two, since it may show its own picture."""
    import numpy as np

    found = np.zeros(len(a), dtype=bool)
    if not any(photos):
        return found
    for at, (one, other) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if photos[one] and photos[other]:
            common = sum(any((x ^ y).bit_count() <= _OTHER_BITS for y in photos[other]) for x in photos[one])
            found[at] = common >= (2 if portal_same[at] else 1)
    return found


#: Bounds of the shares of the text that two listings have in common.
_ALIKE = (0.0, 0.05, 0.12, 0.2, 0.3, 0.45, 0.65, 0.85)


def _names(names: Sequence[tuple[int, ...]], a: "Positions", b: "Positions") -> dict[str, Any]:
    """How many proper names the texts of each pair have in common, and in how many they differ."""
    import numpy as np

    found = {name: np.zeros(len(a), dtype=bool) for name in _NAMES}
    for at, (one, other) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if not names[one] or not names[other]:
            continue
        mine, theirs = set(names[one]), set(names[other])
        common = len(mine & theirs)
        least = min(len(mine), len(theirs))
        if common == 0:
            found["names_differ" if least == 1 and len(mine) == len(theirs) else "names_differ_all"][at] = True
        elif common == least:
            found["names_same" if least == 1 else "names_same_all"][at] = True
        else:
            found["names_same_some"][at] = True
    return found


#: One name, the same; several, all the same; some the same, but each text has another; one, another; all others.
_NAMES = ("names_same", "names_same_all", "names_same_some", "names_differ", "names_differ_all")


def scores(parameters: Parameters, found: Mapping[str, "Numbers"]) -> "Numbers":
    """Return the probability of each pair. A feature without a weight counts nothing."""
    import numpy as np

    total = sum(
        (parameters.weights.get(name, 0.0) * values for name, values in found.items()),
        start=np.full(len(next(iter(found.values()))), parameters.intercept),
    )
    return 1 / (1 + np.exp(-total))


def train(found: Mapping[str, "Numbers"], is_same: "NDArray[np.bool_]", trained_on: str) -> Parameters:
    """Estimate the weights from pairs of which it is known whether they are the same home.

    Does not choose the threshold: that needs clusters (`training.py`)."""
    import numpy as np
    from scipy.optimize import minimize

    names = sorted(found)
    matrix = np.column_stack([np.ones(len(is_same)), *(found[name] for name in names)])
    sign = np.where(is_same, 1.0, -1.0)

    def loss(weights: "Numbers") -> tuple[float, "Numbers"]:
        margin = sign * (matrix @ weights)
        penalty = weights.copy()
        penalty[0] = 0
        value = np.logaddexp(0, -margin).sum() + _RIDGE / 2 * (penalty @ penalty)
        slope = -(sign / (1 + np.exp(np.clip(margin, -500, 500)))) @ matrix + _RIDGE * penalty
        return float(value), slope

    solved = minimize(loss, np.zeros(matrix.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    weights = {name: round(float(weight), 4) for name, weight in zip(names, solved[1:], strict=True)}
    # the pairs say nothing about features that none of them has, such as equal photos
    weights |= {name: shipped().weights.get(name, 0.0) for name in names if not found[name].any()}
    return Parameters(
        version=1, intercept=round(float(solved[0]), 4), weights=weights, threshold=0.5, trained_on=trained_on
    )


def _metres(latitude: "Numbers", other_latitude: "Numbers", longitude: "Numbers", other: "Numbers") -> "Numbers":
    """The distance on a plane, which is exact enough for some kilometres. NaN where a point is missing."""
    import numpy as np

    north = (latitude - other_latitude) * 111_195
    east = (longitude - other) * 111_195 * np.cos(np.radians(latitude))
    return np.hypot(north, east)
