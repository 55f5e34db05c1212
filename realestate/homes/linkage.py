"""Listings -> homes: from the facts of listings to likenesses, and from these to homes. Pure: it reads no database."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple

from realestate.homes.clusters import NO_PINS, Link, Name, Pins, homes_of
from realestate.homes.facts import Facts, hashed
from realestate.homes.pairs import Comparison
from realestate.homes.scorer import Columns, Parameters, features, scores, shipped
from realestate.homes.vetoes import has_block_evidence, needs_block_evidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Pairs that are less likely are not kept.
WEAK = 0.02
#: Two flats of a block without an equal floor or reference are at most so likely the same.
BLOCK_LIMIT = 0.3


class Report(NamedTuple):
    """What a run looked at."""

    listings: int = 0
    candidates: int = 0
    """Pairs that share a key and contradict each other in nothing."""
    skipped_keys: int = 0
    """Keys that too many listings share: they were not used."""
    skipped_listings: int = 0
    in_blocks: int = 0
    """Listings in blocks of alike homes."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """Homes of listings. A listing that is alone in its home is in `home_of` too."""

    home_of: Mapping[Name, str]
    links: Sequence[Link]
    """The likenesses within homes."""
    report: Report = field(default_factory=Report)
    near: Sequence[Link] = ()
    """All likenesses."""
    in_block: Sequence[bool] = ()
    """Whether each listing is in a block, in the order in which they were given."""

    def members(self) -> dict[str, list[Name]]:
        """The listings of each home, sorted."""
        found: dict[str, list[Name]] = {}
        for name in sorted(self.home_of):
            found.setdefault(self.home_of[name], []).append(name)
        return found


def cluster(
    listings: Sequence[Facts],
    *,
    before: Mapping[Name, str] | None = None,
    pins: Pins = NO_PINS,
    parameters: Parameters | None = None,
) -> Clustering:
    """Return the homes of all these listings. `before` has the homes of an earlier run, whose ids are kept."""
    parameters = parameters or shipped()
    facts = {each.name: each for each in listings}
    near, report, in_block = likenesses(listings, parameters)
    groups, links = homes_of(near, parameters.threshold, facts, pins.of(facts))
    return Clustering(identified(groups, facts, before or {}), links, report, near, in_block)


def likenesses(listings: Sequence[Facts], parameters: Parameters) -> tuple[list[Link], Report, list[bool]]:
    """Return the pairs that may be one home, each with its probability, and which listings are in blocks."""
    comparison = Comparison(listings)
    try:
        in_block = comparison.in_blocks().tolist()
        found = comparison.candidates()
    finally:
        comparison.close()
    report = Report(len(listings), len(found.a), found.skipped_keys, found.skipped_listings, sum(in_block))
    return scored(listings, found.a, found.b, in_block, parameters), report, in_block


def scored(
    listings: Sequence[Facts],
    a: "Sequence[int] | NDArray[np.int64]",
    b: "Sequence[int] | NDArray[np.int64]",
    is_block: Sequence[bool],
    parameters: Parameters,
) -> list[Link]:
    """Return the likenesses of pairs, which are positions in the listings."""
    import numpy as np

    if not len(a):
        return []
    a, b, block = np.asarray(a), np.asarray(b), np.asarray(is_block)
    in_block = block[a] | block[b]
    probable = scores(parameters, features(Columns.of(listings), a, b, in_block))
    near = []
    for at in (probable >= WEAK).nonzero()[0].tolist():
        one, other = listings[a[at]], listings[b[at]]
        score = round(float(probable[at]), 4)
        if (in_block[at] or needs_block_evidence(one, other)) and not has_block_evidence(one, other, score):
            score = min(score, BLOCK_LIMIT)
        near.append(Link(min(one.name, other.name), max(one.name, other.name), score))
    return sorted(near)


# ----- ids

#: An advert has left fewer homes than this that keep the id made of it.
MOST_LEFT = 5


def identified(
    groups: Iterable[Sequence[Name]],
    facts: Mapping[Name, Facts],
    before: Mapping[Name, str],
    elsewhere: Collection[str] = (),
) -> dict[Name, str]:
    """Return the id of each listing's home. Listings in no group are homes of their own. `elsewhere` are ids of other
    homes, which must not be used.

    A home keeps the id that most of its listings had; if two homes had the same, the larger keeps it. A new home is
    named after its first advert, so its id does not depend on the run."""
    grouped = {name for group in groups for name in group}
    everyone = [*groups, *([name] for name in facts if name not in grouped)]
    claims = []
    for at, group in enumerate(everyone):
        counts: dict[str, int] = {}
        for name in group:
            if name in before:
                counts[before[name]] = counts.get(before[name], 0) + 1
        claims += [(-count, _first(group, facts), home, at) for home, count in counts.items()]
    ids: dict[int, str] = {}
    taken = set(elsewhere)
    for _, _, home, at in sorted(claims):
        if at not in ids and home not in taken:
            ids[at] = home
            taken.add(home)
    for at, group in enumerate(everyone):
        if at not in ids:
            ids[at] = _new_id(group, facts, taken)
            taken.add(ids[at])
    return {name: ids[at] for at, group in enumerate(everyone) for name in group}


def _first(group: Sequence[Name], facts: Mapping[Name, Facts]) -> tuple[float, Name]:
    return min((facts[name].begun_at, name) for name in group)


def _new_id(group: Sequence[Name], facts: Mapping[Name, Facts], taken: set[str]) -> str:
    """Return an id made of the first advert; if another home has it already, of the next one. An advert may have left a
    home that keeps its id: if all are taken, the id of the first one is numbered."""
    names = [name for _, name in sorted((facts[name].begun_at, name) for name in group)]
    numbered = (_id_of(f"{names[0]} {number}") for number in count(2))
    return next(home for home in chain(map(_id_of, names), numbered) if home not in taken)


def new_ids(names: Iterable[Name]) -> list[str]:
    """Return the ids that new homes of these listings may get."""
    return [_id_of(each) for name in names for each in (name, *(f"{name} {number}" for number in range(2, MOST_LEFT)))]


def _id_of(name: Name) -> str:
    return f"h{hashed(name) & 0xFFFFFFFFFFFFFFF:015x}"
