"""The tasks of one worker that run beside Scrapy's: what they wait for, and how they end when the worker stops."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

logger = logging.getLogger(__name__)
T = TypeVar("T")

#: A task that goes on after it was cancelled is cancelled again after this time.
CANCEL_AGAIN_SECONDS = 0.1


class BackgroundTasks:
    """Two kinds of tasks: some wait for Redis without an end, the others end by themselves and are waited for."""

    def __init__(self) -> None:
        self.is_closed = False
        self._while_open: set[asyncio.Task[Any]] = set()
        self._to_the_end: set[asyncio.Task[None]] = set()

    def run_while_open(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run this until `close` cancels it."""
        task = asyncio.create_task(work)
        self._while_open.add(task)
        task.add_done_callback(self._while_open.discard)
        return task

    async def result_while_open(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The result; None if `close` is called first."""
        if self.is_closed:
            work.close()
            return None
        task = self.run_while_open(work)
        try:
            return await task
        except asyncio.CancelledError:
            if self.is_closed and task.cancelled() and not _is_cancelled():
                return None
            task.cancel()
            raise

    def run_to_the_end(self, act: Callable[[], Awaitable[None]], what: str) -> "asyncio.Task[None]":
        """Run this; `finish` waits for it. `what` says in the log what failed."""
        task = asyncio.create_task(_logged(act, what))
        self._to_the_end.add(task)
        task.add_done_callback(self._to_the_end.discard)
        return task

    async def close(self, others: Iterable["asyncio.Task[Any]"] = ()) -> None:
        """Cancel the tasks that wait without an end, and these others. Return when they have ended."""
        self.is_closed = True
        pending = {task for task in (*others, *self._while_open) if not task.done()}
        while pending:  # redis-py may swallow a cancellation while it connects
            for task in pending:
                task.cancel()
            _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN_SECONDS)

    async def finish(self) -> None:
        """Wait until all tasks that end by themselves have ended."""
        await asyncio.gather(*self._to_the_end, return_exceptions=True)

    async def cancel(self, others: Iterable["asyncio.Task[Any]"] = ()) -> None:
        """Cancel whatever still runs, and these others: no task may use Redis after its connection is closed."""
        tasks = [*others, *self._to_the_end]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _is_cancelled() -> bool:
    """Whether the task that runs now is being cancelled itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _logged(act: Callable[[], Awaitable[None]], what: str) -> None:
    try:
        await act()
    except Exception as error:
        logger.error("queue/failed: %s: %s: %s", what, type(error).__name__, error)
