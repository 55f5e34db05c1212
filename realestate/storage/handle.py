"""How the parts of a crawl reach the store: `store_of(crawler)`.

The store pipeline opens the store and provides a handle for its crawler. Spiders and middlewares use the handle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar
from weakref import WeakKeyDictionary

from realestate.storage.errors import StoreError
from realestate.storage.store import Store

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

T = TypeVar("T")


class StoreHandle(Protocol):
    """The store of a running crawl. A store is used by one thread only: `ask` calls a function there."""

    async def ask(self, question: Callable[[Store], T]) -> T:
        """Call `question` with the store, in the store's thread, and return its result.

        While the database is not available, this waits and retries."""
        ...


_handles: WeakKeyDictionary[Crawler, StoreHandle] = WeakKeyDictionary()


def provide_store(crawler: Crawler, handle: StoreHandle) -> None:
    """Register the handle of a crawler. It must not hold a strong reference to the crawler, or neither is freed."""
    _handles[crawler] = handle


def has_store(crawler: Crawler) -> bool:
    """Whether a handle was provided for the crawler."""
    return crawler in _handles


def store_of(crawler: Crawler) -> StoreHandle:
    """Return the handle of a crawler. Raises StoreError if none was provided."""
    try:
        return _handles[crawler]
    except KeyError:
        raise StoreError(
            "this crawl has no store: is StorePipeline in ITEM_PIPELINES, and has the crawl begun?"
        ) from None
