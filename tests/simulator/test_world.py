"""The invented world: it follows from its seed alone, makes sense, and changes by the day as it says."""

import hashlib
import os
import subprocess
import sys
from datetime import timedelta

import jsonschema_rs
import pytest

from realestate.items import FIELDS
from realestate.schema import listing_schema
from realestate.simulator.adverts import START, Advert
from realestate.simulator.places import AZERBAIJAN, BELGIUM
from realestate.simulator.portals import PORTALS
from realestate.simulator.server import Simulator
from realestate.simulator.world import World

PRINT = """
import hashlib
from realestate.simulator import PORTALS, Simulator, World

simulator = Simulator(World(seed=11, listings=40), {name: f"http://{name}.test" for name in PORTALS})
for _ in range(4):
    simulator.advance()
digest = hashlib.sha256()
for site in simulator.sites.values():
    for advert in site.world.listed(site.portal):
        digest.update(site.page(advert).body)
        digest.update(repr(site.truth(advert)).encode())
    digest.update(repr(simulator.events(site.portal)).encode())
for target in ("/en/search-results/house-and-apartment/for-sale", "/en/search/office/for-rent"):
    digest.update(simulator.sites["immoweb"].response(target).body)
digest.update(simulator.sites["emlak"].response("/elanlar/").body)
print(digest.hexdigest())
"""


def digest_of_another_process(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", PRINT], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_same_seed_gives_the_same_world() -> None:
    digests = {digest_of_another_process(hash_seed) for hash_seed in ("1", "2")}
    assert len(digests) == 1
    assert len(digests.pop()) == len(hashlib.sha256().hexdigest())


def test_another_seed_gives_another_world() -> None:
    one, other = World(1, 20), World(2, 20)
    assert [advert.home for advert in one.listed("emlak")] != [advert.home for advert in other.listed("emlak")]


def test_every_portal_has_as_many_adverts_as_asked_for(world: World) -> None:
    assert {name: len(world.listed(name)) for name in PORTALS} == dict.fromkeys(PORTALS, 400)
    assert all(World(1, 0).listed(name) == [] for name in PORTALS)


def test_belgium_is_covered_in_all_three_regions() -> None:
    assert len(BELGIUM) >= 40
    assert {place.region_code for place in BELGIUM} == {"FLANDERS", "BRUSSELS", "WALLONIE"}
    assert len({place.postal_code for place in BELGIUM}) == len(BELGIUM)
    assert {place.city for place in AZERBAIJAN} == {"Bakı", "Sumqayıt", "Gəncə"}


def test_sizes_prices_and_floors_make_sense_together() -> None:
    world = World(seed=1, listings=1500)
    for name in PORTALS:
        for advert in world.listed(name):
            home = advert.home
            if home.floor is not None and home.floors is not None:
                assert home.floor <= home.floors
            assert abs(advert.asking / home.value - 1) < 0.2 or home.value < 100
            if home.operation == "sale" and home.bedrooms is not None and home.area_m2:
                assert 0.2 < home.value / home.area_m2 / home.place.price_m2 < 3
            assert abs(home.latitude - home.place.latitude) < 0.1


@pytest.mark.parametrize("name", PORTALS)
def test_about_a_tenth_of_a_portals_homes_is_advertised_there_twice_at_prices_of_their_own(name: str) -> None:
    by_home: dict[str, list[Advert]] = {}
    for advert in World(seed=1, listings=2000).listed(name):
        by_home.setdefault(advert.home.id, []).append(advert)
    assert max(map(len, by_home.values())) == 2
    twice = [adverts for adverts in by_home.values() if len(adverts) == 2]
    assert 0.06 < len(twice) / len(by_home) < 0.14
    assert_prices_of_their_own(twice)


def test_some_homes_are_on_several_portals_of_their_country() -> None:
    """By which one home's adverts are found on all of them: of the portals but for the first, about a tenth."""
    world = World(seed=1, listings=2000)
    for country in {portal.country for portal in PORTALS.values()}:
        names = [name for name, portal in PORTALS.items() if portal.country == country]
        shown: dict[str, dict[str, Advert]] = {}
        for name in names:
            for advert in world.listed(name):
                shown.setdefault(advert.home.id, {})[name] = advert
        several = [list(adverts.values()) for adverts in shown.values() if len(adverts) > 1]
        again = sum(len(adverts) - 1 for adverts in several)
        assert bool(several) == (len(names) > 1)
        if several:
            assert 0.06 < again / (2000 * (len(names) - 1)) < 0.14
            assert_prices_of_their_own(several)


def assert_prices_of_their_own(homes: list[list[Advert]]) -> None:
    pairs = [(adverts[0].asking, adverts[1].asking) for adverts in homes[:40]]
    assert sum(one != two for one, two in pairs) > 20
    assert all(abs(one - two) <= max(5, 0.15 * two) for one, two in pairs), "rounded"


def test_two_sellers_of_one_home_use_different_texts(simulator: Simulator) -> None:
    for name, site in simulator.sites.items():
        by_home: dict[str, set[str | None]] = {}
        for advert in simulator.world.listed(name):
            by_home.setdefault(advert.home.id, set()).add(site.truth(advert)["description"])
        assert any(len(texts) > 1 for texts in by_home.values())


def test_refs_grow_with_the_time_of_posting(world: World) -> None:
    for name in PORTALS:
        adverts = sorted(world.listed(name), key=lambda advert: advert.ref)
        times = [advert.posted_at for advert in adverts]
        assert times == sorted(times)
        assert all(advert.posted_at <= advert.updated_at <= world.now for advert in adverts)
    assert min(world.adverts["immoweb"]) > 21_000_000


def test_truth_rows_are_whole_records_and_say_which_home(simulator: Simulator) -> None:
    for name, site in simulator.sites.items():
        rows = list(site.truths())
        assert len(rows) == 200
        assert all(set(row) == {*FIELDS, "_home"} for row in rows)
        assert all(row["portal"] == name and row["price_per_m2"] is None for row in rows)
        assert len({row["url"] for row in rows}) == 200


def test_truth_rows_are_valid_listings(simulator: Simulator) -> None:
    validator = jsonschema_rs.validator_for(listing_schema())
    for site in simulator.sites.values():
        for row in site.truths():
            del row["_home"]
            assert [error.message for error in validator.iter_errors(row)] == []


@pytest.mark.parametrize("name", PORTALS)
def test_a_day_changes_about_the_expected_number_of_adverts(name: str) -> None:
    world = World(seed=4, listings=1000)
    before = {advert.ref: advert.asking for advert in world.listed(name)}
    changes = world.advance()[name]
    now = {advert.ref: advert for advert in world.listed(name)}
    assert (len(changes["listed"]), len(changes["removed"])) == (20, 15)
    assert 25 <= len(changes["price_changed"]) <= 30
    assert changes["returned"] == changes["corrected"] == []
    assert set(now) == set(before) - {a.ref for a in changes["removed"]} | {a.ref for a in changes["listed"]}
    assert all(advert.ref > max(before) for advert in changes["listed"])
    moved = [advert for what in ("price_changed", "leapt", "mistyped") for advert in changes[what]]
    converted = {advert.ref for advert in changes["period_changed"]}
    assert {ref for ref, price in before.items() if ref in now and now[ref].asking != price} - converted == {
        advert.ref for advert in moved
    }


@pytest.mark.parametrize("name", PORTALS)
def test_whatever_happens_moves_the_time_of_the_last_change(name: str) -> None:
    world = World(seed=4, listings=300)
    changes = world.advance()[name]
    for what, adverts in changes.items():
        for advert in adverts:
            assert what == "removed" or START < advert.updated_at <= START + timedelta(days=1)
    for advert in changes["price_changed"]:
        assert advert.old_price not in (None, advert.asking)
        assert advert.posted_at < START


@pytest.mark.parametrize("name", PORTALS)
def test_some_of_the_removed_return(name: str) -> None:
    world = World(seed=4, listings=300)
    removed = {advert.ref for advert in world.advance()[name]["removed"]}
    returned = [advert for _ in range(3) for advert in world.advance()[name]["returned"]]
    assert returned
    assert removed & {advert.ref for advert in returned}
    assert all(advert.updated_at > START + timedelta(days=1) for advert in returned)


@pytest.mark.parametrize("name", PORTALS)
def test_a_large_price_change_stays_or_is_corrected_the_next_day(name: str) -> None:
    world = World(seed=4, listings=300)
    stayed, right = 0, 0
    for _ in range(12):
        before = {advert: advert.asking for advert in world.listed(name)}
        changes = world.advance()[name]
        leapt = {advert: advert.asking for advert in changes["leapt"]}
        mistyped = {advert: before[advert] for advert in changes["mistyped"]}
        for advert in (*leapt, *mistyped):
            assert abs(advert.asking / before[advert] - 1) > 0.6
        corrected = world.advance()[name]["corrected"]
        assert set(corrected) == set(mistyped)
        for advert, price in (leapt | mistyped).items():
            assert (advert.asking, advert.gone) == (price, None)
        stayed, right = stayed + len(leapt), right + len(mistyped)
    assert stayed
    assert right


def test_only_a_portal_that_can_show_an_option_has_any() -> None:
    world = World(seed=4, listings=300)
    for _ in range(5):
        world.advance()
    assert any(advert.is_reserved for advert in world.listed("immoweb"))
    assert not any(advert.is_reserved for advert in world.listed("emlak"))
