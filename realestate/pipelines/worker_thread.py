"""Acts that block, beside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class WorkerThread:
    """One thread: acts are done one after another, in the order in which they were asked for.

    An act that never ends does not keep the process alive, as one in an executor would.
    """

    def __init__(self, name: str) -> None:
        self._acts: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        Thread(target=self._work, name=name, daemon=True).start()

    def run(self, act: Callable[[], T]) -> "asyncio.Future[T]":
        outcome: Future[T] = Future()
        self._acts.put((act, outcome))
        return asyncio.wrap_future(outcome)

    def end(self) -> None:
        """After what was asked for so far."""
        self._acts.put(None)

    def _work(self) -> None:
        while (asked := self._acts.get()) is not None:
            act, outcome = asked
            if not outcome.set_running_or_notify_cancel():
                continue
            try:
                outcome.set_result(act())
            except BaseException as error:
                outcome.set_exception(error)
            del asked, act, outcome
