"""The world with traps: what differs between adverts of one home, and what the truth says about it."""

from collections import Counter, defaultdict
from itertools import combinations

import pytest

from realestate.items import Listing
from realestate.simulator import linkage
from realestate.simulator.server import Simulator
from realestate.simulator.traps import Traps
from realestate.simulator.world import World
from tests.simulator.conftest import BASES

PORTALS = ("emlak", "lalafo", "bina", "tap")


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    found = Simulator(World(4, 500, Traps(0.01)), BASES)
    for name in PORTALS:
        found.world.listed(name)
    return found


@pytest.fixture(scope="module")
def shown(simulator: Simulator) -> list[linkage.Shown]:
    return linkage.shown_of(simulator.world, simulator.sites, PORTALS)


def test_without_traps_the_world_is_the_same_as_ever() -> None:
    """Only the shown values are compared with the true home: without traps they are equal."""
    world = World(4, 100)
    assert all(advert.home == world.true_home(advert) for name in PORTALS for advert in world.listed(name))
    assert all(advert.words is None for advert in world.listed("bina"))


def test_the_same_seed_gives_the_same_traps() -> None:
    worlds = (Simulator(World(9, 40, Traps()), BASES) for _ in range(2))
    one, other = ([each.sites["lalafo"].truth(advert) for advert in each.world.listed("lalafo")] for each in worlds)
    assert one == other


def test_about_one_advert_in_eight_is_in_a_block(shown: list[linkage.Shown]) -> None:
    assert 0.04 < sum(each.block is not None for each in shown) / len(shown) < 0.3


def test_flats_of_a_block_differ_in_floor_or_layout(simulator: Simulator) -> None:
    world = simulator.world
    flats = {advert.home.id: world.true_home(advert) for name in PORTALS for advert in world.listed(name)}
    blocks: dict[str, list[tuple[int | None, float | None]]] = defaultdict(list)
    assert world.traps is not None
    for name, home in flats.items():
        if name in world.traps.block_of:
            blocks[world.traps.block_of[name]].append((home.floor, home.area_m2))
    assert blocks
    assert all(max(Counter(places).values()) == 1 for places in blocks.values())


def test_at_most_three_percent_of_pairs_have_a_wrong_floor_or_room_count(simulator: Simulator) -> None:
    world = simulator.world
    adverts = [advert for name in PORTALS for advert in world.listed(name)]
    by_home = defaultdict(list)
    for advert in adverts:
        by_home[advert.home.id].append((advert.home.floor, advert.home.rooms))
    pairs = [pair for same in by_home.values() for pair in combinations(same, 2)]
    assert len(pairs) > 300
    assert sum(one != other for one, other in pairs) / len(pairs) <= 0.04


def test_the_oracle_does_not_decide_a_pair_that_contradicts_itself(shown: list[linkage.Shown]) -> None:
    pairs = list(linkage.pairs(shown))
    assert all(pair.a.home == pair.b.home for pair in pairs)
    assert all(linkage.agree(pair.a, pair.b) for pair in pairs if pair.is_decidable)
    assert 0 < sum(pair.is_decidable for pair in pairs) < len(pairs)


def test_the_oracle_does_not_decide_between_two_homes_that_show_the_same() -> None:
    def shown(home: str, ref: str) -> linkage.Shown:
        listing = Listing(portal="bina", ref=ref, url="http://bina.test/1", country="AZ", area_m2=50.0)
        return linkage.Shown(home, None, listing, None, None, frozenset())

    alone = [shown("a", "1"), shown("a", "2")]
    assert [pair.is_decidable for pair in linkage.pairs(alone)] == [True]
    assert [pair.is_decidable for pair in linkage.pairs([*alone, shown("b", "3")])] == [False]


def test_removed_adverts_are_posted_again_under_a_new_reference() -> None:
    world = World(4, 300, Traps())
    before = {advert.ref for advert in world.listed("bina")}
    for _ in range(4):
        world.advance()
    gone = {(advert.home.id, advert.words) for advert in world.gone("bina")}
    new = [advert for advert in world.listed("bina") if advert.ref not in before]
    again = [advert for advert in new if (advert.home.id, advert.words) in gone]
    assert again


def test_the_price_level_drifts() -> None:
    traps = Traps(0.01)
    assert traps.level(0) == 1
    assert traps.level(70) == pytest.approx(1.01**10)


def test_the_truth_is_one_row_for_each_advert(simulator: Simulator, shown: list[linkage.Shown]) -> None:
    rows = list(linkage.homes(shown))
    assert {(row["portal"], row["ref"]) for row in rows} == {
        (name, simulator.sites[name].ref(advert)) for name in PORTALS for advert in simulator.world.listed(name)
    }
