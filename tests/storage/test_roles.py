"""Who may change the tables, and what a role that may not can still do. With a real role of PostgreSQL."""

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2
import pytest
from pymongo import MongoClient

from realestate.storage import Batch, StoreAway, StoreError, open_store
from realestate.storage.mongo import schema as mongo_schema
from realestate.storage.postgres import schema
from realestate.storage.store import WHOLE
from tests.storage.batches import PORTAL, batch, card, gone, later, page, pages, quarantined, record, types

pytestmark = pytest.mark.empty_database

ROLES = Path(__file__).parents[2] / "deploy/postgres/roles.sql"


def grants(role: str) -> str:
    """What roles.sql grants to the writer, for another name of the role."""
    statements = re.findall(r"^(GRANT [^;]* TO) realestate_writer\b", ROLES.read_text("utf-8"), re.MULTILINE)
    assert len(statements) == 3, "the schema, the tables, the sequences"
    return "".join(f"{statement} {role};" for statement in statements)


@dataclass
class Database:
    url: str
    """With the role that owns the tables."""
    worker: str
    """With a role that may only read and write rows."""
    role: str

    def execute(self, statement: str) -> None:
        connection = psycopg2.connect(self.url)
        with connection, connection.cursor() as cursor:
            cursor.execute(statement)
        connection.close()


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    role, parts = f"worker_{secrets.token_hex(4)}", urlsplit(store_url)
    worker = parts._replace(netloc=f"{role}:pw@{parts.hostname}:{parts.port}").geturl()
    database = Database(store_url, worker, role)
    database.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'pw'; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    yield database
    database.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def migrated(database: Database) -> None:
    owner = open_store(database.url)
    owner.migrate()
    assert owner.schema_version() == schema.newest()
    owner.close()


def test_a_role_that_may_only_read_and_write_rows_is_enough_for_a_worker(database: Database) -> None:
    migrated(database)
    database.execute(grants(database.role))
    store = open_store(database.worker)
    store.migrate()
    store.begin_job("a", PORTAL, "full", WHOLE)
    store.write(Batch([(each, "a") for each in pages(10)], quarantined=[quarantined()]))
    later()
    store.write(batch(card("1", 340_000), gone("2"), job="a"))
    later()
    assert store.end_sweep("a", PORTAL, complete=True) == []
    assert store.conclude("a", PORTAL).delisted == 1
    store.correct([page("3", rooms=7)], "reparse")
    store.set_watermark(PORTAL, "all", "1", "a")
    assert (types(store, "1"), types(store, "2")) == (["listed", "price_changed"], ["listed", "delisted"])
    assert record(store, "3")["rooms"] == 7
    store.close()


def test_a_role_that_may_not_migrate_gets_one_line(database: Database) -> None:
    store = open_store(database.worker)
    with pytest.raises(StoreError, match=r"schema 0, and .* is needed.*run `realestate migrate`") as caught:
        store.migrate()
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, StoreAway)
    migrated(database)
    database.execute(grants(database.role))
    database.execute("DELETE FROM schema_version WHERE version > 6")
    with pytest.raises(StoreError, match=r"schema 6, and .* is needed.*run `realestate migrate`"):
        store.migrate()
    store.close()


def test_a_database_that_is_up_to_date_is_only_read(database: Database) -> None:
    migrated(database)
    database.execute("CREATE TABLE log (tag text); GRANT ALL ON log TO PUBLIC")
    database.execute(
        "CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS"
        " 'BEGIN INSERT INTO log VALUES (tg_tag); END';"
        "CREATE EVENT TRIGGER noted ON ddl_command_start EXECUTE FUNCTION note()"
    )
    try:
        store = open_store(database.url)
        store.migrate()
        assert store.counts() == {}
        store.close()
    finally:
        database.execute("DROP EVENT TRIGGER noted")
    connection = psycopg2.connect(database.url)
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT tag FROM log")
        assert cursor.fetchall() == []
    connection.close()


def test_a_postgres_database_that_is_too_new_is_refused(database: Database) -> None:
    migrated(database)
    newer = schema.newest() + 1
    database.execute(f"INSERT INTO schema_version (version) VALUES ({newer})")
    store = open_store(database.url)
    with pytest.raises(StoreError, match=rf"has schema {newer}, and this version .* knows only {newer - 1}: update"):
        store.write(batch(page()))
    store.close()


def test_a_mongo_database_that_is_too_new_is_refused(mongodb_url: str) -> None:
    store = open_store(mongodb_url)
    store.migrate()
    assert store.schema_version() == len(mongo_schema.STEPS)
    with MongoClient(mongodb_url) as client:  # type: ignore[var-annotated]
        client.get_default_database()["schema"].update_one({"_id": "schema"}, {"$inc": {"version": 1}})
    store.close()
    with pytest.raises(StoreError, match="this version of realestate knows only"):
        store.write(batch(page()))
    store.close()


# ----- a login that is refused


def test_a_wrong_password_is_no_outage(database: Database) -> None:
    store = open_store(database.worker.replace(":pw@", ":wrong@"))
    with pytest.raises(
        StoreError, match=r"PostgreSQL: password authentication failed for user .*; is STORE_URL"
    ) as caught:
        store.migrate()
    assert not isinstance(caught.value, StoreAway)
    assert "wrong" not in str(caught.value)


def test_an_unknown_role_or_database_is_no_outage(store_url: str) -> None:
    parts = urlsplit(store_url)
    for url, message in (
        (parts._replace(netloc=f"nobody_here:x@{parts.hostname}:{parts.port}"), "nobody_here"),
        (parts._replace(path="/no_such_database"), "no_such_database"),
    ):
        with pytest.raises(StoreError, match=message) as caught:
            open_store(url.geturl()).migrate()
        assert not isinstance(caught.value, StoreAway)


def test_a_refused_login_counts_only_if_every_server_refuses(store_url: str) -> None:
    """One of two servers is down: it may come back, and know the user."""
    parts = urlsplit(store_url)
    several = parts._replace(netloc=f"nobody_here:x@127.0.0.1:1,{parts.hostname}:{parts.port}")
    with pytest.raises(StoreAway):
        open_store(several.geturl()).migrate()


@pytest.mark.parametrize(
    "url", ["user:geheim@host/db", "host=db password=geheim", "geheim", "ge heim://x", "geheim:5432"]
)
def test_a_store_url_without_a_scheme_is_not_shown(url: str) -> None:
    with pytest.raises(StoreError, match="STORE_URL is not a URL") as caught:
        open_store(url)
    assert "heim" not in str(caught.value)


def test_the_scheme_of_an_unknown_kind_of_store_is_shown() -> None:
    with pytest.raises(StoreError, match="STORE_URL begins with 'mysql'"):
        open_store("mysql://user:geheim@host/db")
