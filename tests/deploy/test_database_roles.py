"""The roles of deploy/postgres/roles.sql: the migrator makes the tables, the writer works, the reader only reads."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg2
import pytest
from psycopg2.errors import InsufficientPrivilege

from realestate.storage.postgres import PostgresStore
from tests.storage.batches import batch, page

SCRIPT = (Path(__file__).parents[2] / "deploy" / "postgres" / "roles.sql").read_text("utf-8")
ROLES = ("migrator", "writer", "reader")
Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def login_as(sql: Sql, store_url: str) -> Iterator[Callable[[str], str]]:
    """A login for each role, in an empty database. Returns its address."""
    sql(SCRIPT.replace("%", "%%"))
    logins = {role: f"{role}_{uuid4().hex[:8]}" for role in ROLES}
    for role, login in logins.items():
        sql(f"CREATE ROLE {login} LOGIN PASSWORD 'x' IN ROLE realestate_{role}")
    sql(f"ALTER ROLE {logins['migrator']} SET role = 'realestate_migrator'")
    parts = urlsplit(store_url)
    host = parts.netloc.rpartition("@")[2]
    yield lambda role: parts._replace(netloc=f"{logins[role]}:x@{host}").geturl()
    for role in ROLES:
        sql(f"DROP OWNED BY realestate_{role} CASCADE")
    for login in logins.values():
        sql(f"DROP ROLE {login}")


def test_the_migrator_needs_no_redis(store_url: str, tmp_path: Path) -> None:
    """In Kubernetes and on AWS, `migrate` gets the address of the database and nothing else."""
    home = tmp_path / "home"
    env = {name: value for name, value in os.environ.items() if not name.startswith("REDIS")}
    env |= {"STORE_URL": store_url, "REALESTATE_HOME": str(home)}
    command = [sys.executable, "-m", "realestate", "migrate"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert not home.exists(), "no server was started for it"


@contextmanager
def store_at(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url)) as store:
        yield store


def run_as(url: str, statement: str) -> list[tuple[Any, ...]]:
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.mark.empty_database
def test_each_role_does_its_work_and_no_more(login_as: Callable[[str], str], sql: Sql) -> None:
    with store_at(login_as("migrator")) as store:
        store.migrate()
    owners = sql("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")
    assert owners == [("realestate_migrator",)]
    with store_at(login_as("writer")) as store:
        store.migrate()  # nothing to do, and no right needed
        store.write(batch(page("1")))
        assert [row["ref"] for row in store.records(page("1").portal)] == ["1"]
    with pytest.raises(InsufficientPrivilege):
        run_as(login_as("writer"), "ALTER TABLE listings ADD COLUMN x int")
    with pytest.raises(InsufficientPrivilege):
        run_as(login_as("writer"), "CREATE TABLE mine (x int)")
    with pytest.raises(InsufficientPrivilege):
        run_as(login_as("reader"), "SELECT * FROM listings")
    sql(SCRIPT.replace("%", "%%"))  # after the migration, as its first lines say
    assert run_as(login_as("reader"), "SELECT count(*) FROM listings") == [(1,)]
    assert run_as(login_as("reader"), "SELECT count(*) FROM current_listings") == [(1,)]
    hidden = [f"SELECT * FROM {table}" for table in ("contacts", "notifications", "searches")]
    for statement in ["DELETE FROM listings", *hidden]:
        with pytest.raises(InsufficientPrivilege):
            run_as(login_as("reader"), statement)
