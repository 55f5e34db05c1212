"""Stores for the threads of the server. A store is used by one thread at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, LifoQueue
from typing import TypeVar

from fastapi import Request

from realestate.storage import FullStore, StoreAway

T = TypeVar("T")

#: How long a request waits for a free store.
WAIT_SECONDS = 10.0


class Stores:
    """Lends stores to requests, at most this many at a time. They are opened when they are first needed."""

    def __init__(self, open_one: Callable[[], FullStore], size: int = 8) -> None:
        self._open_one = open_one
        self._free: LifoQueue[FullStore | None] = LifoQueue()
        for _ in range(size):
            self._free.put(None)

    @contextmanager
    def lent(self) -> Iterator[FullStore]:
        """A store for this thread. Raises StoreAway if none becomes free in time."""
        try:
            store = self._free.get(timeout=WAIT_SECONDS)
        except Empty:
            raise StoreAway("all connections to the store are in use") from None
        try:
            store = store or self._open_one()
            yield store
        finally:
            self._free.put(store)

    def ask(self, question: Callable[[FullStore], T]) -> T:
        """Call the function with a store and return its result."""
        with self.lent() as store:
            return question(store)

    def close(self) -> None:
        """Close the stores that are not lent."""
        while True:
            try:
                store = self._free.get_nowait()
            except Empty:
                return
            if store is not None:
                store.close()


def stores_of(request: Request) -> Stores:
    """The stores of the application that got the request."""
    stores: Stores = request.app.state.services.stores
    return stores
