"""The store of a running crawl is reached through its crawler."""

import asyncio
import gc
from typing import Any

import pytest

from realestate.storage import StoreError
from realestate.storage.handle import provide_store, store_of
from tests.handles import DirectHandle


class FakeCrawler:
    """An object in place of a crawler."""


def test_the_handle_of_a_crawler_is_the_one_that_was_provided() -> None:
    first: Any = FakeCrawler()
    second: Any = FakeCrawler()
    provide_store(first, DirectHandle("the first store"))
    provide_store(second, DirectHandle("the second store"))
    assert asyncio.run(store_of(first).ask(lambda store: store)) == "the first store"  # type: ignore[comparison-overlap]
    assert asyncio.run(store_of(second).ask(lambda store: store)) == "the second store"  # type: ignore[comparison-overlap]


def test_a_crawl_without_a_store_says_so() -> None:
    crawler: Any = FakeCrawler()
    with pytest.raises(StoreError, match="has no store"):
        store_of(crawler)


def test_a_handle_is_freed_with_its_crawler() -> None:
    freed: list[str] = []

    class Handle(DirectHandle):
        def __del__(self) -> None:
            freed.append("handle")

    crawler: Any = FakeCrawler()
    provide_store(crawler, Handle(None))
    del crawler
    gc.collect()
    assert freed == ["handle"]
