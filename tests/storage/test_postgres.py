import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import psycopg2
import pytest

from realestate.items import FIELDS, OURS, as_record
from realestate.storage import Quarantined, StoreAway, StoreError, Written, open_store
from realestate.storage.migrate import migrate, newest
from realestate.storage.postgres import PostgresStore
from tests.examples import a_listing

Ask = Callable[..., list[tuple[Any, ...]]]


def quarantined(ref: str = "9") -> Quarantined:
    record = as_record(a_listing(ref=ref))
    return Quarantined(portal="immoweb", ref=ref, url="https://x.example/", errors=("price: bad",), record=record)


def test_what_is_written_is_read_back(store: PostgresStore) -> None:
    listing = a_listing(price=Decimal("350000.50"))
    store.write([listing])
    (record,) = store.records("immoweb")
    true = as_record(listing)
    assert {name: record[name] for name in FIELDS if name not in OURS} == {
        name: true[name] for name in FIELDS if name not in OURS
    }
    assert record["extra"] == {"views": 12}
    assert record["first_seen_at"] == record["last_seen_at"] == record["last_fetched_at"]


def test_writing_twice_is_the_same_as_once(store: PostgresStore, sql: Ask) -> None:
    listings = [a_listing(ref=str(number)) for number in range(50)]
    assert store.write(listings, [quarantined()]) == Written(new=50, known=0, quarantined=1)
    before = sql("SELECT portal, ref, content_hash, first_seen_at FROM listings ORDER BY ref")
    assert store.write(listings, [quarantined()]).new == 0
    assert sql("SELECT portal, ref, content_hash, first_seen_at FROM listings ORDER BY ref") == before
    assert sql("SELECT count(*) FROM quarantine") == [(1,)]


def test_a_listing_twice_in_one_batch_is_kept_once_as_last_seen(store: PostgresStore) -> None:
    assert store.write([a_listing(), a_listing(title="Newer")]) == Written(new=1)
    assert [record["title"] for record in store.records("immoweb")] == ["Newer"]


def test_the_same_ref_on_two_portals_is_two_listings(store: PostgresStore) -> None:
    store.write([a_listing(), a_listing(portal="emlak")])
    assert store.counts() == {"immoweb": (1, 0), "emlak": (1, 0)}


def test_a_row_the_database_refuses_goes_to_quarantine_and_the_others_are_stored(
    store: PostgresStore, sql: Ask
) -> None:
    bad = a_listing(ref="bad", title="nul \0 inside")
    too_big = a_listing(ref="big", rooms=2**40)
    written = store.write([a_listing(ref="1"), bad, too_big, a_listing(ref="2")])
    assert written == Written(new=2, known=0, quarantined=2)
    assert sql("SELECT ref FROM listings ORDER BY ref") == [("1",), ("2",)]
    errors: dict[str, str] = dict(sql("SELECT ref, errors->>0 FROM quarantine"))
    assert set(errors) == {"bad", "big"}
    assert all(error.startswith("refused by the database: ") for error in errors.values())


def test_quarantine_takes_anything(store: PostgresStore, sql: Ask) -> None:
    hostile = {"title": "nul \0, half a pair \ud800", "nested": [{"\0": object()}]}
    item = Quarantined(portal="immoweb", ref="\0", url="\ud800", errors=("bad \0",), record=hostile)
    assert store.write((), [item]) == Written(quarantined=1)
    assert sql("SELECT ref, errors->>0, record->>'title' FROM quarantine") == [
        ("\ufffd", "bad \ufffd", "nul \ufffd, half a pair ?")
    ]


def test_two_writers_of_the_same_listings_neither_deadlock_nor_double(store_url: str, sql: Ask) -> None:
    listings = [a_listing(ref=str(number)) for number in range(200)]
    failures: list[BaseException] = []
    together = threading.Barrier(4)

    def write(order: list[Any]) -> None:
        own = PostgresStore(store_url)
        try:
            together.wait()
            for _ in range(5):
                own.write(order)
        except BaseException as error:
            failures.append(error)
        finally:
            own.close()

    orders = (listings, listings[::-1], listings[100:] + listings[:100], listings)
    threads = [threading.Thread(target=write, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sql("SELECT count(*), count(DISTINCT ref) FROM listings") == [(200, 200)]


def test_migrations_run_once_although_many_begin_together(store_url: str, sql: Ask) -> None:
    together = threading.Barrier(6)
    versions = []

    def start() -> None:
        connection = psycopg2.connect(store_url)
        together.wait()
        versions.append(migrate(connection))
        connection.close()

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert versions == [newest()] * 6
    assert sql("SELECT version FROM schema_version ORDER BY 1") == [(number,) for number in range(1, newest() + 1)]


def test_the_table_has_a_column_for_every_field(store: PostgresStore, sql: Ask) -> None:
    columns = sql("SELECT column_name FROM information_schema.columns WHERE table_name = 'listings'")
    assert {name for (name,) in columns} == set(FIELDS)


def test_a_database_that_went_away_is_found_again(store: PostgresStore, sql: Ask) -> None:
    store.write([a_listing()])
    sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )
    with pytest.raises(StoreAway):
        store.write([a_listing(ref="2")])
    assert store.write([a_listing(ref="2")]).new == 1


def test_a_database_that_is_not_there_is_said_in_one_line() -> None:
    store = open_store("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(StoreAway) as caught:
        store.counts()
    assert "\n" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize("url", [None, "", "mysql://x/y", "listings.db"])
def test_an_address_of_no_store_is_refused(url: str | None) -> None:
    with pytest.raises(StoreError, match="STORE_URL"):
        open_store(url)


def test_medians_of_a_square_metre_are_of_like_listings_on_offer(store: PostgresStore) -> None:
    def at(price: int, **changes: Any) -> Any:
        return a_listing(ref=f"{price}{changes}", price_per_m2=Decimal(price), **changes)

    rents = [at(price, operation="rent", rent_period="month") for price in (10, 11)]
    not_on_offer = at(1, status="delisted")
    nowhere, without_a_price = at(5, city=None), a_listing(ref="unknown")
    store.write([at(1000), at(2000), at(9000, status="reserved"), not_on_offer, nowhere, without_a_price, *rents])
    store.write([at(3000, district=None), at(7, currency="USD")])
    assert {tuple(row) for row in store.medians()} == {
        ("BE", "Namur", "Namur", "sale", "house", None, "EUR", 2000.0, 3),
        ("BE", "Namur", None, "sale", "house", None, "EUR", 3000.0, 1),
        ("BE", "Namur", "Namur", "rent", "house", "month", "EUR", 10.5, 2),
        ("BE", "Namur", "Namur", "sale", "house", None, "USD", 7.0, 1),
    }


def test_the_market_tells_medians_by_place_and_operation(store: PostgresStore) -> None:
    prices = (100_000, 200_000, 900_000)
    store.write(
        [replace(a_listing(), ref=str(p), price=Decimal(p), price_per_m2=Decimal(p) / 100) for p in prices]
        + [a_listing(ref="rent", operation="rent", rent_period="month", price=Decimal(900))]
        + [a_listing(ref="daily", operation="rent", rent_period="day", price=Decimal(50))]
        + [a_listing(ref="gone", price=Decimal(1), status="delisted")]
    )
    sale, rent = store.market("BE")
    assert (sale.city, sale.operation, sale.listings) == ("Namur", "sale", 3)
    assert (sale.median_price, sale.median_price_per_m2) == (Decimal(200_000), Decimal(2000))
    assert (rent.operation, rent.listings, rent.median_price) == ("rent", 1, Decimal(900))
    assert store.market("AZ") == []
