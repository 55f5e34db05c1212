"""Estimates the scorer's parameters, and measures homes against the truth."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec

from realestate.homes.clusters import Name, homes_of
from realestate.homes.facts import Facts
from realestate.homes.linkage import likenesses
from realestate.homes.pairs import Comparison
from realestate.homes.scorer import Columns, Parameters, features, train

#: Share of the linked pairs of the training data that has to be right, also within blocks. More than the goal for other
#: data: the weights fit these pairs best.
GOAL = 0.995
BLOCK_GOAL = 0.991
_THRESHOLDS = tuple(at / 100 for at in range(50, 100, 2))


@dataclass(frozen=True, slots=True)
class Quality:
    """How right a clustering is, by pairs of listings."""

    precision: float
    block_precision: float
    """Of linked pairs with a listing in a block."""
    recall: float
    decidable_recall: float
    """Of the pairs that the data decide."""
    pairs: int
    block_pairs: int


def quality(
    homes: Iterable[Sequence[Name]],
    home_of: Mapping[Name, str],
    in_block: Callable[[Name], bool],
    decidable: Mapping[tuple[Name, Name], bool],
) -> Quality:
    """Compare homes with the truth: `home_of` each listing, and every true pair with the oracle's verdict."""
    linked = [pair for group in homes for pair in combinations(sorted(group), 2)]
    right = [pair for pair in linked if home_of[pair[0]] == home_of[pair[1]]]
    within = [pair for pair in linked if in_block(pair[0]) or in_block(pair[1])]
    right_within = sum(home_of[a] == home_of[b] for a, b in within)
    return Quality(
        precision=_share(len(right), len(linked)),
        block_precision=_share(right_within, len(within)),
        recall=_share(len(right), len(decidable)),
        decidable_recall=_share(sum(decidable.get(pair, False) for pair in right), sum(decidable.values())),
        pairs=len(linked),
        block_pairs=len(within),
    )


def trained(
    listings: Sequence[Facts], home_of: Mapping[Name, str], in_block: Callable[[Name], bool], trained_on: str
) -> Parameters:
    """Return parameters for listings whose homes are known. The threshold is the lowest that reaches the
    goals."""
    import numpy as np

    comparison = Comparison(listings)
    try:
        is_block = comparison.in_blocks()
        found = comparison.candidates()
    finally:
        comparison.close()
    columns = Columns.of(listings)
    labels = np.array([home_of[each.name] for each in listings])
    given = features(columns, found.a, found.b, is_block[found.a] | is_block[found.b])
    parameters = train(given, labels[found.a] == labels[found.b], trained_on)
    facts = {each.name: each for each in listings}
    near, _, _ = likenesses(listings, parameters)
    for threshold in _THRESHOLDS:
        parameters = msgspec.structs.replace(parameters, threshold=threshold)
        homes, _ = homes_of(near, threshold, facts)
        found_quality = quality(homes, home_of, in_block, {})
        if found_quality.precision >= GOAL and found_quality.block_precision >= BLOCK_GOAL:
            break
    return parameters


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0
