"""Links -> homes: groups of listings without a contradiction within, by the best links first."""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

from realestate.homes.facts import Facts
from realestate.homes.vetoes import vetoes

#: More adverts than this are never one home: something is wrong with the data.
SIZE_LIMIT = 30
#: Two likenesses of one listing to listings that contradict each other are doubtful if their log odds are so close.
MARGIN = 2.0
#: Two adverts of one home are at least so likely the same, each with each: more than two flats of one block
#: (`linkage.BLOCK_LIMIT`).
ALIKE = 0.35

Name = str
"""A listing: `portal/ref`."""


class Link(NamedTuple):
    """Two listings that are probably the same home: a before b."""

    a: Name
    b: Name
    score: float


class Pins(NamedTuple):
    """What people decided: pairs of listings that are the same home, and pairs that are not."""

    joined: frozenset[tuple[Name, Name]] = frozenset()
    split: frozenset[tuple[Name, Name]] = frozenset()

    def of(self, names: Container[Name]) -> "Pins":
        """The decisions about two of these listings."""
        return Pins(*(frozenset(pair for pair in some if pair[0] in names and pair[1] in names) for some in self))


NO_PINS = Pins()


def pinned(pairs: Iterable[tuple[Name, Name]]) -> frozenset[tuple[Name, Name]]:
    return frozenset((min(pair), max(pair)) for pair in pairs)


def components(links: Sequence[Link], pins: Pins = NO_PINS) -> list[tuple[list[Name], list[Link]]]:
    """Return the listings that are connected by links or joined by people, each group with its links."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = [(link.a, link.b) for link in links] + sorted(pins.joined)
    if not edges:
        return []
    names = sorted({name for edge in edges for name in edge})
    position = {name: at for at, name in enumerate(names)}
    rows = np.array([position[a] for a, _ in edges])
    columns = np.array([position[b] for _, b in edges])
    graph = coo_array((np.ones(len(edges), dtype="int8"), (rows, columns)), shape=(len(names), len(names)))
    count, labels = connected_components(graph, directed=False)
    groups: list[tuple[list[Name], list[Link]]] = [([], []) for _ in range(count)]
    for name, label in zip(names, labels, strict=True):
        groups[label][0].append(name)
    for link in links:
        groups[labels[position[link.a]]][1].append(link)
    return groups


def homes_of(
    near: Sequence[Link], threshold: float, facts: Mapping[Name, Facts], pins: Pins = NO_PINS
) -> tuple[list[list[Name]], list[Link]]:
    """Return the homes of more than one listing, each sorted, and the links within them.

    `near` are all pairs that have some likeness; those from the threshold on can be links. The result does not depend
    on the order of the pairs, and each connected component of them is independent of the others."""
    homes: list[list[Name]] = []
    used: list[Link] = []
    for names, own in components(near, pins):
        joined = [pair for pair in pins.joined if pair[0] in names] if pins.joined else ()
        found, kept = _cluster(names, own, threshold, facts, joined, pins.split)
        homes += found
        used += kept
    return sorted(homes), sorted(used)


def _cluster(
    names: Sequence[Name],
    near: Sequence[Link],
    threshold: float,
    facts: Mapping[Name, Facts],
    joined: Collection[tuple[Name, Name]],
    split: Collection[tuple[Name, Name]],
) -> tuple[list[list[Name]], list[Link]]:
    member_of = {name: name for name in names}
    groups = {name: [name] for name in names}
    alike = {(link.a, link.b) for link in near if link.score > ALIKE} | set(joined)

    def unite(a: Name, b: Name) -> None:
        one, other = member_of[a], member_of[b]
        if one != other:
            for name in groups.pop(other):
                member_of[name] = one
                groups[one].append(name)

    for a, b in sorted(joined):
        unite(a, b)
    links = without_doubtful([link for link in near if link.score >= threshold], near, facts, split)
    for link in sorted(links, key=lambda link: (-link.score, link.a, link.b)):
        one, other = groups[member_of[link.a]], groups[member_of[link.b]]
        if one is other or len(one) + len(other) > SIZE_LIMIT:
            continue
        pairs = [(min(a, b), max(a, b)) for a in one for b in other]
        if all(pair in alike for pair in pairs) and not any(contradict(*pair, facts, split) for pair in pairs):
            unite(link.a, link.b)
    kept = [link for link in near if member_of[link.a] == member_of[link.b]]
    return [sorted(group) for group in groups.values() if len(group) > 1], kept


def contradict(a: Name, b: Name, facts: Mapping[Name, Facts], split: Collection[tuple[Name, Name]]) -> bool:
    return (min(a, b), max(a, b)) in split or bool(vetoes(facts[a], facts[b]))


def without_doubtful(
    links: Sequence[Link],
    near: Sequence[Link],
    facts: Mapping[Name, Facts],
    split: Collection[tuple[Name, Name]] = frozenset(),
) -> list[Link]:
    """Leave out links of a listing that fits two homes about equally well: it is unknown which of the two it is.

    `near` are all pairs that have some likeness, linked or not."""
    others: dict[Name, list[tuple[Name, float]]] = defaultdict(list)
    for link in near:
        odds = _log_odds(link.score)
        others[link.a].append((link.b, odds))
        others[link.b].append((link.a, odds))

    def is_doubtful(end: Name, other: Name, odds: float) -> bool:
        return any(
            rival != other and rival_odds >= odds - MARGIN and contradict(other, rival, facts, split)
            for rival, rival_odds in others[end]
        )

    return [
        link
        for link in links
        if not is_doubtful(link.a, link.b, _log_odds(link.score))
        and not is_doubtful(link.b, link.a, _log_odds(link.score))
    ]


def _log_odds(score: float) -> float:
    bounded = min(max(score, 1e-9), 1 - 1e-9)
    return log(bounded / (1 - bounded))
