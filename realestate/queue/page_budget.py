"""A CPU budget for each page: a page that uses more is abandoned, and the worker goes on.

A timer sends SIGPROF for each part of a second of CPU time that the process uses. Python runs the handler between two
bytecodes, and `re` runs it during a match. If the page that is being read is over its budget, the handler raises
PageTooSlow inside the page's code. C code that never lets Python run a handler is ended by the parent process
(`queue.supervisor`), which reads in shared memory which page it is.

The CPU time of a page is that of the main thread while it handles the page: its decoding, its callback, and the
pipelines of its items. Between two steps of a page the event loop handles others.
"""

import asyncio
import atexit
import signal
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from realestate.queue.ledger import Held
from realestate.queue.shared_page import SharedPage

if TYPE_CHECKING:
    from realestate.queue.fleet import Fleet

T = TypeVar("T")

#: The page whose code runs, and its fleet. The tasks that a page starts, such as those of its items, inherit it.
PAGE: "ContextVar[tuple[Held, Fleet] | None]" = ContextVar("page", default=None)
#: The budget is checked after this much CPU time of the process.
TICK_SECONDS = 0.25


class PageTooSlow(Exception):
    """The page used more CPU time than PAGE_CPU_SECONDS. Raised inside the code that reads it."""


class PageBudget:
    """The page that the main thread of this process is handling, and the CPU time that it may use.

    There is one for all portals of a process, because there is one main thread and one timer.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        """0 means without a limit."""
        self.shared: SharedPage | None = None
        """Read by the parent process, if there is one."""
        self._held: Held | None = None
        self._since = 0.0
        self._users = 0

    def start(self, seconds: float) -> None:
        """Check the budget until `stop` was called as often.

        Only the main thread can receive signals; elsewhere there is no limit.
        """
        self._users += 1
        if self.seconds or seconds <= 0:
            return
        with suppress(ValueError):
            signal.signal(signal.SIGPROF, self._check)
            signal.siginterrupt(signal.SIGPROF, False)
            signal.setitimer(signal.ITIMER_PROF, min(TICK_SECONDS, seconds), min(TICK_SECONDS, seconds))
            self.seconds = seconds
            atexit.register(self._end)  # a signal without a handler would kill the process

    def stop(self) -> None:
        self._users -= 1
        if not self._users:
            self._end()

    def _end(self) -> None:
        if self.seconds:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, signal.SIG_IGN)
            atexit.unregister(self._end)
        self.seconds = 0.0

    def enter(self, held: Held, fleet: "Fleet") -> None:
        """From now until the event loop runs again, the main thread handles this page."""
        if not self.seconds:
            return
        PAGE.set((held, fleet))
        if held is self._held:
            return
        now = time.thread_time()
        if self._held is not None:
            self._held.cpu_seconds += now - self._since
        else:
            asyncio.get_running_loop().call_soon(self._leave)
        self._held = held
        self._since = now
        if self.shared is not None:
            if not held.record:
                held.record = fleet.page_record(held)
            self.shared.enter(held.record, now - held.cpu_seconds)

    def _leave(self) -> None:
        held = self._held
        if held is not None:
            held.cpu_seconds += time.thread_time() - self._since
        self._held = None
        if self.shared is not None:
            self.shared.leave()

    def _check(self, number: int, frame: FrameType | None) -> None:
        """The handler of the timer. A page that catches the exception and goes on gets it again at the next tick."""
        page = PAGE.get()
        if page is None or page[0] is not self._held:
            return  # a task that belongs to no page, and runs in the same round of the event loop
        held, fleet = page
        spent = held.cpu_seconds + time.thread_time() - self._since
        if spent < self.seconds:
            return
        error = f"used {spent:.1f} s of CPU; PAGE_CPU_SECONDS is {self.seconds:g}"
        fleet.abandon(held, error)
        raise PageTooSlow(error)


#: The budget of this process.
BUDGET = PageBudget()


class Steps(Generic[T]):
    """Awaits something, and calls `enter` before each step of it: also after it has waited for something else."""

    __slots__ = ("_enter", "_steps")

    def __init__(self, awaited: Awaitable[T], enter: Callable[[], None]) -> None:
        self._steps: Generator[Any, Any, T] = awaited.__await__()
        self._enter = enter

    def __await__(self) -> Generator[Any, Any, T]:
        return self

    def __iter__(self) -> "Steps[T]":
        return self

    def __next__(self) -> Any:
        self._enter()
        return next(self._steps)

    def send(self, value: Any) -> Any:
        self._enter()
        return next(self._steps) if value is None else self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        self._enter()
        return self._steps.throw(*error)

    def close(self) -> None:
        self._steps.close()
