"""The truth about homes: which adverts are the same home, and an oracle that says which pairs the data decide.

The oracle looks at what the adverts show (`Listing`), never at the true home, except to know which adverts are not of
the same home. A true pair is decided by the data if

1. the two adverts contradict each other in no field (a wrong floor or room count makes a pair undecided), and
2. no advert of another home agrees with one of the two as well as they agree with each other. Two adverts agree if no
   field that both show differs: area by at most 0.5 m², price by at most 6 %, points that both are called exact by at
   most two kilometres, and place, rooms, floor, number of floors and the names of what is near not at all; or
3. both have the same code of the same agency in their texts.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from realestate.items import Listing
from realestate.simulator.adverts import Advert
from realestate.simulator.portals import PORTALS
from realestate.simulator.site import Site
from realestate.simulator.sites import SITES
from realestate.simulator.traps import COUNTRY, Traps
from realestate.simulator.world import World

_CODE = re.compile(r"Kod: (\d+)")
_FLOOR = re.compile(r"(\d+)-ci mərtəbə")
_NEAR = re.compile(r"Yaxınlıqda (\w+ \w+) var")
AREA_M2 = 0.5
PRICE = 0.06
#: About two kilometres.
DEGREES = 0.02
#: Places near a home that its sellers name.
NEAR = 2


class Shown(NamedTuple):
    """An advert, its home, and what it shows."""

    home: str
    block: str | None
    listing: Listing
    floor: int | None
    code: str | None
    near: frozenset[str]
    """Names of what is near, which the text says."""

    @property
    def name(self) -> str:
        return f"{self.listing.portal}/{self.listing.ref}"


class Pair(NamedTuple):
    """Two adverts of one home."""

    a: Shown
    b: Shown
    is_decidable: bool

    @property
    def in_block(self) -> bool:
        return self.a.block is not None


def shown_of(world: World, sites: dict[str, Site], portals: Sequence[str] = tuple(PORTALS)) -> list[Shown]:
    """The adverts on the market today."""
    return [_shown(world, advert, sites[name].listing(advert)) for name in portals for advert in world.listed(name)]


def homes(adverts: Iterable[Shown]) -> Iterator[dict[str, Any]]:
    """One row for each advert: its home, and the block of new flats that the home is in."""
    for each in adverts:
        yield {"home": each.home, "portal": each.listing.portal, "ref": each.listing.ref, "block": each.block}


def pairs(adverts: Sequence[Shown]) -> Iterator[Pair]:
    """All pairs of adverts of one home."""
    by_home: dict[str, list[Shown]] = defaultdict(list)
    for each in adverts:
        by_home[each.home].append(each)
    similar = _SimilarAdverts(adverts)
    for same in by_home.values():
        if len(same) > 1:
            is_alone = {each.name: not similar.has(each) for each in same}
            for a, b in combinations(same, 2):
                has_code = a.code is not None and a.code == b.code and a.listing.agency_name == b.listing.agency_name
                decided = agree(a, b) and (has_code or (is_alone[a.name] and is_alone[b.name]))
                yield Pair(a, b, decided)


def pair_rows(found: Iterable[Pair]) -> Iterator[dict[str, Any]]:
    for pair in found:
        yield {
            "a": pair.a.name,
            "b": pair.b.name,
            "home": pair.a.home,
            "decidable": pair.is_decidable,
            "in_block": pair.in_block,
        }


def agree(a: Shown, b: Shown) -> bool:
    """Whether no field that both adverts show differs."""
    one, other = a.listing, b.listing
    if _differ(a.floor, b.floor) or _differ(one.rooms, other.rooms) or _differ(one.floors_total, other.floors_total):
        return False
    if (one.country, one.operation, one.property_type) != (other.country, other.operation, other.property_type):
        return False
    if a.code and b.code and one.agency_name and one.agency_name == other.agency_name and a.code != b.code:
        return False
    if _differ(one.city, other.city) or _differ(one.metro_station, other.metro_station):
        return False
    if len(a.near | b.near) > NEAR:  # a home has two such places
        return False
    if one.street and other.street and not _same_street(one.street, other.street):
        return False
    sizes = (one.area_m2 or one.plot_m2, other.area_m2 or other.plot_m2)
    if sizes[0] is not None and sizes[1] is not None and abs(sizes[0] - sizes[1]) > AREA_M2:
        return False
    if one.price and other.price and (one.currency, one.rent_period) == (other.currency, other.rent_period):
        low, high = sorted((float(one.price), float(other.price)))
        if high > low * (1 + PRICE):
            return False
    if one.geo_precision == other.geo_precision == "exact":
        assert one.latitude is not None
        assert one.longitude is not None
        assert other.latitude is not None
        assert other.longitude is not None
        return abs(one.latitude - other.latitude) < DEGREES and abs(one.longitude - other.longitude) < DEGREES
    return True


class _SimilarAdverts:
    """Finds adverts of other homes that agree with an advert."""

    def __init__(self, adverts: Iterable[Shown]) -> None:
        self._near: dict[tuple[Any, ...], list[Shown]] = defaultdict(list)
        for each in adverts:
            self._near[self._cell(each, 0)].append(each)

    def has(self, shown: Shown) -> bool:
        near = (each for step in (-1, 0, 1) for each in self._near[self._cell(shown, step)])
        return any(each.home != shown.home and agree(shown, each) for each in near)

    @staticmethod
    def _cell(shown: Shown, step: int) -> tuple[Any, ...]:
        listing = shown.listing
        size = round(listing.area_m2 or listing.plot_m2 or 0)
        return listing.country, listing.operation, listing.property_type, size + step


def _shown(world: World, advert: Advert, listing: Listing) -> Shown:
    text = listing.description or ""
    floor = listing.floor
    if floor is None and (found := _FLOOR.search(text)):
        floor = int(found[1])
    code = _CODE.search(text)
    block = world.traps.block_of.get(advert.home.id) if world.traps else None
    return Shown(advert.home.id, block, listing, floor, code and code[1], frozenset(_NEAR.findall(text)))


def _differ(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other


def _same_street(one: str, other: str) -> bool:
    """Whether they may be the same: one of them may lack the number."""
    return one.startswith(other) or other.startswith(one)


def truth_of_homes(seed: int, listings: int, traps: Traps | None = None) -> list[Shown]:
    """The adverts of a world with traps, with this many on each of the portals that have them."""
    world = World(seed, listings, traps or Traps())
    names = [name for name, portal in PORTALS.items() if portal.country == COUNTRY]
    return shown_of(world, {name: SITES[name](world, f"http://{name}.test") for name in names}, names)
