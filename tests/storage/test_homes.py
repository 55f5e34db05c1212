"""Homes and market figures in both stores: what is saved comes back, all or nothing."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from realestate.storage import FullStore, open_store
from realestate.storage.homes import (
    Clustered,
    Home,
    HomeFilter,
    HomeLink,
    HomesRun,
    MarketFilter,
    MarketWeek,
    Member,
    Pin,
)

WHEN = datetime(2026, 11, 2, 9, tzinfo=UTC)
RUN = HomesRun(
    built_at=WHEN,
    last_event=5,
    listings=3,
    homes=2,
    candidates=1,
    skipped_keys=0,
    skipped_listings=0,
    in_blocks=0,
    coverage={"bina": 0.5},
)
FLAT = Home(
    home="h1",
    country="AZ",
    operation="sale",
    property_type="apartment",
    city="Bakı",
    price=Decimal("125000.50"),
    currency="AZN",
    listings=2,
    portals=2,
    first_seen_at=WHEN,
    last_seen_at=WHEN,
)
HOUSE = Home(home="h2", country="BE", is_active=False, first_seen_at=WHEN, last_seen_at=WHEN, gone_at=WHEN)
CLUSTERED = Clustered(
    RUN,
    [FLAT, HOUSE],
    [Member("bina", "1", "h1"), Member("tap", "2", "h1"), Member("immoweb", "3", "h2")],
    [HomeLink("h1", "bina/1", "tap/2", 0.97, [("floor_same", 3.5), ("price_within_3", -0.1)])],
)
WEEK = MarketWeek(
    week=date(2026, 11, 2),
    country="AZ",
    city="Bakı",
    property_type="apartment",
    operation="sale",
    currency="AZN",
    stock=12,
    new=3,
    gone=1,
    median_price=125000.5,
)


@pytest.fixture(params=["store_url", "mongodb_url"])
def store(request: pytest.FixtureRequest) -> Iterator[FullStore]:
    found = open_store(request.getfixturevalue(request.param))
    found.migrate()
    yield found
    found.close()


def test_what_was_saved_comes_back(store: FullStore) -> None:
    assert store.homes_run() is None
    store.save_homes(CLUSTERED)
    assert store.homes_run() == RUN
    assert store.homes() == [FLAT, HOUSE]
    assert store.home("h2") == HOUSE
    assert store.home("h3") is None
    assert store.home_of("tap", "2") == "h1"
    assert store.home_of("tap", "9") is None
    assert store.home_members("h1") == [Member("bina", "1", "h1"), Member("tap", "2", "h1")]
    assert store.home_links("h1") == CLUSTERED.links
    assert store.home_ids() == {"bina/1": "h1", "tap/2": "h1", "immoweb/3": "h2"}


def test_homes_are_filtered_and_paged(store: FullStore) -> None:
    store.save_homes(CLUSTERED)
    assert store.homes(HomeFilter(city="Bakı", operation="sale", is_active=True)) == [FLAT]
    assert store.homes(HomeFilter(is_active=False)) == [HOUSE]
    assert store.homes(after="h1") == [HOUSE]
    assert store.homes(limit=1) == [FLAT]


def test_a_new_run_replaces_the_old_one(store: FullStore) -> None:
    store.save_homes(CLUSTERED)
    store.save_homes(Clustered(replace(RUN, homes=1), [FLAT], [Member("bina", "1", "h1")], []))
    assert store.homes() == [FLAT]
    assert store.home_links("h1") == []
    assert store.home_ids() == {"bina/1": "h1"}


def test_a_run_that_fails_in_the_middle_leaves_the_last_complete_one(store: FullStore) -> None:
    store.save_homes(CLUSTERED)

    def members() -> Iterator[Member]:
        yield Member("bina", "7", "h7")
        raise RuntimeError("killed")

    class Failing(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            return members()

    with pytest.raises(RuntimeError, match="killed"):
        store.save_homes(Clustered(replace(RUN, homes=9), [replace(FLAT, home="h7")], Failing(), []))
    assert store.homes() == [FLAT, HOUSE]
    assert store.homes_run() == RUN
    assert store.home_of("bina", "7") is None
    store.save_homes(CLUSTERED)
    assert store.homes() == [FLAT, HOUSE]


def test_the_last_decision_about_two_adverts_counts(store: FullStore) -> None:
    store.pin(Pin("join", "tap/2", "bina/1"))
    store.pin(Pin("split", "bina/1", "tap/2"))
    store.pin(Pin("join", "bina/1", "tap/3"))
    assert store.pins() == [Pin("split", "bina/1", "tap/2"), Pin("join", "bina/1", "tap/3")]


def test_an_erased_listing_is_in_no_home_and_no_decision(store: FullStore) -> None:
    store.save_homes(CLUSTERED)
    store.pin(Pin("join", "immoweb/3", "tap/2"))
    store.erase("immoweb", "3")
    assert store.home_of("immoweb", "3") is None
    assert store.home("h2") is None
    store.erase("tap", "2")
    assert store.home_members("h1") == [Member("bina", "1", "h1")]
    assert store.home_links("h1") == []
    assert store.pins() == []


def test_market_figures_are_replaced_from_a_week_on(store: FullStore) -> None:
    older = replace(WEEK, week=date(2026, 10, 26), median_price=120000.0)
    store.save_market([older, WEEK], older.week)
    changed = replace(WEEK, stock=13, gross_yield=0.06)
    store.save_market([changed], WEEK.week)
    assert store.market_weeks() == [older, changed]
    assert store.market_weeks(MarketFilter(since=WEEK.week)) == [changed]
    assert store.market_weeks(MarketFilter(city="Bakı", operation="sale", district="")) == [older, changed]
    assert store.market_weeks(MarketFilter(city="")) == []
    assert store.newest_market_weeks() == [changed]
    rent = replace(older, operation="rent", rent_period="month")
    store.save_market([older, rent, changed], older.week)
    assert store.newest_market_weeks() == [rent, changed]
