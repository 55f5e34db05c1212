"""One thread for calls that block, so that they do not block the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class WorkerThread:
    """Runs calls one after another, in the order of `run`.

    It is a daemon thread: a call that never returns does not keep the process alive. In an executor it would.
    """

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        Thread(target=self._work, name=name, daemon=True).start()

    def run(self, call: Callable[[], T]) -> "asyncio.Future[T]":
        """Queue a call and return a future of its result."""
        future: Future[T] = Future()
        self._calls.put((call, future))
        wrapped = asyncio.wrap_future(future)
        wrapped.add_done_callback(_mark_as_retrieved)
        return wrapped

    def end(self) -> None:
        """End the thread after all queued calls."""
        self._calls.put(None)

    def _work(self) -> None:
        while (queued := self._calls.get()) is not None:
            call, future = queued
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            del queued, call, future  # while it waits, the thread keeps no result alive


def _mark_as_retrieved(future: "asyncio.Future[Any]") -> None:
    """Whoever waits for the result gets its error. If nobody waits any more, because the worker stops, asyncio would
    log "Future exception was never retrieved"."""
    if not future.cancelled():
        future.exception()
