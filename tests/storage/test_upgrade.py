"""Data of the last version keep their meaning: an upgraded database, and a restored backup file."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from bson import json_util
from pymongo import MongoClient

from realestate.storage import FullStore, open_store
from realestate.storage.backup import LostJobs, restore
from realestate.storage.mongo import schema
from realestate.storage.postgres import schema as postgres_schema
from realestate.storage.records import Departure, StoredJob
from realestate.storage.store import Job
from tests.storage.batches import PORTAL, all_events, batch, page, types
from tests.storage.test_backup import everything

#: kind -> the fixtures that give the addresses of two databases without any table.
pytestmark = pytest.mark.empty_database
KINDS = {"postgres": ("store_url", "second_store_url"), "mongodb": ("mongodb_url", "second_mongodb_url")}
LAST = Path(__file__).with_name("last_version")
POSTGRES_SCHEMA = 6
MONGO_SCHEMA = 4


def fill_postgres(url: str) -> None:
    """The tables of the last version, with its data."""
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE schema_version (version integer PRIMARY KEY, applied_at timestamptz DEFAULT now())"
        )
        for number, statements in postgres_schema._steps():
            if number <= POSTGRES_SCHEMA:
                cursor.execute(statements)
                cursor.execute("INSERT INTO schema_version (version) VALUES (%s)", (number,))
        for table, rows in json.loads((LAST / "postgres.json").read_text("utf-8")).items():
            cursor.execute(
                f"INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::{table}, %s)",
                (json.dumps(rows),),
            )
        cursor.execute("SELECT setval(pg_get_serial_sequence('events', 'seq'), max(seq)) FROM events")
    connection.close()


def fill_mongo(url: str) -> None:
    """The collections of the last version, with its data and the index that is not needed any more."""
    with MongoClient[Any](url, tz_aware=True) as client:
        database = client.get_default_database()
        for name, documents in json_util.loads((LAST / "mongo.json").read_text("utf-8")).items():
            database[name].insert_many(documents)
        for name in ("departures", "parts"):
            database[name].create_index([("run", 1)], name="run")


FILL: dict[str, Callable[[str], None]] = {"postgres": fill_postgres, "mongodb": fill_mongo}


def lose_a_postgres_job(url: str) -> None:
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO departures (run, portal, ref, evidence, detail, url, at)"
            " VALUES ('d', 'emlak', '1', '404', '', 'https://x.example/', '2026-11-01')"
        )
    connection.close()


def lose_a_mongo_job(url: str) -> None:
    evidence = {"run": "d", "portal": "emlak", "ref": "1", "evidence": "404", "detail": "", "url": "https://x.example/"}
    with MongoClient[Any](url) as client:
        departures = client.get_default_database()["departures"]
        departures.insert_one({"_id": "lost", **evidence, "at": datetime(2026, 11, 1, tzinfo=UTC), "weighed": []})


#: kind -> adds evidence of a job of emlak that has the name of another portal's job.
LOSE_A_JOB: dict[str, Callable[[str], None]] = {"postgres": lose_a_postgres_job, "mongodb": lose_a_mongo_job}


@pytest.fixture(params=["upgraded", "restored"])
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(KINDS[kind][0]))


@pytest.fixture
def store(kind: str, url: str, how: str) -> Iterator[FullStore]:
    """With the data of the last version: its own database upgraded, or its backup restored."""
    opened = open_store(url)
    if how == "upgraded":
        FILL[kind](url)
        opened.migrate()
    else:
        restore(opened, LAST / "backup-0.1.zip")
    yield opened
    opened.close()


def test_every_part_names_its_job_as_before(store: FullStore) -> None:
    parts: dict[str, list[Any]] = {}
    for part, record in store.everything():
        parts.setdefault(part, []).append(record)
    assert {each.listing["ref"]: each.last_job for each in parts["listings"]} == {
        "1": "b",
        "2": "b",
        "3": "b",
        "4": "a",
        "5": "a",
    }
    assert {(each.portal, each.ref): each.last_job for each in parts["others"]}.keys() >= {("ecommerce", "2")}
    assert {each.last_job for each in parts["others"]} == {"a", "b"}
    assert {each.job for each in parts["prices"]} == {"a", "b"}
    assert {each.job for each in parts["departures"]} == {"c"}
    assert [each.job for each in parts["parts"]] == ["a"]
    assert [each.job for each in parts["watermarks"]] == ["a"]
    assert len({each.job for each in parts["snapshots"]}) == 2, "one page has no job"
    assert {each.event.job for each in parts["events"]} == {"a", "b", "c"}


def test_jobs_and_their_verdicts_are_there(store: FullStore) -> None:
    found = {each.job: each for each in store.jobs(PORTAL)}
    assert (found["c"].verdict, found["c"].departures, found["c"].complete) == ("applied", 2, None)
    assert (found["d"].complete, found["d"].reason) == (False, "2 pages were given up")
    again = store.conclude("c", PORTAL)
    assert (again.verdict, again.found, again.delisted) == ("applied", 2, 2)
    assert [part.search for part in store.parts("a", PORTAL)] == ["https://x.example/?a=1"]
    assert store.watermark(PORTAL, "all") == "2026-11-01"


@pytest.mark.parametrize("how", ["upgraded"], indirect=True)
def test_evidence_of_a_job_that_another_portal_took_the_name_of_can_be_applied(kind: str, url: str, how: str) -> None:
    """Before, the second portal's job of the same name had no record, and its evidence was lost."""
    FILL[kind](url)
    LOSE_A_JOB[kind](url)
    store = open_store(url)
    store.migrate()
    found = {each.portal: each for each in store.jobs(job="d")}
    assert found.keys() == {PORTAL, "emlak"}
    lost = found["emlak"]
    assert (lost.mode, lost.scope, lost.complete, lost.verdict) == (
        found[PORTAL].mode,
        found[PORTAL].scope,
        False,
        None,
    )
    assert lost.reason == "its record was lost: another portal had a job of the same name"
    assert store.conclude("d", "emlak").found == 0, "its listing was erased since"
    store.close()


def test_lost_jobs_of_an_old_backup_get_a_record() -> None:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    lost = LostJobs()
    lost.look_at(StoredJob(Job("d", PORTAL, "sweep", "all", at), 5))
    lost.look_at(Departure("d", PORTAL, "1", "404", "", "https://x.example/", at, weighed=True))
    assert list(lost.jobs()) == []
    for day in (3, 2):
        evidence = Departure(
            "d", "emlak", str(day), "404", "", "https://x.example/", at.replace(day=day), weighed=False
        )
        lost.look_at(evidence)
    (found,) = lost.jobs()
    assert (found.job.job, found.job.portal, found.job.mode, found.job.scope) == ("d", "emlak", "sweep", "all")
    assert (found.job.started_at.day, found.job.complete, found.job.verdict) == (2, False, None)


def test_histories_are_as_they_were(store: FullStore) -> None:
    assert [(event.type, event.job) for event in store.history(PORTAL, "1")] == [
        ("listed", "a"),
        ("price_changed", "b"),
        ("updated", "b"),
    ]
    assert [(seen.price, seen.job) for seen in store.prices(PORTAL, "2")] == [
        (Decimal(350000), "a"),
        (Decimal(330000), "b"),
    ]
    assert [(event.type, event.job) for event in store.history(PORTAL, "4")] == [("listed", "a"), ("delisted", "c")]
    assert [event.job for event in store.history("ecommerce", "2")] == ["a", "b"]
    assert store.erased(PORTAL) == {"0"}


def test_a_suspect_price_waits_for_another_job_than_the_one_that_saw_it(store: FullStore) -> None:
    store.write(batch(page("3", price=Decimal(35000)), job="b"))
    assert types(store, "3") == ["listed"]
    store.write(batch(page("3", price=Decimal(35000)), job="e"))
    assert types(store, "3") == ["listed", "price_changed"]


def test_the_numbering_of_events_continues(store: FullStore) -> None:
    last = all_events(store)[-1].seq
    store.write(batch(page("new"), job="e"))
    assert [(each.seq, each.event.job) for each in all_events(store) if each.seq > last] == [(last + 1, "e")]


@pytest.mark.parametrize("how", ["upgraded"], indirect=True)
@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
def test_an_upgraded_database_has_what_its_backup_has(store: FullStore, second_store_url: str) -> None:
    other = open_store(second_store_url)
    restore(other, LAST / "backup-0.1.zip")
    assert everything(store) == everything(other)
    other.close()


@pytest.mark.parametrize("how", ["upgraded"], indirect=True)
def test_an_upgraded_database_looks_like_a_new_one(
    store: FullStore, kind: str, url: str, request: pytest.FixtureRequest
) -> None:
    another = str(request.getfixturevalue(KINDS[kind][1]))
    new = open_store(another)
    new.migrate()
    new.close()
    look = {"postgres": look_at_postgres, "mongodb": look_at_mongo}[kind]
    assert look(url) == look(another)


def look_at_postgres(url: str) -> list[Any]:
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns"
            " WHERE table_schema = current_schema() AND table_name <> 'schema_version' ORDER BY 1, 2"
        )
        columns = cursor.fetchall()
        cursor.execute("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1")
        indexes = cursor.fetchall()
    connection.close()
    return [*columns, *indexes]


def look_at_mongo(url: str) -> list[Any]:
    with MongoClient[Any](url) as client:
        database = client.get_default_database()
        version = database["schema"].find_one({"_id": "schema"})
        assert version is not None
        indexes = {name: sorted(database[name].index_information()) for name in schema.INDEXES}
    return [version["version"], indexes]


@pytest.mark.parametrize("how", ["upgraded"], indirect=True)
@pytest.mark.parametrize("kind", ["mongodb"], indirect=True)
def test_no_document_has_a_field_of_runs(store: FullStore, url: str) -> None:
    with MongoClient[Any](url) as client:
        database = client.get_default_database()
        assert "runs" not in database.list_collection_names()
        for name in schema.COLLECTIONS:
            for document in database[name].find():
                assert '"run"' not in json_util.dumps(document), name
                assert '"last_run"' not in json_util.dumps(document), name


@pytest.mark.parametrize("kind", ["mongodb"], indirect=True)
def test_an_interrupted_upgrade_is_finished_by_the_next(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_mongo(url)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "_rename_runs", lambda documents: 1 / 0)
        broken = open_store(url)
        with pytest.raises(ZeroDivisionError):
            broken.migrate()
        broken.close()
    store = open_store(url)
    assert types(store, "1") == ["listed", "price_changed", "updated"]
    assert {event.job for event in store.history(PORTAL, "1")} == {"a", "b"}
    store.close()
