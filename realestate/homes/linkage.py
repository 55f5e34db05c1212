"""Listings -> homes: from the facts of listings to likenesses, and from these to homes. Pure: it reads no database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from realestate.homes.clusters import NO_PINS, Link, Name, Pins, homes_of
from realestate.homes.facts import Facts, hashed
from realestate.homes.pairs import Comparison
from realestate.homes.scorer import Columns, Parameters, features, scores, shipped
from realestate.homes.vetoes import has_block_evidence, needs_block_evidence

if TYPE_CHECKING:
    pass

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
    near, report = likenesses(listings, parameters)
    known = Pins(
        frozenset(pair for pair in pins.joined if pair[0] in facts and pair[1] in facts),
        frozenset(pair for pair in pins.split if pair[0] in facts and pair[1] in facts),
    )
    groups, links = homes_of(near, parameters.threshold, facts, known)
    return Clustering(identified(groups, facts, before or {}), links, report)


def likenesses(listings: Sequence[Facts], parameters: Parameters) -> tuple[list[Link], Report]:
    """Return the pairs that may be one home, each with its probability."""
    comparison = Comparison(listings)
    try:
        is_block = comparison.in_blocks()
        found = comparison.candidates()
    finally:
        comparison.close()
    counts = (found.skipped_keys, found.skipped_listings, int(is_block.sum()))
    report = Report(len(listings), len(found.a), *counts)
    if not len(found.a):
        return [], report
    in_block = is_block[found.a] | is_block[found.b]
    probable = scores(parameters, features(Columns.of(listings), found.a, found.b, in_block))
    near = []
    for at in (probable >= WEAK).nonzero()[0].tolist():
        one, other = listings[found.a[at]], listings[found.b[at]]
        score = round(float(probable[at]), 4)
        if (in_block[at] or needs_block_evidence(one, other)) and not has_block_evidence(one, other):
            score = min(score, BLOCK_LIMIT)
        near.append(Link(min(one.name, other.name), max(one.name, other.name), score))
    return sorted(near), report


# ----- ids


def identified(
    groups: Iterable[Sequence[Name]], facts: Mapping[Name, Facts], before: Mapping[Name, str]
) -> dict[Name, str]:
    """Return the id of each listing's home. Listings in no group are homes of their own.

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
    taken: set[str] = set()
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
    """Return an id made of the first advert; if another home has it already, of the next one."""
    for _, name in sorted((facts[name].begun_at, name) for name in group):
        home = f"h{hashed(name) & 0xFFFFFFFFFFFFFFF:015x}"
        if home not in taken:
            return home
    raise AssertionError("each listing belongs to one home")
