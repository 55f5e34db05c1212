"""Maintenance in MongoDB is correct without transactions, although a process may die between two statements."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from realestate.storage import Batch, StoreError
from realestate.storage.backup import backup, restore
from realestate.storage.contacts import Sealed
from realestate.storage.maintenance import Expired, Finding, NotEmpty
from realestate.storage.mongo import MongoStore, maintenance, schema, write
from realestate.storage.mongo import backup as mongo_backup
from realestate.storage.mongo.change import found_of, known_of
from realestate.storage.mongo.connection import bulk
from realestate.storage.mongo.event_log import Log
from realestate.storage.mongo.schema import COLLECTIONS, DEAD_AFTER, new_prefix
from realestate.storage.records import ErasedMark
from tests.storage.batches import PORTAL, all_events, batch, gone, page, pages, quarantined, types
from tests.storage.test_mongo import killed_at

Db = Database[dict[str, Any]]
NOW = datetime.now(UTC)


@pytest.fixture
def store(mongodb_url: str) -> Iterator[MongoStore]:
    store = MongoStore(mongodb_url)
    store.migrate()
    yield store
    store.close()


@pytest.fixture
def another(mongodb_url: str) -> Iterator[MongoStore]:
    """A second store of the same database, not connected yet."""
    store = MongoStore(mongodb_url)
    yield store
    store.close()


@pytest.fixture
def db(mongodb_url: str) -> Iterator[Db]:
    """The test's database, read directly and not through the store."""
    with MongoClient[dict[str, Any]](mongodb_url, tz_aware=True) as client:
        yield client.get_default_database()


def traces(db: Db, ref: str) -> list[str]:
    """The collections that name the listing, except as erased."""
    found = []
    for name in db.list_collection_names():
        for document in db[name].find():
            fields = {key: value for key, value in document.items() if key not in ("_id", "keys")}
            if name != "erased" and f"'{ref}'" in repr(fields):
                found.append(name)
    return found


# ----- erasure


def test_only_the_id_of_an_erased_listing_is_left(store: MongoStore, db: Db) -> None:
    store.begin_job("job", PORTAL, "full", "part")
    store.write(batch(page("one"), page("two")))
    store.write(batch(gone("one"), job="job"))
    store.write(Batch(quarantined=[quarantined("one")]))
    store.keep_contacts([Sealed(PORTAL, "one", b"sealed", ("k:a",))], 30)
    assert sorted(traces(db, "one")) == ["contacts", "departures", "events", "listings", "quarantine"]
    store.erase(PORTAL, "one")
    assert traces(db, "one") == []
    assert db["listings"].find_one({"_id": f"{PORTAL}:one"}, {"erased_at": 0}) == {"_id": f"{PORTAL}:one"}
    assert store.counts() == {PORTAL: (1, 0)}
    assert store.known(PORTAL, ["one", "two"]).keys() == {"two"}
    assert [(each.seq, each.event.ref) for each in all_events(store)] == [(2, "two")]


@pytest.mark.parametrize(
    ("where", "name"),
    [(maintenance, "_place_tombstone"), (Log, "erase"), (maintenance, "remove_aside"), (maintenance, "mark_name")],
)
@pytest.mark.parametrize("how", ["again", "retain", "upkeep"])
def test_an_interrupted_erasure_is_finished(store: MongoStore, db: Db, where: Any, name: str, how: str) -> None:
    store.write(batch(page("one"), page("two")))
    store.write(Batch(quarantined=[quarantined("one")]))
    with killed_at(where, name):
        store.erase(PORTAL, "one")
    match how:
        case "again":
            store.erase(PORTAL, "one")
        case "retain":
            store.expire(quarantine_days=None, delisted_days=None)
        case "upkeep":
            assert Finding("erased", "1 interrupted erasures were finished", "", "repaired") in list(store.upkeep())
    assert traces(db, "one") == []
    assert store.write(batch(page("one"))).new == 0
    assert {finding.weight for finding in store.upkeep()} == {"fine"}


def test_a_worker_that_stalls_before_it_logs_writes_no_event_of_an_erased_listing(
    store: MongoStore, another: MongoStore, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = Log.append

    def stalls(self: Log, end: int, events: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Log, "append", true)
            another.erase(PORTAL, "one")
        true(self, end, events)

    with monkeypatch.context() as patch:
        patch.setattr(Log, "append", stalls)
        store.write(batch(page("one"), page("two")))
    assert [each.event.ref for each in all_events(store)] == ["two"]
    assert traces(db, "one") == []


def test_a_listing_that_a_stalled_worker_changes_during_its_erasure_is_erased(
    store: MongoStore, another: MongoStore, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(batch(page("one")))
    stalled: list[tuple[Any, ...]] = []
    append, looks = Log.append, 0

    def looked_then_changed(*asked: Any) -> Any:
        nonlocal looks
        looks += 1
        found = found_of(*asked)
        if looks == 1:
            with monkeypatch.context() as patch:
                patch.setattr(Log, "append", lambda *arguments: stalled.append(arguments))
                another.write(batch(page("one", title="New")))
        return found

    monkeypatch.setattr(maintenance, "found_of", looked_then_changed)
    assert store.erase(PORTAL, "one").removed["events"] == 2
    for arguments in stalled:
        append(*arguments)
    assert len(stalled) == 1
    assert all_events(store) == []
    assert traces(db, "one") == []


def test_a_listing_erased_between_a_workers_read_and_its_write_is_not_stored(
    store: MongoStore, another: MongoStore, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(batch(page("one"), page("two")))
    true = known_of
    looks = 0

    def known_then_erased(*asked: Any) -> Any:
        nonlocal looks
        looks += 1
        found = true(*asked)
        if looks == 1:
            for ref in ("one", "new", "left", "bad"):
                another.erase(PORTAL, ref)
        return found

    monkeypatch.setattr(write, "known_of", known_then_erased)
    items: list[Any] = [page("one", title="New"), page("two"), page("new"), gone("left")]
    written = store.write(Batch([(item, "job") for item in items], [quarantined("bad")]))
    assert (written.new, written.known) == (0, 1)
    assert [traces(db, ref) for ref in ("one", "new", "left", "bad")] == [[]] * 4


def test_what_a_dead_worker_wrote_of_an_erased_listing_is_removed_by_maintenance(store: MongoStore, db: Db) -> None:
    store.erase(PORTAL, "one")
    store.erase_contact("k:a")
    with killed_at(write, "_keep_away"):
        store.write(Batch(quarantined=[quarantined("one")]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintenance, "_unwanted", lambda *asked: set())
        refs = {"one": (), "two": ("k:x", "k:a"), "three": ("k:x",)}
        store.keep_contacts([Sealed(PORTAL, ref, b"sealed", marks) for ref, marks in refs.items()], 30)
    assert sorted(traces(db, "one")) == ["contacts", "quarantine"]
    assert store.expire(quarantine_days=None, delisted_days=None, dry_run=True) == Expired(contacts=2)
    assert store.expire(quarantine_days=None, delisted_days=None) == Expired(contacts=2)
    assert traces(db, "one") == []
    assert [each["ref"] for each in db["contacts"].find()] == ["three"]


def test_a_contact_erased_while_it_is_stored_does_not_stay(
    store: MongoStore, another: MongoStore, monkeypatch: pytest.MonkeyPatch, db: Db
) -> None:
    true = bulk

    def erased_then_kept(*what: Any) -> Any:
        assert another.erase_contact("k:a") == []
        return true(*what)

    monkeypatch.setattr(maintenance, "bulk", erased_then_kept)
    store.keep_contacts([Sealed(PORTAL, "one", b"x", ("k:a", "k:b")), Sealed(PORTAL, "two", b"x", ("k:c",))], 30)
    assert [each["ref"] for each in db["contacts"].find()] == ["two"]


# ----- back up and restore


def parts_of(store: MongoStore) -> list[str]:
    return [part for part, _ in store.everything() if part != "numbering"]


@pytest.fixture
def file(store: MongoStore, db: Db, tmp_path: Path) -> Path:
    """A backup; the store is empty again."""
    store.write(batch(*pages(5, extra={"number": 2**40})))
    store.write(batch(page("1", title="New"), job="b"))
    store.erase(PORTAL, "2")
    backup(store, tmp_path / "file", NOW)
    for name in db.list_collection_names():
        if name != "schema":
            db[name].delete_many({})
    return tmp_path / "file"


def test_a_restore_that_died_after_loading_is_finished_by_the_next_store(
    store: MongoStore, another: MongoStore, db: Db, file: Path
) -> None:
    with killed_at(schema, "_rename", 4):
        restore(store, file)
    assert db["listings"].find_one() is None
    assert sorted(row["ref"] for row in another.records(PORTAL)) == ["0", "1", "3", "4"]
    assert types(another, "1") == ["listed", "updated"]
    assert another.write(batch(page("2"))).new == 0, "the erased listing is not stored"
    assert all(finding.weight == "fine" for finding in another.upkeep())
    assert not [name for name in db.list_collection_names() if name.startswith("restoring")]


@pytest.mark.parametrize(
    ("where", "name"), [(mongo_backup, "make_indexes"), (mongo_backup, "take_over"), (schema, "locked")]
)
def test_a_restore_that_died_while_loading_leaves_the_store_empty(
    store: MongoStore, another: MongoStore, db: Db, file: Path, where: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongo_backup, "drop_loaded", lambda *asked: None)  # a dead process cleans nothing up
    with killed_at(where, name):
        restore(store, file)
    assert parts_of(another) == []
    left = [name for name in db.list_collection_names() if name.startswith("restoring")]
    assert left
    restore(another, file)
    assert sorted(row["ref"] for row in another.records(PORTAL)) == ["0", "1", "3", "4"]
    assert {finding.weight for finding in another.upkeep()} == {"fine"}, "the restore may still be running"
    assert set(left) <= set(db.list_collection_names())


def test_collections_of_a_dead_restore_are_dropped_after_a_day(store: MongoStore, db: Db) -> None:
    old, young = (new_prefix(NOW - age) + "listings" for age in (DEAD_AFTER * 2, DEAD_AFTER / 2))
    for name in (old, young, "restoring_nonsense"):
        db[name].insert_one({})
    (repaired,) = [finding for finding in store.upkeep() if finding.weight == "repaired"]
    assert repaired.found == f"{old}: left by an interrupted restore; dropped"
    names = db.list_collection_names()
    assert (old in names, young in names, "restoring_nonsense" in names) == (False, True, True)


def test_a_store_that_is_written_to_during_a_restore_is_not_restored(
    store: MongoStore, another: MongoStore, db: Db, file: Path
) -> None:
    with pytest.raises(NotEmpty, match="not empty: it has events, listings"):
        restore(store, file, lambda part, count: another.write(batch(page("new"))) and None)
    assert [row["ref"] for row in store.records(PORTAL)] == ["new"]
    assert not [name for name in db.list_collection_names() if name.startswith("restoring")]


def test_of_two_restores_at_once_one_is_refused(
    store: MongoStore, another: MongoStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = schema.finish_restore

    def meanwhile(*asked: Any) -> bool:
        with monkeypatch.context() as patch:
            patch.setattr(mongo_backup, "demand_empty", lambda *asked: None)  # it checked before the first was loaded
            with pytest.raises(NotEmpty, match="is being restored already"):
                restore(another, file)
        return true(*asked)

    another.migrate()
    monkeypatch.setattr(mongo_backup, "finish_restore", meanwhile)
    restore(store, file)
    assert sorted(row["ref"] for row in another.records(PORTAL)) == ["0", "1", "3", "4"]


def test_a_restore_that_cannot_be_finished_is_a_fault_with_its_remedy(
    store: MongoStore, another: MongoStore, db: Db, file: Path
) -> None:
    with killed_at(schema, "_rename", len(COLLECTIONS) - 1):
        restore(store, file)
    store.write(batch(page("new")))
    with pytest.raises(StoreError, match="stop all workers, drop the collection listings"):
        another.migrate()
    (finding,) = another.upkeep()
    assert (finding.what, finding.weight) == ("restore", "fault")
    assert "drop the collection listings" in finding.remedy
    db["listings"].drop()
    another.migrate()
    assert sorted(row["ref"] for row in another.records(PORTAL)) == ["0", "1", "3", "4"]


def test_a_listing_erased_during_a_backup_is_in_no_file(store: MongoStore, tmp_path: Path) -> None:
    store.write(batch(page("1"), page("2")))

    def erase(part: str, count: int) -> None:
        if part == "listings":
            store.erase(PORTAL, "1")

    with pytest.raises(StoreError, match=f"{PORTAL}/1 was erased during the backup: start the backup again"):
        backup(store, tmp_path / "file", NOW, erase)
    assert list(tmp_path.iterdir()) == []
    backup(store, tmp_path / "file", NOW)


def test_each_listing_in_a_backup_has_the_history_it_had_when_it_was_read(
    store: MongoStore, another: MongoStore
) -> None:
    """A listing that changes during the backup is written with all of its old history and none of the new."""
    store.write(batch(page("1"), page("2")))
    found: dict[str, list[Any]] = {}
    for part, each in store.everything():
        if part == "listings" and "listings" not in found:
            another.write(batch(page("1", title="New"), page("0"), job="b"))
        found.setdefault(part, []).append(each)
    assert [each.listing["title"] for each in found["listings"]] == [page().title] * 2
    assert [(each.event.ref, each.event.type) for each in found["events"]] == [("1", "listed"), ("2", "listed")]
    assert [each.ref for each in found["prices"]] == ["1", "2"]
    assert len(all_events(store)) == 4


def test_events_that_a_dead_worker_did_not_log_are_in_the_backup(store: MongoStore, another: MongoStore) -> None:
    with killed_at(Log, "append"):
        store.write(batch(page("1")))
    assert [each.event.type for part, each in another.everything() if part == "events"] == ["listed"]


def test_a_price_without_its_listing_is_refused_and_nothing_is_restored(store: MongoStore, another: MongoStore) -> None:
    store.write(batch(page("1")))
    records = [(part, each) for part, each in store.everything() if part != "listings"]
    store.connection.close()
    with MongoClient[Any](store.connection.url) as client:
        client.get_default_database().drop_collection("listings")
        client.get_default_database().drop_collection("events")
    with pytest.raises(ValueError, match=rf"events of {PORTAL}:1, which is not an item of the file"):
        another.restore(records)
    assert parts_of(another) == []


def test_an_erased_contact_keeps_its_time(store: MongoStore) -> None:
    mark = ErasedMark("listing", f"{PORTAL}/1", NOW.replace(microsecond=0) - timedelta(days=9))
    store.restore([("erased", mark)])
    assert store.erase(PORTAL, "1").removed["listings"] == 0
    assert [each for part, each in store.everything() if part == "erased"] == [mark]


# ----- health


def test_a_missing_index_is_built_again(store: MongoStore, db: Db) -> None:
    db["listings"].drop_index("unlogged")
    (repaired,) = [finding for finding in store.upkeep() if finding.weight == "repaired"]
    assert repaired.found == "listings.unlogged: missing; built again"
    assert "unlogged" in db["listings"].index_information()


def test_events_that_were_not_logged_are_logged_and_sizes_are_shown(store: MongoStore) -> None:
    with killed_at(Log, "append"):
        store.write(batch(page("1")))
    found = {finding.what: finding for finding in store.upkeep()}
    assert found["events"].weight == "repaired"
    assert "listings " in found["sizes"].found
    assert [each.event.type for each in all_events(store)] == ["listed"]
