"""A worker whose event loop is watched: `python -m tests.end_to_end.watched_worker PORTAL REPORT`.

The product's own code runs with its own settings, but on asyncio's loop: uvloop's callbacks cannot be looked into. Every
callback of the loop is timed by the CPU time of its thread, which a busy machine does not lengthen. A callback that
waits takes none; the calls by which ours could wait (a sleep, a connection to somewhere, a child) are told by Python's
audit hooks. What was seen after the first pages goes to REPORT when the worker ends: those load tables and modules once.
"""

import asyncio
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler

from realestate import settings
from realestate.jobs.work import project_settings

#: Pages after which everything that is loaded once has been.
WARM = 60
WAITING = frozenset({"time.sleep", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system"})


class Watchdog:
    """`longest` are the callbacks that took the most CPU, `waits` the calls by which the loop could have stood still."""

    def __init__(self) -> None:
        self.is_on = False
        self.callbacks = 0
        self.longest: list[tuple[float, str]] = []
        self.waits: list[str] = []
        self._thread = threading.get_ident()

    def install(self) -> None:
        run = asyncio.Handle._run
        watchdog = self

        def timed(handle: Any) -> Any:
            began = time.thread_time()
            try:
                return run(handle)
            finally:
                watchdog.saw(time.thread_time() - began, handle)

        asyncio.Handle._run = timed  # type: ignore[method-assign]
        sys.addaudithook(self._heard)

    def saw(self, seconds: float, handle: Any) -> None:
        if self.is_on:
            self.callbacks += 1
            if seconds > 0.005:
                self.longest.append((seconds, repr(handle)))

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_on and event in WAITING and threading.get_ident() == self._thread and _waits(event, arguments):
            self.waits.append(f"{event} {arguments!r}")

    def report(self) -> dict[str, Any]:
        return {"callbacks": self.callbacks, "longest": sorted(self.longest)[::-1][:10], "waits": self.waits}


def _waits(event: str, arguments: tuple[Any, ...]) -> bool:
    """asyncio's own connections do not: their sockets have no time to wait."""
    return event != "socket.connect" or arguments[0].gettimeout() != 0


watchdog = Watchdog()


class Switch:
    """An extension: on after the first pages, off when the spider closes."""

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


def main(portal: str) -> None:
    found = project_settings()
    # Further arguments, NAME=value, change what is watched.
    for name, value in {"ASYNCIO_EVENT_LOOP": None, "REDIS_URL": settings.REDIS_URL, "UNTIL_DONE": True}.items():
        found.set(name, value, priority="cmdline")
    found.set("EXTENSIONS", {**found.getdict("EXTENSIONS"), Switch: 0}, priority="cmdline")
    for name in sys.argv[3:]:
        found.set("ITEM_PIPELINES", {**found.getdict("ITEM_PIPELINES"), name: 1}, priority="cmdline")
    watchdog.install()
    process = AsyncCrawlerProcess(found)
    process.crawl(portal)
    process.start()


class HogPipeline:
    """Wrong: it calculates on the loop."""

    def process_item(self, item: Any) -> Any:
        began = time.thread_time()
        while time.thread_time() - began < 0.03:
            pass
        return item


class SleepyPipeline:
    """Wrong: it waits on the loop."""

    def process_item(self, item: Any) -> Any:
        time.sleep(0.001)
        return item


if __name__ == "__main__":
    main(sys.argv[1])
