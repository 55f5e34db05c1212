"""Stores of each kind, and a receiver of notifications."""

from collections.abc import Iterator

import pytest

from realestate.storage import FullStore, open_store
from tests.monitoring.receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


@pytest.fixture(params=["store_url", "mongodb_url"])
def any_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty database of each kind."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def any_store(any_url: str) -> Iterator[FullStore]:
    store = open_store(any_url)
    store.migrate()
    yield store
    store.close()
