"""The store of a worker process: one connection and one thread for all its portals."""

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import Any, ClassVar, TypeVar, cast

from realestate.pipelines.worker_thread import WorkerThread
from realestate.storage import Store, open_store

T = TypeVar("T")


class SharedStore:
    """One store, used by the pipelines of all portals of this process. The last one closes the connection.

    Their calls run one after another in one thread, so the store needs no lock.
    """

    _known: ClassVar[dict[str, "SharedStore"]] = {}
    _lock: ClassVar[Lock] = Lock()

    def __init__(self, url: str) -> None:
        self.url = url
        self._thread: WorkerThread | None = None
        self._store: Store | None = None
        self._users = 0

    @classmethod
    def of(cls, url: str) -> "SharedStore":
        """The store of this process with this address."""
        with cls._lock:
            return cls._known.setdefault(url, cls(url))

    def open(self) -> Store:
        """The store for one more user, who calls its `close` once."""
        with self._lock:
            if self._store is None:
                self._store = open_store(self.url)
            self._users += 1
            return cast("Store", _OfOneUser(self, self._store))

    def run(self, call: Callable[[], T]) -> "asyncio.Future[T]":
        """Run a call in the store's thread: see `WorkerThread.run`."""
        if self._thread is None:
            self._thread = WorkerThread("store")
        return self._thread.run(call)

    def close_one(self) -> None:
        """One user less. Called in the store's thread."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._store is not None:
                self._store.close()
                self._store = None

    def end(self) -> None:
        """End the thread after all queued calls, if nobody uses the store any more."""
        with self._lock:
            if self._users == 0 and self._thread is not None:
                self._thread.end()
                self._thread = None


class _OfOneUser:
    """The shared store as one user has it: to close it is to use it no more."""

    def __init__(self, shared: SharedStore, store: Store) -> None:
        self._shared = shared
        self._store = store
        self._is_closed = False

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._shared.close_one()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
