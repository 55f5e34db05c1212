"""A crawl without a store asks the empty store what another crawl asks a real one."""

import inspect

import pytest

from realestate.storage.no_store import EmptyStore
from realestate.storage.store import Store

METHODS = [name for name in vars(EmptyStore) if not name.startswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_the_empty_store_takes_the_arguments_of_a_store(name: str) -> None:
    wanted = inspect.signature(getattr(Store, name)).parameters
    found = inspect.signature(getattr(EmptyStore, name)).parameters
    assert [(each.name, each.kind, each.default) for each in found.values()] == [
        (each.name, each.kind, each.default) for each in wanted.values()
    ]
