"""Searches of both stores, compared with the same filters evaluated in Python."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from realestate.items import Listing
from realestate.pipelines.clean import clean
from realestate.storage import FullStore, open_store
from realestate.storage.query import (
    FACETS,
    SORTS,
    Filter,
    ListingQuery,
    QueryError,
    facts_of,
    matches,
    parse_box,
    parse_filter,
)
from realestate.storage.query import results as query_results
from realestate.storage.query.hexagons import cells_of, hexagons
from realestate.storage.query.listing_query import Place
from realestate.storage.records import listing_of
from tests.storage.batches import batch
from tests.storage.conftest import Scaled
from tests.storage.random_listings import PORTALS, random_filter, random_listing

KNOWN_SEEDS = (1, 2, 3)


def fill(store: FullStore, random: Random, count: int) -> None:
    """Listings that are new, changed, cheaper, sold and back."""
    keys = [(random.choice(PORTALS), str(number)) for number in range(count)]
    store.write(batch(*(clean(random_listing(random, *key)) for key in keys)))
    for round in range(3):
        some = random.sample(keys, count // 3)
        changed = []
        for key in some:
            listing = random_listing(random, *key)
            listing.status = random.choice(("active", "active", "reserved", "sold"))
            changed.append(clean(listing))
        store.write(batch(*changed, job=f"job {round}"))


def everything(store: FullStore) -> list[dict[str, Any]]:
    """The facts of all listings, by portal and ref: from the records and the history."""
    found = []
    for portal in sorted(PORTALS):
        for record in store.records(portal):
            listing = listing_of(record)
            found.append(facts_of(listing, store.history(portal, listing.ref)))
    return sorted(found, key=lambda facts: (facts["portal"], facts["ref"]))


def in_order(facts: Sequence[dict[str, Any]], sort: str) -> list[tuple[str, str]]:
    name = sort.removeprefix("-")
    down = sort.startswith("-")
    with_value = [each for each in facts if each[name] is not None]
    without = [each for each in facts if each[name] is None]
    with_value.sort(key=lambda each: (each[name], each["portal"], each["ref"]), reverse=down)
    without.sort(key=lambda each: (each["portal"], each["ref"]), reverse=down)
    return [(each["portal"], each["ref"]) for each in (*with_value, *without)]


def all_pages(store: FullStore, filter: Filter, sort: str, page_size: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    cursor = None
    while True:
        query = ListingQuery(filter=filter, sort=sort, cursor=cursor, page_size=page_size, fields=("portal", "ref"))
        page = store.search(query)
        assert len(page.rows) <= page_size
        found += [(row["portal"], row["ref"]) for row in page.rows]
        cursor = page.next
        if cursor is None:
            return found


def check(store: FullStore, facts: Sequence[dict[str, Any]], now: datetime, random: Random) -> int:
    """Compare one random filter; return how many listings match."""
    text = random_filter(random)
    filter = parse_filter(text)
    assert parse_filter(str(filter)) == filter, text
    true = [each for each in facts if matches(filter, each, now)]
    sort = random.choice(("", "-")) + random.choice(SORTS)
    keys = [(each["portal"], each["ref"]) for each in true]
    assert all_pages(store, filter, sort, random.choice((1, 3, 500))) == in_order(true, sort), (text, sort)
    assert [(each.portal, each.ref) for each in store.matching(filter)] == keys, text
    assert (store.count(filter).number, store.count(filter).is_exact) == (len(true), True), text
    name = random.choice(FACETS)
    (facet,) = store.facets(filter, [name])
    assert {each.value: each.count for each in facet.values} == Counter(each[name] for each in true), (text, name)
    places = [(each["latitude"], each["longitude"]) for each in true if each["latitude"] is not None]
    resolution = random.choice(query_results.RESOLUTIONS)
    cells = cells_of(places, resolution)
    assert {each.cell: each.count for each in store.hexagons(filter, resolution)} == cells, text
    box = parse_box("49.7,40.3,50,40.5")
    within = [
        each for each in true if each["latitude"] is not None and box.contains(each["longitude"], each["latitude"])
    ]
    assert {(each.portal, each.ref) for each in store.points(filter, box)} == {
        (each["portal"], each["ref"]) for each in within
    }, text
    shown = {each.cell: each.count for each in store.hexagons(filter, resolution, box)}
    assert shown == {each.cell: each.count for each in hexagons(cells, box)}, text
    return len(true)


def test_a_search_finds_what_python_finds(any_store: FullStore, scaled: Scaled) -> None:
    random = Random(20261118)
    fill(any_store, random, scaled(150))
    facts = everything(any_store)
    now = any_store.query_time()
    found = [check(any_store, facts, now, random) for _ in range(scaled(150))]
    assert sum(map(bool, found)) > len(found) // 3, "the filters find something"
    assert {each["cheaper_by"] is not None for each in facts} == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("seed", KNOWN_SEEDS)
def test_many_searches_find_what_python_finds(any_store: FullStore, seed: int, scaled: Scaled) -> None:
    random = Random(seed)
    fill(any_store, random, scaled(400))
    facts = everything(any_store)
    now = any_store.query_time()
    for _ in range(scaled(200)):
        check(any_store, facts, now, random)


def test_rows_have_the_wanted_fields(any_store: FullStore) -> None:
    random = Random(1)
    listing: Listing = clean(random_listing(random, "bina", "1"))
    listing.photos = ["https://photos.example/a.jpg", "https://photos.example/b.jpg"]
    any_store.write(batch(listing))
    names = ("ref", "price", "photo", "photos", "description", "photo_count", "extra", "last_seen_at", "features")
    ((row,),) = [any_store.search(ListingQuery(fields=names)).rows]
    assert tuple(row) == names
    assert (row["photo"], row["photo_count"]) == ("https://photos.example/a.jpg", 2)
    assert (row["price"], row["description"]) == (listing.price, listing.description)
    assert row["last_seen_at"] is not None
    assert (row["photos"], frozenset(row["features"])) == (listing.photos, listing.features)


def test_a_listing_comes_with_its_history(any_store: FullStore) -> None:
    listing = replace(random_listing(Random(1), "bina", "1"), operation="sale", price_basis="total")
    for price in (100_000, 90_000):
        any_store.write(batch(clean(replace(listing, price=Decimal(price), currency="AZN"))))
    found = any_store.detail("bina", "1")
    assert found is not None
    assert found.listing.price == Decimal(90_000)
    assert "price_changed" in [each.type for each in found.events]
    assert [each.price for each in found.prices] == [Decimal(100_000), Decimal(90_000)]
    assert found.facts["cheaper_by"] == Decimal(10)
    assert any_store.detail("bina", "2") is None
    assert any_store.facts("bina", ["1", "2"])["1"]["cheaper_by"] == Decimal(10)


def test_pages_stay_in_order_while_listings_come_and_go(any_store: FullStore) -> None:
    random = Random(5)
    keys = [("bina", f"{number:03}") for number in range(20)]
    any_store.write(batch(*(clean(random_listing(random, *key)) for key in keys)))
    first = any_store.search(ListingQuery(sort="first_seen_at", page_size=10, fields=("ref",)))
    any_store.erase("bina", first.rows[-1]["ref"])
    any_store.write(batch(clean(random_listing(random, "bina", "999"))))
    query = ListingQuery(sort="first_seen_at", page_size=50, fields=("ref",), cursor=first.next)
    rest = any_store.search(query)
    seen = [row["ref"] for row in (*first.rows, *rest.rows)]
    assert len(seen) == len(set(seen)) == 21, "each once, also the new one; the erased one was on the first page"


def test_more_matches_than_are_counted(any_store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(6)
    any_store.write(batch(*(clean(random_listing(random, "bina", str(number))) for number in range(8))))
    for module in ("realestate.storage.postgres.query", "realestate.storage.mongo.query"):
        monkeypatch.setattr(f"{module}.COUNTED", 5)
    count = any_store.count(parse_filter("portal~b"))
    assert (count.number, count.is_exact, str(count)) == (5, False, "5+")
    assert str(query_results.Count(10_000, False)) == "10,000+"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"sort": "title"}, "sort is one of"),
        ({"page_size": 0}, "between 1 and 500"),
        ({"page_size": 501}, "between 1 and 500"),
        ({"fields": ("title", "phone")}, "no field 'phone'"),
        ({"fields": ()}, "at least one field"),
        ({"cursor": "x" * 5000}, "the cursor is not one"),
        ({"cursor": "!!"}, "the cursor is not one"),
        ({"cursor": "WzEsMl0"}, "the cursor is not one"),
    ],
)
def test_a_wrong_question_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(QueryError, match=sentence):
        ListingQuery(**wrong)


@pytest.mark.parametrize("offset", [-14, 14, None])
def test_a_cursor_with_a_time_that_no_database_reads_is_refused(offset: int | None) -> None:
    zone = None if offset is None else timezone(timedelta(hours=offset))
    time = (datetime.max if offset == -14 else datetime.min).replace(tzinfo=zone)
    cursor = ListingQuery().cursor_after(Place(time, "bina", "1"))
    with pytest.raises(QueryError, match="the cursor is not one"):
        ListingQuery(cursor=cursor)


def test_a_question_to_mongodb_that_takes_too_long_is_given_up(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PostgreSQL's statement timeout does: nobody waits until millions of documents were read."""
    store = open_store(mongodb_url)
    store.migrate()
    random = Random(9)
    store.write(batch(*(clean(random_listing(random, "bina", str(number))) for number in range(3))))
    assert store.count().number
    monkeypatch.setattr("realestate.storage.mongo.query.LONGEST_SECONDS", 0)
    with pytest.raises(QueryError, match="takes longer than"):
        store.count()
    store.close()


def test_a_cursor_continues_only_its_own_search(any_store: FullStore) -> None:
    random = Random(7)
    any_store.write(batch(*(clean(random_listing(random, "bina", str(number))) for number in range(3))))
    cursor = any_store.search(ListingQuery(page_size=1)).next
    with pytest.raises(QueryError, match="another filter or sort order"):
        ListingQuery(page_size=1, cursor=cursor, sort="price")
    with pytest.raises(QueryError, match="another filter or sort order"):
        ListingQuery(page_size=1, cursor=cursor, filter=parse_filter("rooms=2"))


def test_a_restored_store_finds_the_same(any_store: FullStore, other_store: FullStore, scaled: Scaled) -> None:
    random = Random(8)
    fill(any_store, random, scaled(60))
    other_store.restore(any_store.everything())
    names = ("portal", "ref", "cheaper_by", "changed_at", "price_changed_at", "photo", "status", "title")
    query = ListingQuery(filter=parse_filter("status=any"), sort="price", page_size=500, fields=names)
    assert list(map(cut, other_store.search(query).rows)) == list(map(cut, any_store.search(query).rows))


def cut(row: dict[str, Any]) -> dict[str, Any]:
    """The row with times as MongoDB keeps them."""
    times = {name: value for name, value in row.items() if isinstance(value, datetime)}
    return row | {name: value.replace(microsecond=value.microsecond // 1000 * 1000) for name, value in times.items()}
