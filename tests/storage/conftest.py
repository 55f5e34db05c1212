"""One suite for every store: a test that asks for `any_store` runs on each kind, on a real server."""

from collections.abc import Callable, Iterator

import pytest

from realestate.storage import Store, open_store

OpenStore = Callable[[], Store]
#: kind -> the fixture that gives the address of an empty database.
KINDS = {"postgres": "store_url", "mongodb": "mongodb_url"}


@pytest.fixture(params=KINDS)
def any_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(KINDS[request.param]))


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
