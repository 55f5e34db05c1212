"""Linking what is new gives the same homes as linking everything, on both stores."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from realestate.homes import build as build_module
from realestate.homes import pairs, update
from realestate.homes.build import build
from realestate.homes.facts import facts_of_all
from realestate.homes.linkage import cluster
from realestate.items import Listing
from realestate.pipelines.clean import clean
from realestate.simulator import truth_of_homes
from realestate.storage import FullStore, open_store
from realestate.storage.homes import PhotoHash, Pin
from tests.homes.test_linkage import advert
from tests.storage.batches import batch

NOW = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.fixture(params=["store_url", "mongodb_url"])
def store(request: pytest.FixtureRequest) -> Iterator[FullStore]:
    found = open_store(request.getfixturevalue(request.param))
    found.migrate()
    yield found
    found.close()


def written(store: FullStore, *listings: Listing) -> None:
    store.write(batch(*(clean(each) for each in listings)))


def stored(store: FullStore) -> dict[str, Any]:
    """What the store has of homes. When they were last seen is brought up to date only with another change."""
    homes = {each.home: asdict(replace(each, last_seen_at=NOW)) for each in store.homes(limit=10_000)}
    names = store.home_ids()
    return {
        "homes": homes,
        "listings": dict(names),
        "links": {home: list(store.home_links(home)) for home in homes},
        "states": {
            name: (update.facts_in(each), sorted(each.keys), dict(each.near), each.in_block)
            for name, each in store.home_states(list(names)).items()
        },
    }


def expected_ids(store: FullStore) -> dict[str, str]:
    listings = [build_module.as_listing(record) for portal in store.counts() for record in store.records(portal)]
    found = cluster(facts_of_all(listings), before=store.home_ids(), pins=build_module.pins_of(store))
    return dict(found.home_of)


def changed(rng: Random, listing: Listing) -> Listing:
    """The listing as it may be seen later."""
    return rng.choice(
        [
            replace(listing, price=None if listing.price is None else listing.price * Decimal("0.96")),
            replace(listing, floor=rng.choice([None, 3, 5])),
            replace(listing, rooms=rng.choice([None, 2, 3])),
            replace(listing, area_m2=80.0),
            replace(listing, description=None),
            replace(listing, agency_ref="r-1", agency_name="Günəş"),
        ]
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_new_changes_the_homes_as_linking_all_does(
    store: FullStore, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """With a low limit of keys, so that keys become too common and blocks are proven in the middle."""
    for module in (pairs, update):
        monkeypatch.setattr(module, "KEY_LIMIT", 7)
    rng = Random(seed)
    listings = [each.listing for each in truth_of_homes(seed, 45)]
    rng.shuffle(listings)
    known: dict[str, Listing] = {}
    build(store)
    for number in range(4):
        new = listings[number::4]
        some = rng.sample(sorted(known), 12) if known else []
        again = [changed(rng, known[name]) for name in some]
        known |= {f"{each.portal}/{each.ref}": each for each in [*new, *again]}
        written(store, *new)
        written(store, *again)
        if number == 2:
            names = sorted(known)
            store.pin(Pin("join", names[0], names[7]))
            store.pin(Pin("split", names[3], names[4]))
        expected = expected_ids(store)
        with monkeypatch.context() as patch:
            patch.setattr(build_module, "_build", None)
            run = build(store)
        found = stored(store)
        assert found["listings"] == expected
        assert (run.listings, run.homes) == (len(known), len(found["homes"]))
        build(store, again=True)
        assert stored(store) == found


def test_nothing_new_changes_nothing(store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    written(store, advert("1"), advert("2", "tap"), advert("3", floor=9))
    build(store)
    before = stored(store)
    monkeypatch.setattr(build_module, "_build", None)
    build(store)
    assert stored(store) == before
    assert len(before["listings"]) == 3


def test_a_run_that_fails_leaves_the_last_complete_homes(store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    written(store, advert("1"), advert("3", floor=9))
    first = build(store)
    before = stored(store)
    written(store, advert("2", "tap"))

    def failing(*given: Any) -> Iterator[Any]:
        yield from ()
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(build_module, "_links", failing)
        with pytest.raises(RuntimeError, match="killed"):
            build(store)
    assert stored(store) == before
    assert store.homes_run() == first
    build(store)
    assert store.home_ids()["tap/2"] == store.home_ids()["bina/1"]


def test_a_run_on_other_homes_than_it_read_is_repeated(store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    written(store, advert("1"))
    build(store)
    written(store, advert("2", "tap"))
    real = type(store).change_homes
    calls = []

    def overtaken(self: Any, changes: Any) -> bool:
        calls.append(1)
        if len(calls) == 1:
            build(store)
        return real(self, changes)

    monkeypatch.setattr(type(store), "change_homes", overtaken)
    assert build(store).listings == 2
    assert len(set(store.home_ids().values())) == 1


def test_a_listing_that_leaves_the_market_changes_its_home(store: FullStore) -> None:
    written(store, advert("1"), advert("2", "tap"))
    build(store)
    (home,) = store.homes()
    assert home.is_active
    written(store, replace(advert("1"), status="sold"))
    build(store)
    (home,) = store.homes()
    assert home.is_active, "the other advert is on the market"
    written(store, replace(advert("2", "tap"), status="sold"))
    build(store)
    (home,) = store.homes()
    assert not home.is_active


def test_an_erased_listing_has_no_state(store: FullStore) -> None:
    written(store, advert("1"), advert("2", "tap"))
    build(store)
    store.erase("tap", "2")
    assert set(store.home_states(["bina/1", "tap/2"])) == {"bina/1"}
    build(store)
    assert set(store.home_ids()) == {"bina/1"}


def test_the_rules_of_a_block_are_the_same_in_sql() -> None:
    rng = Random(4)
    for _ in range(30):
        some = facts_of_all(
            [
                advert(
                    str(ref),
                    floor=rng.choice([None, 5, 5, 6]),
                    area_m2=rng.choice([81.4, 81.4, 84.5]),
                    agency_name=rng.choice([None, "A", "B"]),
                    agency_ref=rng.choice([None, "r1", "r2"]),
                )
                for ref in range(3)
            ]
        )
        comparison = pairs.Comparison(some)
        found = comparison.in_blocks().tolist()
        comparison.close()
        for facts, is_in_one in zip(some, found, strict=True):
            groups = ([each for each in some if group in each.groups] for group in facts.groups)
            assert is_in_one == any(map(pairs.is_block, groups))


def test_a_photo_that_is_hashed_after_a_run_counts_in_the_next_one(store: FullStore) -> None:
    photos = ["https://img.example.com/1.jpg", "https://img.example.com/2.jpg"]
    written(store, advert("1", photos=photos[:1]), advert("2", "tap", photos=photos[1:]))
    build(store)
    store.keep_photo_hashes([PhotoHash("bina", "1", photos[0], -7), PhotoHash("tap", "2", photos[1], -5)])
    build(store)
    (link,) = store.home_links(store.home_ids()["bina/1"])
    assert dict(link.reasons)["photos_same"] > 0
    store.erase("tap", "2")
    assert store.photo_hashes("tap") == {}
    store.keep_photo_hashes([PhotoHash("tap", "2", photos[1], -5)])
    assert store.photo_hashes("tap") == {}, "it was erased"
    assert store.photo_hashes("bina", ["1"]) == {"1": {photos[0]: -7}}
