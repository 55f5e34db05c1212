"""Maintenance on a real server of each kind: quarantine, corrections, retention, erasure."""

import random
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast, get_args

import pytest

from realestate.items import Listing, as_record
from realestate.storage import Batch, Quarantined
from realestate.storage.contacts import Sealed, Source
from realestate.storage.maintenance import SLACK, TRIMMED, Expired, FullStore, fault_of
from realestate.storage.snapshots import SnapshotRef
from tests.examples import a_listing
from tests.storage.batches import PORTAL, all_events, batch, card, gone, later, page, pages, record, types
from tests.storage.conftest import OpenStore, Scaled
from tests.storage.snapshots.examples import a_page

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


def bad(ref: str = "1", *errors: str, portal: str = PORTAL, **changes: Any) -> Quarantined:
    return Quarantined.of(a_listing(ref=ref, portal=portal, **changes), *(errors or ("price: bad",)))


def read_at(when: datetime, ref: str = "1", **changes: Any) -> Listing:
    """A listing whose page was fetched at that time."""
    return replace(page(ref, **changes), last_fetched_at=when)


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_the_store_has_every_method_of_its_protocol(any_store: FullStore) -> None:
    assert isinstance(any_store, FullStore)


# ----- quarantine


def test_quarantine_is_read_back_newest_first(any_store: FullStore) -> None:
    for ref in ("1", "2", "3"):
        any_store.write(Batch(quarantined=[bad(ref, "price: bad", "floor_above_building: 9 of 3")]))
        later()
    found = any_store.quarantined()
    assert [entry.ref for entry in found] == ["3", "2", "1"]
    entry = found[0]
    assert entry.errors == ("price: bad", "floor_above_building: 9 of 3")
    assert (entry.portal, entry.url) == (PORTAL, a_listing().url)
    assert entry.record == as_record(a_listing(ref="3"))
    assert len({entry.id for entry in found}) == 3
    assert abs(entry.at - datetime.now(UTC)) < timedelta(hours=1)
    assert [entry.ref for entry in any_store.quarantined(limit=2)] == ["3", "2"]


def test_quarantine_is_found_by_portal_ref_fault_and_id(any_store: FullStore) -> None:
    entries = [
        bad("1", "price: bad"),
        bad("2", "photos.0: no address", "price.deep: bad"),
        bad("1", "area_m2: 1, not: 2", portal="emlak"),
        bad("4", "refused by the database: it: says no"),
    ]
    any_store.write(Batch(quarantined=entries))

    def refs(**asked: Any) -> list[tuple[str, str]]:
        return sorted((entry.portal, entry.ref) for entry in any_store.quarantined(**asked))

    assert refs(portal="emlak") == [("emlak", "1")]
    assert refs(ref="1") == [("emlak", "1"), (PORTAL, "1")]
    assert refs(portal=PORTAL, ref="1") == [(PORTAL, "1")]
    assert refs(fault="price") == [(PORTAL, "1"), (PORTAL, "2")]
    assert refs(fault="photos") == [(PORTAL, "2")]
    assert refs(fault="refused by the database") == [(PORTAL, "4")]
    assert refs(fault="nothing") == []
    (wanted,) = any_store.quarantined(fault="area_m2")
    assert any_store.quarantined(ids=[wanted.id]) == [wanted]
    assert any_store.quarantined(ids=[]) == []


def test_faults_are_counted_by_portal_the_most_first(any_store: FullStore) -> None:
    entries = [bad(str(ref), "price: bad", "price: worse") for ref in range(3)]
    entries += [bad("7", "photos.0: x", "photos.1: y"), bad("8", "city: bad", portal="emlak")]
    any_store.write(Batch(quarantined=entries))
    assert any_store.faults() == {PORTAL: {"price": 3, "photos": 1}, "emlak": {"city": 1}}
    assert list(any_store.faults()[PORTAL]) == ["price", "photos"]
    assert any_store.faults("emlak") == {"emlak": {"city": 1}}
    faults = {fault_of(error) for entry in any_store.quarantined() for error in entry.errors}
    assert faults == {"price", "photos", "city"}


def test_dropping_removes_only_the_named_entries(any_store: FullStore) -> None:
    any_store.write(Batch(quarantined=[bad(str(ref)) for ref in range(4)]))
    ids = [entry.id for entry in any_store.quarantined() if entry.ref in ("1", "2")]
    assert any_store.drop_quarantined([*ids, "nothing"]) == 2
    assert sorted(entry.ref for entry in any_store.quarantined()) == ["0", "3"]
    assert any_store.drop_quarantined(ids) == 0


# ----- pages that are parsed again


def test_stored_listings_are_returned_with_their_suspect_prices(any_store: FullStore) -> None:
    any_store.write(batch(*pages(3)))
    any_store.write(batch(card("1", 340000), page("2", price=Decimal(3500)), job="b"))
    found = any_store.current(PORTAL, ["0", "1", "2", "nobody"])
    assert sorted(found) == ["0", "1", "2"]
    assert [found[ref].repriced for ref in "012"] == [False, True, False]
    assert as_record(found["0"].state.listing) == record(any_store, "0")
    assert (found["0"].state.revision, found["0"].state.suspect) == (1, None)
    assert found["2"].state.suspect is not None
    assert found["2"].state.suspect.price == Decimal(3500)
    assert any_store.current("emlak", ["0"]) == {}


def test_a_corrected_update_time_makes_no_market_event(any_store: FullStore) -> None:
    any_store.write(batch(page(posted_at=datetime(2026, 9, 1, 6, tzinfo=UTC))))
    assert any_store.correct([page()], "reparse") == {"corrected": 1, "unchanged": 0, "unknown": 0}
    assert time_of(record(any_store)["posted_at"]) == page().posted_at
    (event,) = [event for event in any_store.history(PORTAL, "1") if event.type != "listed"]
    assert (event.type, list(event.data["fields"])) == ("corrected", ["posted_at"])
    assert any_store.correct([page()], "reparse")["corrected"] == 0
    assert any_store.write(batch(page())).events == {}, "the next crawl finds nothing new"


def test_a_released_listing_is_listed_at_the_time_of_its_page(any_store: FullStore) -> None:
    then = NOW - 3 * DAY
    any_store.write(Batch(quarantined=[bad("1", "price: bad")]))
    assert any_store.release([read_at(then)], "reparse") == {"released": 1}
    found = record(any_store)
    for name in ("first_seen_at", "last_seen_at", "last_fetched_at"):
        assert abs(time_of(found[name]) - then) < timedelta(milliseconds=1)
    (event,) = any_store.history(PORTAL, "1")
    assert (event.type, event.job) == ("listed", "reparse")
    assert abs(event.at - then) < timedelta(milliseconds=1)
    assert [seen.price for seen in any_store.prices(PORTAL, "1")] == [Decimal(350000)]


def test_market_events_of_released_pages_have_the_time_of_their_pages(any_store: FullStore) -> None:
    any_store.release([read_at(NOW - 4 * DAY)], "reparse")
    any_store.release([read_at(NOW - 3 * DAY, price=Decimal(330000)), read_at(NOW - 2 * DAY, title="New")], "reparse")
    events = any_store.history(PORTAL, "1")
    assert [event.type for event in events] == ["listed", "price_changed", "price_changed", "updated"]
    days = [round((NOW - event.at) / DAY) for event in events]
    assert days == [4, 3, 2, 2]
    assert abs(time_of(record(any_store)["last_fetched_at"]) - (NOW - 2 * DAY)) < timedelta(milliseconds=1)


def test_releasing_twice_is_the_same_as_once(any_store: FullStore) -> None:
    listings = [read_at(NOW - 3 * DAY), read_at(NOW - 2 * DAY, title="New"), read_at(NOW - DAY, "2")]
    any_store.release(listings, "a")
    before = (list(any_store.records(PORTAL)), all_events(any_store))
    any_store.release(listings[1:], "b")
    assert (list(any_store.records(PORTAL)), all_events(any_store)) == before


def test_a_page_older_than_the_last_sighting_corrects_fields_but_not_the_price(any_store: FullStore) -> None:
    """A released record is old. A newer price or status of the market wins over it."""
    any_store.write(batch(page()))
    any_store.write(batch(card("1", 340000), job="b"))
    result = any_store.release([read_at(NOW - DAY, price=Decimal(320000), title="New")], "reparse")
    assert result == {"released": 1}
    assert types(any_store) == ["listed", "price_changed", "corrected"]
    found = record(any_store)
    assert (found["title"], found["price"]) == ("New", 340000)
    assert time_of(found["last_fetched_at"]) > NOW - timedelta(hours=1)


def test_a_page_from_before_the_delisting_does_not_relist(any_store: FullStore) -> None:
    any_store.write(batch(page()))
    later()
    any_store.begin_job("job", PORTAL, "full", "part")
    any_store.write(batch(gone(), job="job"))
    any_store.conclude("job", PORTAL, force=True)
    any_store.release([read_at(NOW - DAY, title="New")], "reparse")
    assert types(any_store) == ["listed", "delisted", "corrected"]
    assert (record(any_store)["status"], record(any_store)["title"]) == ("delisted", "New")


def test_a_page_from_after_the_delisting_relists(any_store: FullStore) -> None:
    any_store.release([read_at(NOW - 9 * DAY, status="sold")], "reparse")
    any_store.release([read_at(NOW - 2 * DAY)], "reparse")
    assert types(any_store) == ["listed", "relisted"]
    assert record(any_store)["status"] == "active"


def test_a_time_in_the_future_is_cut_to_the_present(any_store: FullStore) -> None:
    any_store.release([read_at(NOW + 5 * DAY)], "reparse")
    assert time_of(record(any_store)["last_seen_at"]) < NOW + DAY


def test_a_release_removes_quarantine_entries_that_are_not_newer(any_store: FullStore) -> None:
    any_store.write(Batch(quarantined=[bad("1", "price: bad"), bad("1", "city: bad"), bad("2"), bad("1", portal="x")]))
    any_store.release([read_at(NOW - 2 * SLACK)], "reparse")
    assert len(any_store.quarantined()) == 4, "the page is older than these entries"
    any_store.release([read_at(datetime.now(UTC))], "reparse")
    assert sorted((entry.portal, entry.ref) for entry in any_store.quarantined()) == [(PORTAL, "2"), ("x", "1")]


def test_a_listing_that_the_database_refuses_is_not_released_and_the_others_are(any_store: FullStore) -> None:
    result = any_store.release([read_at(NOW, "bad", rooms=2**64), read_at(NOW, "2")], "reparse")
    assert result == {"refused": 1, "released": 1}
    assert [row["ref"] for row in any_store.records(PORTAL)] == ["2"]


# ----- the index of raw pages


def a_row(ref: str | None = "1", number: int = 0, file: str = "a", **changes: Any) -> SnapshotRef:
    kept = a_page(ref=ref, fetched_at=NOW.replace(microsecond=0) + number * DAY, **changes)
    return SnapshotRef.of(kept, f"immoweb/failed/20261104T120000Z-{file}-1.warc.gz", number * 100, 100)


def test_the_index_returns_its_rows(any_store: FullStore) -> None:
    rows = [a_row(number=number) for number in range(3)]
    other = [a_row("2", 5), a_row(None, 6, job=None), a_row("1", 7, portal="emlak")]
    any_store.reindex(rows[0].file, [*rows, *other])
    assert any_store.snapshots(PORTAL, "1") == rows[::-1], "the newest first"
    assert any_store.snapshots("emlak", "1") == other[2:]
    assert any_store.snapshots(PORTAL, "9") == []


def test_reindexing_a_file_leaves_other_files_alone(any_store: FullStore) -> None:
    first, second = a_row(file="a"), a_row(number=1, file="b")
    any_store.reindex(first.file, [first])
    any_store.reindex(second.file, [second])
    moved = replace(first, offset=7, length=9)
    any_store.reindex(first.file, [moved])
    assert any_store.snapshots(PORTAL, "1") == [second, moved]
    any_store.drop_snapshots([second.file, "nothing"])
    assert any_store.snapshots(PORTAL, "1") == [moved]
    any_store.reindex(first.file, [])
    assert any_store.snapshots(PORTAL, "1") == []


def test_old_rows_are_dropped_although_their_file_is_not_here(any_store: FullStore) -> None:
    rows = [a_row("1", -number, kind=kind) for number, kind in enumerate(("failed", "sampled") * 3)]
    any_store.reindex(rows[0].file, rows)
    any_store.drop_old_pages("failed", 1.5)
    left = [(row.kind, round((NOW - row.fetched_at) / DAY)) for row in any_store.snapshots(PORTAL, "1")]
    assert left == [("failed", 0), ("sampled", 1), ("sampled", 3), ("sampled", 5)]


# ----- retention


def test_only_old_entries_expire(any_store: FullStore) -> None:
    any_store.write(Batch(quarantined=[bad("1"), bad("2")]))
    assert any_store.expire(quarantine_days=1, delisted_days=1) == Expired()
    assert any_store.expire(quarantine_days=None, delisted_days=None) == Expired()
    later()
    assert any_store.expire(quarantine_days=0, delisted_days=None, dry_run=True) == Expired(quarantined=2)
    assert len(any_store.quarantined()) == 2
    assert any_store.expire(quarantine_days=0, delisted_days=None) == Expired(quarantined=2)
    assert any_store.quarantined() == []


@pytest.fixture
def long_gone(any_store: FullStore) -> FullStore:
    """One is offered, one left two days ago, two left twenty days ago."""
    wordy: dict[str, Any] = {"description": "Sunny.", "extra": {"phone": "x"}, "quality_flags": frozenset({"odd"})}
    listings = [
        read_at(NOW - 20 * DAY, "offered", **wordy),
        read_at(NOW - 20 * DAY, "left", **wordy),
        read_at(NOW - 2 * DAY, "left", status="sold", **wordy),
        read_at(NOW - 21 * DAY, "long gone", **wordy),
        read_at(NOW - 20 * DAY, "long gone", status="sold", **wordy),
        read_at(NOW - 20 * DAY, "long gone too", status="delisted", **wordy),
    ]
    any_store.release(listings, "job")
    return any_store


def test_a_listing_delisted_long_ago_loses_its_texts_and_keeps_its_history(long_gone: FullStore) -> None:
    before = {row["ref"]: row for row in long_gone.records(PORTAL)}
    events = all_events(long_gone)
    assert long_gone.expire(quarantine_days=None, delisted_days=10, dry_run=True) == Expired(trimmed=2)
    assert {row["ref"]: row for row in long_gone.records(PORTAL)} == before
    assert long_gone.expire(quarantine_days=None, delisted_days=10) == Expired(trimmed=2)
    lost: dict[str, Any] = {"description": None, "photos": [], "extra": {}, "quality_flags": ["odd", TRIMMED]}
    for row in long_gone.records(PORTAL):
        assert row == before[row["ref"]] | (lost if "long gone" in row["ref"] else {})
    assert all_events(long_gone) == events
    assert long_gone.expire(quarantine_days=None, delisted_days=10) == Expired(), (
        "the second time there is nothing to do"
    )


def test_a_listing_delisted_long_ago_loses_the_texts_of_its_events(any_store: FullStore) -> None:
    any_store.write(batch(page(description="Sunny.", title="Old"), page("2", description="Sunny.")))
    any_store.write(batch(page(description="Call me.", title="New"), page("2", description="Dark.")))
    any_store.write(batch(page(status="sold")))
    any_store.expire(quarantine_days=None, delisted_days=0)
    trimmed = {"fields": {"description": [None, None], "title": ["Old", "New"]}}
    whole = {"fields": {"description": ["Sunny.", "Dark."]}}
    updates = {each.event.ref: each.event.data for each in all_events(any_store) if each.event.type == "updated"}
    assert updates == {"1": trimmed, "2": whole}
    assert [each.data for each in any_store.history(PORTAL, "1") if each.type == "updated"] == [trimmed]


def test_a_trimmed_listing_that_returns_is_complete_and_only_relisted(long_gone: FullStore) -> None:
    long_gone.expire(quarantine_days=None, delisted_days=10)
    back = page("long gone", description="Sunny.", extra={"phone": "x"})
    long_gone.write(batch(back))
    assert record(long_gone, "long gone")["description"] == "Sunny."
    assert TRIMMED not in record(long_gone, "long gone")["quality_flags"]
    assert types(long_gone, "long gone") == ["listed", "sold", "relisted"]


def test_many_listings_are_trimmed(any_store: FullStore, scaled: Scaled) -> None:
    many = scaled(3000)
    any_store.write(batch(*pages(many, status="sold", description="Sunny.")))
    later()
    assert any_store.expire(quarantine_days=None, delisted_days=0) == Expired(trimmed=many)
    assert {row["description"] for row in any_store.records(PORTAL)} == {None}


# ----- erasure


def all_of(store: FullStore, ref: str) -> list[Any]:
    """Every record of the store that names the listing."""
    return [record for part, record in store.everything() if part != "erased" and f"'{ref}'" in repr(record)]


@pytest.fixture
def known(any_store: FullStore) -> FullStore:
    """A store with records of the listings `1` and `2` in every part."""
    any_store.begin_job("job", PORTAL, "full", "part")
    for ref in ("1", "2"):
        any_store.write(batch(page(ref), page(ref, title="New"), card(ref, 340000), gone(ref), job="job"))
        any_store.write(Batch(quarantined=[bad(ref)]))
    any_store.write(batch(page("1", portal="emlak")))
    return any_store


def test_nothing_of_an_erased_listing_is_left_and_the_others_are_untouched(known: FullStore) -> None:
    others = all_of(known, "2")
    erased = known.erase(PORTAL, "1")
    assert (erased.portal, erased.ref) == (PORTAL, "1")
    assert erased.removed == {
        "listings": 1,
        "events": 3,
        "prices": 2,
        "departures": 1,
        "others": 0,
        "quarantine": 1,
        "contacts": 0,
        "validators": 0,
        "cards": 0,
        "home_listings": 0,
        "home_states": 0,
        "photo_hashes": 0,
    }
    assert [record.listing["portal"] for record in all_of(known, "1") if hasattr(record, "listing")] == ["emlak"]
    assert not [record for record in all_of(known, "1") if f"'{PORTAL}'" in repr(record)]
    assert all_of(known, "2") == others
    assert known.history(PORTAL, "1") == []
    assert known.prices(PORTAL, "1") == []
    assert known.erased(PORTAL) == {"1"}
    assert known.erased("emlak") == frozenset()


def test_an_erased_listing_is_not_stored_again(known: FullStore) -> None:
    known.erase(PORTAL, "1")
    again: list[Any] = [page("1", title="Newer"), card("1", 1000), gone("1"), page("3")]
    written = known.write(Batch([(item, "job") for item in again], [bad("1", "city: bad")]))
    assert (written.new, written.known) == (1, 0)
    assert known.write(batch(page("1"))).new == 0
    assert known.release([read_at(NOW)], "reparse") == {"erased": 1}
    assert known.correct([page("1")], "reparse")["unknown"] == 1
    assert not [record for record in all_of(known, "1") if f"'{PORTAL}'" in repr(record)]
    assert record(known, "3")
    assert known.erase(PORTAL, "1").removed["listings"] == 0, "erasing again is safe"


def test_a_listing_can_be_erased_before_it_is_seen(any_store: FullStore) -> None:
    hostile = "a/b' %s \\ ə"
    assert not any(any_store.erase(PORTAL, hostile).removed.values())
    assert any_store.erased(PORTAL) == {hostile}
    assert any_store.write(batch(page(hostile))).new == 0
    assert any_store.write(batch(page(f"{hostile}2"))).new == 1


def test_numbers_of_erased_events_are_not_used_again(any_store: FullStore) -> None:
    any_store.write(batch(page("1")))
    any_store.write(batch(page("2")))
    last = all_events(any_store)[-1].seq
    any_store.erase(PORTAL, "2")
    any_store.write(batch(page("3")))
    assert all_events(any_store)[-1].seq > last


def test_a_listing_is_erased_while_two_workers_write_it(any_store: FullStore, open_another: OpenStore) -> None:
    """In any order of the writes, it is not there in the end."""
    any_store.write(batch(*pages(20)))
    stop = threading.Event()
    failures: list[BaseException] = []

    def work(seed: int, store: FullStore) -> None:
        dice = random.Random(seed)
        try:
            while not stop.is_set():
                some = [page(str(ref), price=Decimal(dice.randrange(300000, 400000))) for ref in range(20)]
                dice.shuffle(some)
                store.write(Batch([(each, "job") for each in some], [bad(dice.choice("0123456789"))]))
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(seed, cast(FullStore, open_another()))) for seed in range(2)]
    for worker in workers:
        worker.start()
    for ref in range(10):
        any_store.erase(PORTAL, str(ref))
        threading.Event().wait(0.03)
    stop.set()
    for worker in workers:
        worker.join()
    assert failures == []
    for ref in range(10):
        assert all_of(any_store, str(ref)) == []
    assert sorted(row["ref"] for row in any_store.records(PORTAL)) == sorted(map(str, range(10, 20)))


def test_the_rows_of_erased_pages_wait_until_their_files_are_rewritten(any_store: FullStore) -> None:
    rows = [a_row("1"), a_row("2", 1), a_row("1", 2, portal="emlak"), a_row(None, 3)]
    any_store.reindex(rows[0].file, rows)
    assert any_store.erased_pages() == []
    any_store.erase(PORTAL, "1")
    assert any_store.erased_pages() == rows[:1]
    any_store.reindex(rows[0].file, rows[1:])
    assert any_store.erased_pages() == []
    assert any_store.snapshots(PORTAL, "2") == [rows[1]]


def sealed(ref: str = "1", *marks: str, source: Source = "page") -> Sealed:
    return Sealed(PORTAL, ref, b"sealed", marks, source)


def contacts(store: FullStore) -> list[str]:
    return [record.ref for part, record in store.everything() if part == "contacts"]


def test_contacts_of_a_page_and_of_a_telephone_request_are_stored_separately(any_store: FullStore) -> None:
    any_store.keep_contacts([sealed("1", "k:a"), sealed("1", "k:b", source="asked")], 30)
    any_store.keep_contacts([sealed("1", "k:c", source="asked"), sealed("1/asked"), sealed("asked:1")], 30)
    lookups = {(each.ref, each.source): each.lookups for part, each in any_store.everything() if part == "contacts"}
    page, asked = ("1", "page"), ("1", "asked")
    assert lookups == {page: ["k:a"], asked: ["k:c"], ("1/asked", "page"): [], ("asked:1", "page"): []}


def test_a_person_is_erased_from_contacts_of_both_sources(any_store: FullStore) -> None:
    both = [sealed("1", "k:a", source="asked"), sealed("1", "k:a"), sealed("2", "k:a", source="asked")]
    any_store.keep_contacts(both, 30)
    assert any_store.erase_contact("k:a") == [(PORTAL, "1"), (PORTAL, "2")]
    assert any_store.erase(PORTAL, "1").removed["contacts"] == 2
    any_store.keep_contacts(both, 30)
    assert [(each.ref, each.source) for part, each in any_store.everything() if part == "contacts"] == [("2", "asked")]


def test_requested_contacts_expire_with_their_listing_too(long_gone: FullStore) -> None:
    both = [sealed(ref, source=source) for ref in ("offered", "long gone") for source in get_args(Source)]
    long_gone.keep_contacts([*both, sealed("other", source="asked")], 30)
    long_gone.expire(quarantine_days=None, delisted_days=10)
    assert "long gone" not in contacts(long_gone)
    assert contacts(long_gone).count("offered") == 2
    long_gone.keep_contacts([sealed("long gone", source="asked")], 30)
    assert long_gone.expire(quarantine_days=None, delisted_days=10).trimmed == 1, "its texts are removed already"
    assert "long gone" not in contacts(long_gone)


def test_contacts_expire_after_their_time_and_with_their_listing(long_gone: FullStore) -> None:
    long_gone.keep_contacts([sealed("offered"), sealed("left"), sealed("long gone")], 30)
    long_gone.keep_contacts([sealed("other")], 0)
    later()
    assert long_gone.expire(quarantine_days=None, delisted_days=10, dry_run=True) == Expired(contacts=1, trimmed=2)
    assert long_gone.expire(quarantine_days=None, delisted_days=10) == Expired(contacts=1, trimmed=2)
    assert sorted(contacts(long_gone)) == ["left", "offered"]
    assert long_gone.erase(PORTAL, "left").removed["contacts"] == 1
    long_gone.keep_contacts([sealed("left")], 30)
    assert contacts(long_gone) == ["offered"]


def test_an_erased_contact_is_remembered(any_store: FullStore) -> None:
    any_store.keep_contacts([sealed("1", "maker:abc", "maker:x"), sealed("2", "maker:abc"), sealed("3")], 30)
    assert any_store.erase_contact("maker:abc") == [(PORTAL, "1"), (PORTAL, "2")]
    any_store.erase_contact("maker:abc")
    any_store.keep_contacts([sealed("4", "maker:y", "maker:abc"), sealed("5", "maker:y")], 30)
    assert sorted(contacts(any_store)) == ["1", "2", "3", "5"], "the listings of the first are erased one by one"
    assert any_store.erased_contacts(["maker:abc", "maker:def"]) == {"maker:abc"}
    assert any_store.erased("maker:abc") == frozenset()


# ----- health


def test_upkeep_of_a_healthy_store_finds_no_fault(known: FullStore) -> None:
    found = list(known.upkeep())
    assert found
    assert {finding.weight for finding in found} <= {"fine", "repaired"}
    assert list(known.upkeep())
    assert known.write(batch(page("5"))).new == 1, "writing still works"
