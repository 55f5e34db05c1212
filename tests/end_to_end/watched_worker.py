"""A worker whose event loop is watched: `python -m tests.end_to_end.watched_worker PORTAL REPORT WHAT [PIPELINE…]`.

The product's own code runs with its own settings, but on asyncio's loop: callbacks of uvloop cannot be observed. Two
things block a loop, and on a busy machine a clock shows neither. WHAT is `cpu`: the CPU time of each callback is
measured. Or it is `waits`: each call of C code is checked for functions that wait.

When the worker ends, the results go to the file REPORT, without those of the first pages, which load modules and tables
once. Further pipelines are put before the others.
"""

import asyncio
import json
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler

from realestate import settings
from realestate.jobs.work import project_settings

#: After this many pages, everything that is loaded once is loaded.
WARM = 60
#: Shorter callbacks are not recorded.
LONG_SECONDS = 0.005
#: Functions of time, os, select, subprocess and a PostgreSQL connection that wait.
WAITING = {"sleep", "fsync", "waitpid", "poll", "select", "getaddrinfo", "execute", "commit", "rollback", "copy_expert"}
OF_SOCKETS = {"connect", "recv", "recv_into", "send", "sendall", "accept"}


class Watchdog:
    """`longest` are the callbacks that took the most CPU time, `waits` the calls in a callback that waited."""

    def __init__(self) -> None:
        self.is_on = False
        self.callbacks = 0
        self.longest: list[tuple[float, str]] = []
        self.waits: list[str] = []

    def install(self, what: str) -> None:
        run: Callable[[Any], None] = asyncio.Handle._run
        around = {"cpu": self._timed, "waits": self._profiled}[what]

        def watched(handle: Any) -> None:
            if self.is_on:
                self.callbacks += 1
                around(run, handle)
            else:
                run(handle)

        setattr(asyncio.Handle, "_run", watched)  # noqa: B010 (mypy knows better)

    def _timed(self, run: Callable[[Any], None], handle: Any) -> None:
        began = time.thread_time()
        run(handle)
        if (seconds := time.thread_time() - began) > LONG_SECONDS:
            self.longest.append((seconds, repr(handle)))

    def _profiled(self, run: Callable[[Any], None], handle: Any) -> None:
        sys.setprofile(self._called)
        run(handle)
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and _waits(called):
            self.waits.append(f"{called.__qualname__} in {frame.f_code.co_filename}:{frame.f_lineno}")

    def report(self) -> dict[str, Any]:
        longest = sorted(self.longest, reverse=True)[:10]
        return {"callbacks": self.callbacks, "longest": longest, "waits": sorted(set(self.waits))}


def _waits(called: Any) -> bool:
    if called.__name__ in OF_SOCKETS and isinstance(called.__self__, socket.socket):
        return called.__self__.gettimeout() != 0  # sockets of asyncio do not wait
    return called.__name__ in WAITING


watchdog = Watchdog()


class Switch:
    """An extension that switches the watchdog on after the first pages."""

    def __init__(self) -> None:
        self.pages = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "Switch":
        switch = cls()
        crawler.signals.connect(switch.on_response, signals.response_received)
        crawler.signals.connect(switch.on_closing, signals.spider_closed)
        return switch

    def on_response(self) -> None:
        self.pages += 1
        if self.pages == WARM:
            watchdog.is_on = True

    def on_closing(self) -> None:
        watchdog.is_on = False
        Path(sys.argv[2]).write_text(json.dumps(watchdog.report()), "utf-8")


class HogPipeline:
    """A wrong pipeline: it calculates on the loop for every twentieth item."""

    def __init__(self) -> None:
        self.items = 0

    def process_item(self, item: Any) -> Any:
        self.items += 1
        began = time.thread_time()
        while self.items % 20 == 0 and time.thread_time() - began < 0.03:
            pass
        return item


class SleepyPipeline:
    """A wrong pipeline: it sleeps on the loop."""

    def process_item(self, item: Any) -> Any:
        time.sleep(0.001)
        return item


def main(portal: str, what: str, pipelines: list[str]) -> None:
    found = project_settings()
    changes: dict[str, Any] = {"ASYNCIO_EVENT_LOOP": None, "REDIS_URL": settings.REDIS_URL, "UNTIL_DONE": True}
    changes["EXTENSIONS"] = {**found.getdict("EXTENSIONS"), Switch: 0}
    changes["ITEM_PIPELINES"] = {**found.getdict("ITEM_PIPELINES"), **dict.fromkeys(pipelines, 1)}
    for name, value in changes.items():
        found.set(name, value, priority="cmdline")
    watchdog.install(what)
    process = AsyncCrawlerProcess(found)
    process.crawl(portal)
    process.start()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[3], sys.argv[4:])
