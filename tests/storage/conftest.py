"""One suite for every store: a test that asks for `any_store` runs on each kind, on a real server."""

from collections.abc import Callable, Iterator

import pytest

from realestate.storage import Store, open_store

OpenStore = Callable[[], Store]
Scaled = Callable[[int], int]
#: kind -> the fixtures that give the addresses of two empty databases.
KINDS = {"postgres": ("store_url", "second_store_url"), "mongodb": ("mongodb_url", "second_mongodb_url")}


@pytest.fixture(params=KINDS)
def any_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(KINDS[request.param][0]))


@pytest.fixture(params=KINDS)
def other_url(request: pytest.FixtureRequest) -> str:
    """Of every kind, whatever the first is."""
    return str(request.getfixturevalue(KINDS[request.param][1]))


@pytest.fixture
def scaled(any_url: str) -> Scaled:
    """How much to ask of the server: the small one that stands in for MongoDB takes milliseconds for each document."""
    share = 5 if any_url.startswith("mongodb") else 1
    return lambda number: max(2, number // share)


@pytest.fixture
def open_another(any_url: str) -> Iterator[OpenStore]:
    """Opens stores on one empty database, each with a connection of its own."""
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
