"""The server of the API in the test's own process, on each kind of store."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from fastapi.testclient import TestClient
from redis import Redis

from realestate.pipelines.clean import clean
from realestate.storage import FullStore, open_store
from realestate.web.app import create_app
from tests.storage.batches import batch, quarantined
from tests.storage.conftest import any_url, clean_store_url, migrated_urls, second_clean_store_url
from tests.storage.random_listings import random_listing

__all__ = ["any_url", "clean_store_url", "migrated_urls", "second_clean_store_url"]

MakeClient = Callable[..., TestClient]
LISTINGS = 30


@pytest.fixture
def filled(any_url: str) -> Iterator[FullStore]:
    """A store with some listings of the portal bina."""
    store = open_store(any_url)
    store.migrate()
    random = Random(3)
    store.write(batch(*(clean(random_listing(random, "bina", str(number))) for number in range(LISTINGS))))
    store.write(batch(*(clean(random_listing(random, "bina", str(number))) for number in range(LISTINGS // 2))))
    from realestate.storage import Batch

    store.write(Batch((), [quarantined()]))
    yield store
    store.close()


@pytest.fixture
def make_client(any_url: str, redis_url: str, server: Redis) -> Iterator[MakeClient]:
    """Return a function that makes clients of the application, addressed as localhost."""
    opened: list[TestClient] = []

    def make(**changes: Any) -> TestClient:
        app = create_app(lambda: open_store(any_url), redis_url, **changes)
        client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
        opened.append(client.__enter__())
        return opened[-1]

    yield make
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def client(make_client: MakeClient, filled: FullStore) -> TestClient:
    return make_client()
