"""Behaviour that only the MongoDB store has."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from dns.resolver import NXDOMAIN
from pymongo import InsertOne, MongoClient
from pymongo.database import Database
from pymongo.errors import BulkWriteError

from realestate.storage import Batch, StoreAway, StoreError, Written, open_store
from realestate.storage.batch import Times
from realestate.storage.changes import decide
from realestate.storage.mongo import MongoStore, change, jobs, schema, write
from realestate.storage.mongo.change import Change, apply, known_of
from realestate.storage.mongo.connection import bulk, pieces, server_time
from realestate.storage.mongo.documents import state_of
from realestate.storage.mongo.event_log import Log
from realestate.storage.snapshots import SnapshotRef
from tests.examples import a_listing
from tests.mongodb import MongoProcess
from tests.storage.batches import PORTAL, all_events, batch, card, gone, later, page, pages, record, types
from tests.storage.test_others import product

Db = Database[dict[str, Any]]


@pytest.fixture
def store(mongodb_url: str) -> Iterator[MongoStore]:
    store = MongoStore(mongodb_url)
    store.migrate()
    yield store
    store.close()


@pytest.fixture
def another(mongodb_url: str) -> Iterator[MongoStore]:
    store = MongoStore(mongodb_url)
    yield store
    store.close()


@pytest.fixture
def db(mongodb_url: str) -> Iterator[Db]:
    """The test's database, read directly and not through the store."""
    with MongoClient[dict[str, Any]](mongodb_url, tz_aware=True) as client:
        yield client.get_default_database()


class Died(BaseException):
    """Stands for a process that is killed: no code catches it."""


@contextmanager
def killed_at(where: Any, name: str, call: int = 1) -> Iterator[None]:
    """Raise `Died` instead of the n-th call."""
    true, calls = getattr(where, name), 0

    def act(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise Died
        return true(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, act)
        with pytest.raises(Died):
            yield


# ----- values that MongoDB refuses


@pytest.mark.parametrize(
    "extra",
    [
        {"a.b": 1, "$where": 2, "": 3},
        {"lists": [[1, [2]], []], "deep": {"a": [{"b.c": [None]}]}},
        {"numbers": [0, -1, 1.0, -0.5, 2**62, 1e300, True, None]},
        {"text": 'nul \0, quote ", ə 家 🏠'},
        {},
    ],
    ids=str,
)
def test_values_that_do_not_fit_a_field_are_read_back_exactly(store: MongoStore, extra: dict[str, Any]) -> None:
    store.write(batch(page(extra=extra)))
    found = record(store)["extra"]
    assert found == extra
    assert repr(found) == repr(extra), "1.0 is not 1, nor is True"


def test_nan_and_infinity_become_null(store: MongoStore) -> None:
    """As in JSON. A server closes the connection when it meets one, which would look like an outage."""
    store.write(batch(page(extra={"x": float("nan"), "y": [float("inf")]})))
    assert record(store)["extra"] == {"x": None, "y": [None]}


@pytest.mark.parametrize(
    "bad",
    [
        {"area_m2": float("nan")},
        {"rooms": float("inf")},
        {"rooms": 2**64},
        {"price": Decimal(10) ** 15},
        {"price": Decimal("NaN")},
        {"price": "cheap"},
        {"posted_at": "yesterday"},
        {"title": "half a pair \ud800"},
        {"ref": "\ud800"},
        {"extra": {"\0": 1, "\ud800": 2}},
        {"description": "x" * 17_000_000},
        {"photos": [["nested"]]},
    ],
    ids=lambda bad: str(bad)[:30],
)
def test_a_document_it_refuses_goes_to_quarantine_and_the_others_are_stored(
    store: MongoStore, db: Db, bad: dict[str, Any]
) -> None:
    refused = a_listing(**{"ref": "bad", **bad})
    written = store.write(batch(page("1"), refused, page("2")))
    assert (written.new, written.quarantined, written.events) == (2, 1, {"listed": 2})
    assert sorted(each["ref"] for each in db["listings"].find()) == ["1", "2"]
    (kept,) = db["quarantine"].find()
    assert kept["errors"][0].startswith("refused by the database: ")


def test_a_change_it_refuses_leaves_the_listing_as_it_was(store: MongoStore) -> None:
    store.write(batch(page("1"), page("2")))
    written = store.write(batch(page("1", area_m2=float("nan")), page("2", title="New")))
    assert (written.known, written.quarantined, written.events) == (1, 1, {"updated": 1})
    assert types(store, "1") == ["listed"]


def test_microseconds_that_mongodb_does_not_keep_are_no_change(store: MongoStore) -> None:
    listing = page(posted_at=datetime(2026, 9, 1, 1, 2, 3, 456789, UTC))
    store.write(batch(listing))
    assert store.write(batch(listing)) == Written(known=1)
    assert record(store)["posted_at"] == "2026-09-01T01:02:03.456000+00:00"
    with store.connection.database() as database:
        assert [each["revision"] for each in database["listings"].find()] == [1]


def test_the_index_of_raw_pages_is_written_with_the_batch(store: MongoStore, db: Db) -> None:
    at = datetime(2026, 9, 1, tzinfo=UTC)
    where = {"file": "a.warc.gz", "offset": 7, "length": 99, "digest": "sha1:X"}
    fields = {
        "portal": PORTAL,
        "url": "https://x.example/1",
        "ref": "1",
        "stage": "extract",
        "job": "job",
        "status": 200,
    }
    snapshot = SnapshotRef(**fields, **where, kind="all", fetched_at=at)  # type: ignore[arg-type]
    for _ in range(2):
        store.write(Batch([(page(), "job")], snapshots=[snapshot]))
    (found,) = db["snapshots"].find()
    assert found == {"_id": "a.warc.gz:7", **where, "kind": "all", "fetched_at": at, "job": fields.pop("job"), **fields}
    store.write(Batch(snapshots=[replace(snapshot, offset=200, ref=None, job=None)]))
    assert db["snapshots"].count_documents({}) == 2


# ----- a worker dies, or stalls


def changed(store: MongoStore, ref: str = "1", **changes: Any) -> Change:
    """A change of a listing as it is now, decided but not made."""
    with store.connection.database() as database:
        document = database["listings"].find_one({"_id": f"{PORTAL}:{ref}"})
        assert document
        before, now = state_of(document), server_time(database)
    return Change(before, decide(before, [(page(ref, **changes), "late")], now), Times(now, now, None, "late"))


def make(store: MongoStore, late: Change) -> change.Applied[Change]:
    with store.connection.database() as database:
        return apply(database, [late])


@pytest.mark.parametrize("where", ["append", "_append", "_settle"])
def test_events_of_a_worker_that_died_are_logged_once(store: MongoStore, another: MongoStore, where: str) -> None:
    """It dies before its events are in the log, while they are written, and after."""
    store.write(batch(*pages(3)))
    with killed_at(Log, where):
        store.write(batch(*pages(3, title="New"), job="a"))
    types = [each.event.type for each in all_events(another)]
    assert types == ["listed"] * 3 + ["updated"] * 3
    store.write(batch(*pages(3, title="New"), job="a"))
    assert all_events(another) == all_events(store)
    assert len(all_events(store)) == 6


@pytest.mark.parametrize("where", ["append", "_append", "_settle"])
def test_events_of_other_kinds_of_a_worker_that_died_are_logged_once(
    store: MongoStore, another: MongoStore, db: Db, where: str
) -> None:
    """The document drops its events when they are in the log, else it would grow without limit."""
    days = [Batch(others=[(product(ref, stock=stock), "a") for ref in "123"]) for stock in (5, 4)]
    store.write(days[0])
    with killed_at(Log, where):
        store.write(days[1])
    assert [each.event.type for each in all_events(another)] == ["appeared"] * 3 + ["updated"] * 3
    assert store.write(days[1]).events == {}
    assert [each.event.type for each in all_events(store)] == ["appeared"] * 3 + ["updated"] * 3
    assert [(each["unlogged"], each["events"]) for each in db["others"].find()] == [([], [])] * 3
    assert [event.revision for event in store.history("ecommerce", "2")] == [1, 2]


def test_events_of_a_dead_worker_are_logged_before_later_ones(store: MongoStore, db: Db) -> None:
    store.write(batch(page()))
    with killed_at(Log, "append"):
        store.write(batch(page(title="New")))
    assert db["events"].count_documents({}) == 1
    store.write(batch(page(title="New", price=Decimal(340000))))
    assert [each.event.type for each in all_events(store)] == ["listed", "updated", "price_changed"]


def test_events_of_a_dead_worker_are_logged_when_the_listing_is_seen_again(store: MongoStore, db: Db) -> None:
    """Its page was never acknowledged: another worker reads it again."""
    with killed_at(Log, "append"):
        store.write(batch(page()))
    assert store.write(batch(page())) == Written(known=1)
    assert db["events"].count_documents({}) == 1
    assert [each["unlogged"] for each in db["listings"].find()] == [[]]


def test_a_worker_that_stalls_before_it_logs_writes_no_event_twice(
    store: MongoStore, another: MongoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile another worker has written its events and more."""
    store.write(batch(*pages(3)))
    true: Callable[..., None] = Log.append

    def stalls(log: Log, end: int, events: Any) -> None:
        monkeypatch.setattr(Log, "append", true)
        another.write(batch(page("0", title="Newer"), page("5")))
        assert len(all_events(another)) == 8
        true(log, end, events)

    monkeypatch.setattr(Log, "append", stalls)
    store.write(batch(*pages(3, title="New")))
    events = all_events(store)
    assert [each.seq for each in events] == list(range(1, 9))
    names = [(each.event.ref, each.event.revision) for each in events]
    assert len(set(names)) == 8
    assert names.index(("0", 2)) < names.index(("0", 3))


def test_a_worker_that_stalls_after_it_wrote_logs_no_event_twice(
    store: MongoStore, another: MongoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stalls(*args: Any) -> Any:
        monkeypatch.setattr(change, "bulk", bulk)
        done = bulk(*args)
        assert len(all_events(another)) == 3
        return done

    monkeypatch.setattr(change, "bulk", stalls)
    store.write(batch(*pages(3)))
    assert [each.seq for each in all_events(store)] == [1, 2, 3]


def test_a_late_write_does_not_replace_a_newer_one(store: MongoStore) -> None:
    store.write(batch(page()))
    late = changed(store, title="Late")
    for title in ("New", "Newer"):
        store.write(batch(page(title=title)))
    applied = make(store, late)
    assert (applied.done, applied.lost) == ([], [late])
    assert record(store)["title"] == "Newer"
    assert types(store) == ["listed", "updated", "updated"]


@pytest.mark.parametrize("seen", [page(), card(price=340000)], ids=["unchanged", "changed"])
def test_a_late_write_does_not_move_times_back(store: MongoStore, monkeypatch: pytest.MonkeyPatch, seen: Any) -> None:
    store.write(batch(page()))
    before = record(store)
    monkeypatch.setattr(write, "server_time", lambda database: server_time(database) - timedelta(hours=1))
    store.write(batch(seen))
    after = record(store)
    assert (after["last_seen_at"], after["last_fetched_at"]) == (before["last_seen_at"], before["last_fetched_at"])


def test_a_late_change_does_not_restore_a_deleted_listing(store: MongoStore, db: Db) -> None:
    store.write(batch(page()))
    late = changed(store, title="Late")
    db["listings"].delete_one({"_id": f"{PORTAL}:1"})
    assert make(store, late).lost == [late]
    assert db["listings"].count_documents({}) == 0


def test_a_listing_that_changes_during_a_write_is_compared_again(
    store: MongoStore, another: MongoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would be delisted although it was seen later, and would stay so."""
    store.write(batch(*pages(10)))
    later()
    another.begin_job("a", PORTAL, "full", "all")
    another.write(batch(gone("1"), job="a"))
    true = known_of

    def meanwhile(*args: Any) -> Any:
        monkeypatch.setattr(write, "known_of", true)
        known = true(*args)
        assert another.conclude("a", PORTAL).delisted == 1
        return known

    monkeypatch.setattr(write, "known_of", meanwhile)
    store.write(batch(page("1")))
    assert types(store) == ["listed", "delisted", "relisted"]


# ----- the log


def test_log_entries_are_split_and_can_be_read_from_the_middle(
    store: MongoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("realestate.storage.mongo.event_log._ENTRY_EVENTS", 3)
    store.write(batch(*pages(8)))
    store.write(batch(page("0", title="New", price=Decimal(340000), status="reserved"), page("1", title="New")))
    with store.connection.database() as database:
        sizes = [(each["_id"], each["count"]) for each in database["events"].find().sort("_id", 1)]
    assert [(int(name), count) for name, count in sizes] == [(1, 3), (4, 3), (7, 2), (9, 3), (12, 1)]
    everything = all_events(store)
    assert [each.seq for each in everything] == list(range(1, 13))
    for after in range(14):
        assert store.events(after, 4) == everything[after : after + 4]


def test_large_events_are_not_put_into_one_entry(store: MongoStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realestate.storage.mongo.event_log._ENTRY_BYTES", 5_000)
    store.write(batch(*pages(5, description="x" * 2_000)))
    store.correct(pages(5, description="y" * 2_000), "reparse")
    with store.connection.database() as database:
        assert [each["count"] for each in database["events"].find().sort("_id", 1)][-5:] == [1] * 5
    assert len(all_events(store)) == 10


# ----- verdicts


def test_an_interrupted_conclusion_continues(store: MongoStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is not checked again: half of the listings are delisted already."""
    store.write(batch(*pages(20)))
    later()
    store.begin_job("a", PORTAL, "full", "all")
    store.write(batch(*(gone(str(number)) for number in range(4)), job="a"))
    later()
    monkeypatch.setattr(jobs, "pieces", partial(pieces, size=1))
    with killed_at(jobs, "apply", call=3):
        store.conclude("a", PORTAL)
    assert [(job.verdict, job.concluded_at) for job in store.jobs()] == [("applied", None)]
    store.write(batch(*(gone(str(number)) for number in range(4, 20)), job="a"))
    conclusion = store.conclude("a", PORTAL)
    assert (conclusion.verdict, conclusion.found, conclusion.offered, conclusion.delisted) == ("applied", 4, 20, 4)
    assert sum(each.event.type == "delisted" for each in all_events(store)) == 4
    assert record(store, "5")["status"] == "active"


def test_of_two_conclusions_of_a_job_one_verdict_is_kept_with_its_evidence(
    store: MongoStore, another: MongoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second starts later with more evidence, and stores its verdict first."""
    store.write(batch(*pages(10)))
    later()
    store.begin_job("a", PORTAL, "full", "all")
    store.write(batch(gone("1"), job="a"))
    later()
    true = jobs._counting

    def slowly(*args: Any) -> Any:
        monkeypatch.setattr(jobs, "_counting", true)
        counting = true(*args)
        another.write(batch(gone("2"), job="a"))
        assert another.conclude("a", PORTAL).found == 2
        return counting

    monkeypatch.setattr(jobs, "_counting", slowly)
    conclusion = store.conclude("a", PORTAL)
    assert (conclusion.found, conclusion.delisted) == (2, 2)
    assert {record(store, ref)["status"] for ref in ("1", "2")} == {"delisted"}


# ----- the schema


def test_common_queries_use_an_index(store: MongoStore, db: Db) -> None:
    indexed = {tuple(field for field, _ in each["key"]) for each in db["listings"].index_information().values()}
    assert indexed >= {("country", "city", "district", "operation"), ("latitude", "longitude"), ("first_seen_at",)}
    assert indexed >= {("operation", "currency", "price"), ("operation", "area_m2"), ("portal", "last_seen_at")}


def test_migrations_run_once_although_several_processes_start_them(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch, db: Db
) -> None:
    done: list[int] = []

    def slow(database: Db) -> None:
        threading.Event().wait(0.3)
        done.append(1)

    monkeypatch.setattr(schema, "STEPS", (slow, *schema.STEPS))
    stores = [MongoStore(mongodb_url) for _ in range(4)]
    threads = [threading.Thread(target=store.migrate) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()
    assert done == [1]
    assert db["schema"].find_one({"_id": "schema"}, {"version": 1}) == {"_id": "schema", "version": len(schema.STEPS)}


def test_an_interrupted_migration_is_run_again(
    store: MongoStore, mongodb_url: str, monkeypatch: pytest.MonkeyPatch, db: Db
) -> None:
    """It was killed after its work and before it recorded that; its lock has expired."""
    past = datetime.now(UTC) - timedelta(seconds=1)
    db["schema"].update_one({"_id": "schema"}, {"$set": {"version": 0, "locked_until": past}})
    another = MongoStore(mongodb_url)
    another.migrate()
    another.close()
    found = db["schema"].find_one({"_id": "schema"})
    assert found
    assert found["version"] == len(schema.STEPS)


def test_reading_does_not_migrate(mongodb_url: str, db: Db) -> None:
    store = open_store(mongodb_url)
    assert store.counts() == {}
    assert db.list_collection_names() == []
    store.write(batch(page()))
    assert store.counts() == {PORTAL: (1, 0)}
    store.close()


# ----- away, and wrong addresses


def test_a_server_that_was_killed_is_found_again_and_has_what_was_acknowledged(mongo_process: MongoProcess) -> None:
    mongo_process.start()
    store = MongoStore(f"{mongo_process.url}test?serverSelectionTimeoutMS=300")
    store.write(batch(*pages(5)))
    mongo_process.kill()
    with pytest.raises(StoreAway) as caught:
        store.write(batch(page("0", title="New"), page("9")))
    assert "\n" not in str(caught.value)
    assert "Topology" not in str(caught.value)
    mongo_process.start()
    assert store.write(batch(page("0", title="New"), page("9"))).new == 1
    assert len(all_events(store)) == 7
    store.close()


def test_batches_that_are_interrupted_at_any_time_are_written_once(mongo_process: MongoProcess) -> None:
    """The server is killed many times, also between a write and its reply. The batch is repeated."""
    mongo_process.start()
    store = MongoStore(f"{mongo_process.url}test?serverSelectionTimeoutMS=100")
    store.migrate()
    batches = [batch(*(page(f"{turn}-{number}") for number in range(4))) for turn in range(6)]
    batches += [batch(*(card(f"{turn}-{number}", 340000) for number in range(4))) for turn in range(6)]
    cut: list[StoreAway] = []

    def write() -> None:
        for each in batches:
            while True:
                try:
                    store.write(each)
                    break
                except StoreAway as away:
                    cut.append(away)

    writer = threading.Thread(target=write)
    writer.start()
    for seconds in (0.02, 0.05, 0.11, 0.03, 0.2, 0.07):
        writer.join(seconds)
        mongo_process.kill()
        mongo_process.start()
    writer.join()
    assert cut
    events = [(each.event.ref, each.event.type) for each in all_events(store)]
    assert len(events) == len(set(events)) == 48
    assert all(len(store.prices(PORTAL, ref)) == 2 for ref, _ in events)
    store.close()


def test_an_unreachable_server_is_one_line_of_error() -> None:
    store = open_store("mongodb://127.0.0.1:1/none?serverSelectionTimeoutMS=100")
    with pytest.raises(StoreAway) as caught:
        store.counts()
    assert str(caught.value) == "MongoDB: 127.0.0.1:1: [Errno 111] Connection refused"
    store.close()


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://me:s/cret@host/db",
        "mongodb://me:s:cret@host/db",
        "mongodb://me:s%ZZcret@host:99999/db",
        "mongodb://",
        "mongodb://me:secret@host/a b",
        "mongodb+srv://me:secret@127.0.0.1/db",
    ],
)
def test_an_invalid_address_is_one_line_of_error_without_its_password(url: str) -> None:
    store = open_store(url)
    with pytest.raises(StoreError) as caught:
        store.counts()
    store.close()
    assert "cret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, StoreAway)


@pytest.mark.parametrize(
    ("errors", "is_away"),
    [
        ({"writeConcernErrors": [{"code": 64, "errmsg": "waiting for replication timed out"}]}, True),
        ({"writeErrors": [{"index": 0, "code": 189, "errmsg": "primary stepped down"}]}, True),
        ({"writeErrors": [{"index": 0, "code": 14031, "errmsg": "no space left"}]}, True),
        ({"writeErrors": [{"index": 0, "code": 10334, "errmsg": "too large"}]}, False),
    ],
)
def test_only_an_error_of_one_document_quarantines_it(errors: dict[str, Any], is_away: bool) -> None:
    """A failing server must not send a batch to quarantine. The errors are made here: no server fails on demand."""
    none: dict[str, Any] = {"writeErrors": [], "writeConcernErrors": [], "upserted": [], "nMatched": 0}

    class Failing:
        def bulk_write(self, *_: Any, **__: Any) -> Any:
            raise BulkWriteError({**none, **errors})

    if is_away:
        with pytest.raises(StoreAway):
            bulk(Failing(), [InsertOne({})])  # type: ignore[arg-type]
    else:
        assert bulk(Failing(), [InsertOne({})]).refused == {0: "too large"}  # type: ignore[arg-type]


def test_a_failed_dns_lookup_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise NXDOMAIN

    monkeypatch.setattr("pymongo.synchronous.srv_resolver._resolve", unknown)
    store = open_store("mongodb+srv://me:secret@cluster.example.org/db")
    with pytest.raises(StoreAway, match="DNS"):
        store.counts()
    store.close()


def test_a_failed_login_is_one_line_of_error(mongodb_url: str) -> None:
    store = open_store(mongodb_url.replace("mongodb://", "mongodb://me:s%2Fcret@"))
    with pytest.raises(StoreError) as caught:
        store.counts()
    store.close()
    assert not isinstance(caught.value, StoreAway)
    assert "cret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unacknowledged_writes_are_refused(mongodb_url: str) -> None:
    with pytest.raises(StoreError, match="w=0"):
        open_store(f"{mongodb_url}?w=0&journal=false").counts()


def test_options_of_the_address_are_kept(mongodb_url: str) -> None:
    store = MongoStore(f"{mongodb_url}?w=1&JOURNAL=false&appName=mine")
    with store.connection.database() as database:
        options = database.client.options
    assert options.write_concern.document == {"w": 1, "j": False}
    assert options.pool_options.appname == "mine"
    store.close()


def test_a_write_is_acknowledged_when_a_majority_has_it_in_its_journal(store: MongoStore) -> None:
    with store.connection.database() as database:
        assert database.write_concern.document == {"w": "majority", "j": True}
