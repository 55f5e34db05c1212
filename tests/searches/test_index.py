"""The index finds the same searches as evaluating each of them, with little work."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from realestate.searches import index as index_module
from realestate.searches.index import SearchIndex
from realestate.storage.query import facts_of, matches, parse_filter
from realestate.storage.searches import EVENTS, Search, filter_of
from tests.examples import a_listing
from tests.storage.random_listings import random_filter, random_listing

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


def a_search(number: int, filter: str, **changes: Any) -> Search:
    values = {
        "id": f"{number:032x}",
        "name": f"search {number}",
        "filter": filter,
        "on": ("listed",),
        "notify": (),
        "is_paused": False,
        "after": 0,
        "created_at": NOW,
    }
    return Search(**{**values, **changes})


def found(searches: list[Search], listing: Any, type: str = "listed") -> list[str]:
    return [each.id for each in SearchIndex(searches).matching(type, facts_of(listing), NOW)]


@pytest.mark.parametrize("seed", range(20))
def test_the_index_finds_what_the_filters_find(seed: int) -> None:
    random = Random(seed)
    searches = [a_search(number, random_filter(random), on=tuple(random.sample(EVENTS, 3))) for number in range(150)]
    index = SearchIndex(searches)
    total = 0
    for number in range(60):
        facts = facts_of(random_listing(random, random.choice(("bina", "tap")), str(number)))
        type = random.choice(EVENTS)
        wanted = [each.id for each in searches if type in each.on and matches(filter_of(each), facts, NOW)]
        assert sorted(each.id for each in index.matching(type, facts, NOW)) == sorted(wanted)
        total += len(wanted)
    assert total > 0


@pytest.mark.parametrize(
    ("filter", "matching", "other"),
    [
        ("rooms>=3", {"rooms": 3}, {"rooms": 2}),
        ("rooms>3", {"rooms": 4}, {"rooms": 3}),
        ("price<150000", {"price": 149_999}, {"price": 150_000}),
        ("price<=150000", {"price": 150_000}, {"price": 150_001}),
        ("price<150000", {"price": 1}, {"price": None}),
        ("rooms=2,none", {"rooms": None}, {"rooms": 3}),
        ("features=garden", {"features": frozenset({"garden", "pool"})}, {"features": frozenset({"pool"})}),
        ("features=none", {"features": frozenset()}, {"features": frozenset({"pool"})}),
        ('title~"sea vi"', {"title": "Sea VIEW"}, {"title": "Sea"}),
        ("city=Gent rooms>=2 price<9", {"city": "Gent", "rooms": 2, "price": 8}, {"city": "Gent", "rooms": 2}),
        ("rooms=2 rooms=3", {}, {"rooms": 3}),
        ("status=active", {"status": "sold"}, {"status": "sold", "rooms": 1, "city": None}),
    ],
)
def test_limits_and_missing_values(filter: str, matching: dict[str, Any], other: dict[str, Any]) -> None:
    searches = [a_search(1, filter)]
    for values, want in ((matching, True), (other, False)):
        listing = a_listing(**values)
        is_found = bool(found(searches, listing))
        assert is_found == matches(filter_of(searches[0]), facts_of(listing), NOW)
        if values and "status" not in filter and "rooms=2 rooms" not in filter:
            assert is_found == want


def test_only_events_that_a_search_wants() -> None:
    searches = [a_search(1, "rooms>0"), a_search(2, "rooms>0", on=("delisted",))]
    assert found(searches, a_listing()) == [searches[0].id]
    assert found(searches, a_listing(status="delisted"), "delisted") == [searches[1].id]


def test_few_of_thousands_of_searches_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 events and 5,000 searches would be 2,500,000 evaluations."""
    random = Random(3)
    evaluated = 0

    def counting(filter: Any) -> Any:
        def holds(facts: Any, now: Any) -> bool:
            nonlocal evaluated
            evaluated += 1
            return matches(filter, facts, now)

        return holds

    monkeypatch.setattr(index_module, "matcher", counting)
    cities = [f"City {number}" for number in range(200)]
    searches = [
        a_search(
            number,
            f'city="{random.choice(cities)}" rooms>={random.randrange(1, 5)} price<{random.randrange(50, 500) * 1000}',
        )
        for number in range(5000)
    ]
    index = SearchIndex(searches)
    hits = 0
    for _ in range(500):
        listing = a_listing(city=random.choice(cities), rooms=random.randrange(1, 6), price=random.randrange(500_000))
        hits += len(list(index.matching("listed", facts_of(listing), NOW)))
    assert hits > 1000
    assert evaluated == hits, "the index decides comparisons by itself"


def test_a_filter_of_the_index_is_read_once() -> None:
    assert filter_of(a_search(1, "rooms>2")) == parse_filter("rooms>2 status=any")
