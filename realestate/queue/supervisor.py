"""Runs a worker as a child process, ends it if it is stuck in a page, and starts it again.

C code may hold Python's interpreter lock for as long as it likes: then no thread, signal handler or event loop of the
worker runs. Only another process can end it. The parent

- sends the heartbeats of a worker that is stuck in a page, so that its other requests are not taken for suspects,
- kills a worker whose page is far over PAGE_CPU_SECONDS, or has kept it from its event loop for much longer,
- makes that page the dead letter `too_slow`, hands the worker's other requests back, and forks another worker,
- passes SIGTERM and SIGINT on, and ends with the exit code of the worker.

The parent forks before it has an event loop, a thread or a connection, so each child starts afresh. Its memory is
shared with the child.
"""

import asyncio
import ctypes
import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from redis.exceptions import RedisError
from scrapy.settings import BaseSettings

from realestate.queue import connection, keys, workers
from realestate.queue.dead_letters import dead_letter
from realestate.queue.page_budget import BUDGET
from realestate.queue.request_queue import QueueSettings, RequestQueue, Settlement
from realestate.queue.shared_page import FleetRecord, InHand, PageRecord, SharedPage

logger = logging.getLogger(__name__)

#: The parent looks at its worker this often.
LOOK_SECONDS = 0.25
#: The worker has so much more CPU time than the budget to abandon the page itself.
MARGIN_SECONDS = 1.5
#: A page that neither uses CPU time nor lets the event loop run may take this many times the budget.
BLOCKED_TIMES = 12
#: A worker that has been asked to stop is killed after this time, whatever it is stuck in. Stopping takes seconds, and
#: at most two minutes if neither the site, Redis nor the database replies.
STOP_SECONDS = 300.0
#: One that has been asked twice is killed after this time.
SECOND_REQUEST_SECONDS = 5.0
#: Redis has this long to take the requests of a killed worker back. Then their leases expire.
SETTLING_SECONDS = 20.0
_PR_SET_PDEATHSIG = 1
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def supervised(work: Callable[[], int], settings: BaseSettings) -> int:
    """Call `work` in a child process and return its exit code. Without PAGE_CPU_SECONDS it is called here."""
    seconds = settings.getfloat("PAGE_CPU_SECONDS")
    if seconds <= 0 or not hasattr(os, "fork"):
        return work()
    return _Supervisor(work, settings, seconds).run()


@dataclass(frozen=True, slots=True)
class _TooSlow:
    page: PageRecord
    error: str


class _Supervisor:
    def __init__(self, work: Callable[[], int], settings: BaseSettings, seconds: float) -> None:
        self._work = work
        self._settings = settings
        self._seconds = seconds
        self._shared = SharedPage()
        self._child = 0
        self._stops = 0
        """How often a stop was requested."""
        self._unsent: list[int] = []
        """Signals that the worker has not got yet."""
        self._kill_at = float("inf")
        self._previous: dict[int, Any] = {}

    def run(self) -> int:
        with self._signals() as wake_up:
            while True:
                self._start()
                outcome = self._watch(wake_up)
                if isinstance(outcome, _TooSlow):
                    self._end_stuck(outcome)
                    if self._stops:
                        return 0
                    continue
                break
        if os.WIFSIGNALED(outcome):
            _die_of(os.WTERMSIG(outcome))
        return os.waitstatus_to_exitcode(outcome)

    # ----- the child

    def _start(self) -> None:
        self._shared.reset()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self._child = os.fork()
        if self._child == 0:
            self._be_child(parent)

    def _be_child(self, parent: int) -> NoReturn:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for each, handler in self._previous.items():
                signal.signal(each, handler)
            _end_with(parent)
            workers.started_as = parent
            BUDGET.shared = self._shared
            code = self._work()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            logger.exception("the worker ended with an error")
        finally:
            logging.shutdown()
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    # ----- signals

    @contextmanager
    def _signals(self) -> Iterator[int]:
        """Pass stop signals on. Yields a file that can be read when a signal came."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        os.set_blocking(reading, False)
        self._previous = {int(number): signal.getsignal(number) for number in (*_STOP_SIGNALS, signal.SIGCHLD)}
        for number in _STOP_SIGNALS:
            signal.signal(number, self._stop)
        signal.signal(signal.SIGCHLD, _nothing)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(-1)
            for each, handler in self._previous.items():
                signal.signal(each, handler)
            os.close(reading)
            os.close(writing)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1
        seconds = STOP_SECONDS if self._stops == 1 else SECOND_REQUEST_SECONDS
        self._kill_at = min(self._kill_at, time.monotonic() + seconds)
        if number != signal.SIGINT or not _has_terminal():  # a terminal sends it to the worker too
            self._unsent.append(number)

    # ----- watching

    def _watch(self, wake_up: int) -> "int | _TooSlow":
        """Wait until the worker has ended, and return its wait status; or until a page is too slow."""
        stuck = _Stuck(self._shared, self._settings)
        while True:
            ended, status = os.waitpid(self._child, os.WNOHANG)
            if ended:
                self._child = 0
                return status
            while self._unsent:
                os.kill(self._child, self._unsent.pop(0))
            if time.monotonic() >= self._kill_at:
                os.kill(self._child, signal.SIGKILL)
            elif (page := stuck.look()) is not None:
                if error := self._too_slow(page, stuck):
                    return _TooSlow(page.page, error)
                stuck.keep_alive()
            select.select([wake_up], [], [], LOOK_SECONDS)
            with suppress(BlockingIOError):
                os.read(wake_up, 1024)

    def _too_slow(self, page: InHand, stuck: "_Stuck") -> str | None:
        """Why the page has to be ended; None if it may go on."""
        thread = _main_thread(self._child)
        cpu = thread.cpu_seconds - page.began_at
        if cpu > self._seconds + MARGIN_SECONDS:
            return f"used {cpu:.1f} s of CPU; PAGE_CPU_SECONDS is {self._seconds:g}"
        most = self._seconds + MARGIN_SECONDS if self._stops else self._seconds * BLOCKED_TIMES
        stuck.count_wait(is_waiting=thread.is_waiting)
        if stuck.waiting_seconds > most and not _has_terminal():  # in a terminal, somebody may be debugging
            return f"kept the worker from everything else for {stuck.waiting_seconds:.0f} s, without using CPU"
        return None

    def _end_stuck(self, slow: _TooSlow) -> None:
        os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        self._child = 0
        then = "stopped" if self._stops else "started again"
        _log(f"queue/too_slow: portal={slow.page.portal} url={slow.page.url}: {slow.error}; the worker is {then}")
        try:
            asyncio.run(asyncio.wait_for(_settle(self._settings, self._shared.fleets(), slow), SETTLING_SECONDS))
        except (TimeoutError, RedisError, OSError) as error:
            _log(f"queue/redis_away: the requests of the worker are ready when their leases expire: {error!r}")


class _Stuck:
    """Whether the worker is still in the same step of the same page, and for how long.

    Looks are counted, not the clock: while the machine sleeps, nobody looks.
    """

    def __init__(self, shared: SharedPage, settings: BaseSettings) -> None:
        self._shared = shared
        self._settings = settings
        self._step = -1
        self._looks = 0
        self._waits = 0
        self._heartbeats = -1
        self._silent_looks = 0
        self._lease = settings.getfloat("LEASE_SECONDS")

    @property
    def waiting_seconds(self) -> float:
        return self._waits * LOOK_SECONDS

    def count_wait(self, *, is_waiting: bool) -> None:
        """A worker that waits for a processor, on a busy machine, is not counted."""
        self._waits += is_waiting

    def look(self) -> InHand | None:
        """Return the page if it was in hand at the last look too."""
        page = self._shared.in_hand()
        step = page.step if page is not None else -1
        self._looks = self._looks + 1 if step == self._step and page is not None else 0
        self._waits = self._waits if self._looks else 0
        self._step = step
        return page if self._looks else None

    def keep_alive(self) -> None:
        """Send the worker's heartbeats if it has sent none for a third of its lease."""
        heartbeats = self._shared.heartbeats()
        self._silent_looks = self._silent_looks + 1 if heartbeats == self._heartbeats else 0
        self._heartbeats = heartbeats
        if self._silent_looks * LOOK_SECONDS < self._lease / 3:
            return
        self._silent_looks = 0
        page = self._shared.in_hand()
        with suppress(TimeoutError, RedisError, OSError):
            asyncio.run(asyncio.wait_for(_heartbeats(self._settings, self._shared.fleets(), page), self._lease / 3))


async def _heartbeats(settings: BaseSettings, fleets: list[FleetRecord], stuck: InHand | None) -> None:
    """Send the heartbeat of the worker, with its last data. Only the page that it is stuck in may be to blame."""
    server = connection.connect(settings)
    try:
        for fleet in fleets:
            queue = RequestQueue(server, fleet.portal, QueueSettings.from_settings(settings))
            data: Any = await server.hget(keys.heartbeats(fleet.portal), fleet.worker)
            own = stuck is not None and stuck.page.portal == fleet.portal
            started = [bytes.fromhex(stuck.page.id)] if own and stuck is not None else []
            await queue.heartbeat(fleet.worker, data or b"{}", started)
    finally:
        await server.aclose()


async def _settle(settings: BaseSettings, fleets: list[FleetRecord], slow: _TooSlow) -> None:
    """Make the page a dead letter, and everything else of the worker ready again. Repeated while Redis is away."""
    server = connection.connect(settings)
    try:
        while True:
            try:
                for fleet in fleets:
                    await _hand_back(
                        RequestQueue(server, fleet.portal, QueueSettings.from_settings(settings)), fleet, slow
                    )
                return
            except (RedisError, OSError) as error:
                _log(f"queue/redis_away: cannot hand back the requests of the worker: {error!r}; trying again")
                await asyncio.sleep(0.5)
    finally:
        await server.aclose()


async def _hand_back(queue: RequestQueue, fleet: FleetRecord, slow: _TooSlow) -> None:
    page = slow.page
    if page.portal == fleet.portal:
        text = dead_letter("too_slow", slow.error, job=page.job, stage=page.stage, tries=page.tries + 1, url=page.url)
        await queue.settle([Settlement(bytes.fromhex(page.id), page.token, "dead", text)])
    await queue.leave(fleet.worker)
    # Other workers put back the seeds that it had not enqueued.
    await queue.server.sadd(keys.dead_workers(fleet.portal), fleet.worker)


# ----- processes


class _Thread(NamedTuple):
    cpu_seconds: float
    is_waiting: bool
    """It neither runs nor could run. Not if it was suspended."""


def _main_thread(process: int) -> _Thread:
    """The main thread of a process. Where the system does not show threads, the process."""
    if sys.platform == "linux":
        try:
            text = Path(f"/proc/{process}/task/{process}/stat").read_text("ascii", "replace")
        except OSError:
            return _Thread(0.0, False)
        fields = text.rpartition(")")[2].split()
        return _Thread((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] in "SD")
    shown = subprocess.run(
        ["ps", "-o", "state=,cputime=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    seconds = 0.0
    state, _, clock = shown.stdout.strip().partition(" ")
    with suppress(ValueError):
        for part in clock.strip().replace("-", ":").split(":"):
            seconds = seconds * 60 + float(part)
    return _Thread(seconds, state[:1] in ("S", "I", "U"))


def _end_with(parent: int) -> None:
    """Make this process end at once when its parent does, as if both were one."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    else:
        Thread(target=_wait_for_end, args=(parent,), name="parent", daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _wait_for_end(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _die_of(number: int) -> NoReturn:
    """End by the same signal as the worker."""
    with suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)


def _has_terminal() -> bool:
    """Whether this process is in the foreground of a terminal, which sends Ctrl-C to all of its processes."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _nothing(number: int, frame: FrameType | None) -> None:
    """A handler, so that the signal wakes the parent up."""


def _log(text: str) -> None:
    """Log one line; in the usual form of a log if this process has not configured one, as under `scrapy crawl`."""
    if logging.root.handlers:
        logger.error("%s", text)
        return
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [{__name__}] ERROR: {text}\n")
    sys.stderr.flush()
