"""One suite for every store: a test that asks for `any_store` runs on each kind, on a real server."""

from collections.abc import Callable, Iterator

import psycopg2
import pytest

from realestate import embedded
from realestate.storage import FullStore, Store, open_store
from tests.conftest import empty_database

OpenStore = Callable[[], Store]
Scaled = Callable[[int], int]
#: kind -> the fixtures that give the addresses of two empty databases.
KINDS = {"postgres": ("clean_store_url", "second_clean_store_url"), "mongodb": ("mongodb_url", "second_mongodb_url")}


@pytest.fixture(scope="session")
def migrated_urls(services: embedded.Services) -> Iterator[tuple[str, str]]:
    """Two PostgreSQL databases with our tables. Tests share them: to make one takes longer than most tests."""
    with empty_database(services.store_url) as first, empty_database(services.store_url) as second:
        for url in (first, second):
            store = open_store(url)
            store.migrate()
            store.close()
        yield first, second


def cleaned(url: str) -> str:
    """Empty all tables, after ending connections that an earlier test left open."""
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        cursor.execute(
            "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables"
            " WHERE schemaname = current_schema() AND tablename <> 'schema_version'"
        )
        ((tables,),) = cursor.fetchall()
        cursor.execute(f"TRUNCATE {tables} RESTART IDENTITY")
    connection.close()
    return url


@pytest.fixture
def clean_store_url(migrated_urls: tuple[str, str]) -> str:
    return cleaned(migrated_urls[0])


@pytest.fixture
def second_clean_store_url(migrated_urls: tuple[str, str]) -> str:
    return cleaned(migrated_urls[1])


@pytest.fixture(params=KINDS)
def any_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(KINDS[request.param][0]))


@pytest.fixture(params=KINDS)
def other_url(request: pytest.FixtureRequest) -> str:
    """The address of a second empty store. Its kind does not depend on the kind of the first."""
    return str(request.getfixturevalue(KINDS[request.param][1]))


@pytest.fixture
def scaled(any_url: str) -> Scaled:
    """Scale a number of documents: the small server that replaces MongoDB takes milliseconds for each document."""
    share = 5 if any_url.startswith("mongodb") else 1
    return lambda number: max(2, number // share)


@pytest.fixture
def open_another(any_url: str) -> Iterator[OpenStore]:
    """Return a function that opens stores on one empty database, each with its own connection."""
    opened: list[Store] = []

    def open_one() -> Store:
        opened.append(open_store(any_url))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def any_store(open_another: OpenStore) -> Store:
    store = open_another()
    store.migrate()
    return store


@pytest.fixture
def other_store(other_url: str) -> Iterator[FullStore]:
    """A second empty store. Its kind does not depend on the kind of the first."""
    store = open_store(other_url)
    store.migrate()
    yield store
    store.close()
