"""What a worker process logs about itself: its configuration at the start, one line a minute, its totals at the end.

All portals of a process share these lines.
"""

import asyncio
import logging
import platform
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Self

import scrapy
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from realestate import __version__
from realestate.monitoring.logs import format_lines
from realestate.queue.connection import DEFAULT_URL
from realestate.queue.credentials import without_credentials
from realestate.queue.log_context import WHOLE_PROCESS
from realestate.queue.workers import process_name

logger = logging.getLogger(__name__)

#: A worker that does nothing says so this often.
IDLE_SECONDS = 600.0
#: Reasons to close a spider that are no fault begin so. The last is a limit that somebody set.
USUAL_REASONS = ("finished", "shutdown", "closespider_")


class Counts(NamedTuple):
    """What was done for one portal since its spider was opened, and how long its queue is."""

    pages: int = 0
    listings: int = 0
    retries: int = 0
    dead: int = 0
    queued: int = 0

    @classmethod
    def of(cls, stats: StatsCollector) -> Self:
        values = stats.get_stats()
        return cls(
            pages=values.get("response_received_count", 0),
            listings=values.get("listing/stored", 0) + values.get("other/stored", 0),
            retries=values.get("retry/count", 0),
            dead=sum(value for name, value in values.items() if name.startswith("queue/dead/")),
            queued=values.get("queue/waiting", 0),
        )

    def since(self, before: "Counts") -> "Counts":
        """What was done since then. The queue is as it is now."""
        return Counts(
            pages=self.pages - before.pages,
            listings=self.listings - before.listings,
            retries=self.retries - before.retries,
            dead=self.dead - before.dead,
            queued=self.queued,
        )

    def plus(self, earlier: "Counts") -> "Counts":
        """Together with an earlier crawl of the same portal. The queue is as it is now."""
        return _sum({"earlier": earlier, "now": self})._replace(queued=self.queued)

    def is_idle(self) -> bool:
        return not any(self)

    def __str__(self) -> str:
        parts = [f"{self.pages:,} pages", f"{self.listings:,} listings"]
        parts += [f"{self.retries:,} retries"] if self.retries else []
        parts += [f"{self.dead:,} dead letters"] if self.dead else []
        parts += [f"{self.queued:,} queued"] if self.queued else []
        return " ".join(parts)


def _sum(counts: Mapping[str, Counts]) -> Counts:
    return Counts(*map(sum, zip(*counts.values(), strict=True))) if counts else Counts()


class WorkerLog:
    """The lines of one process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._is_started = False
        self._portals: dict[str, StatsCollector] = {}
        self._closed: dict[str, Counts] = {}
        self._before: dict[str, Counts] = {}
        self._started_at = self._logged_at = clock()
        self._ticking: asyncio.Task[None] | None = None

    def started(self, settings: BaseSettings, rates: Mapping[str, float | None]) -> None:
        """Log how the worker is configured. `rates` are the portals, each with its own rate limit if it has one."""
        self._is_started = True
        self._started_at = self._logged_at = self.clock()
        for name, text in _configuration(settings, rates).items():
            self._log(f"{name}: %s", text)

    def opened(self, portal: str, stats: StatsCollector, settings: BaseSettings, rate: float | None) -> None:
        """The portal's spider was opened. The first one starts the clock."""
        if not self._is_started:
            self.started(settings, {portal: rate})
        self._portals[portal] = stats
        seconds = settings.getfloat("PROGRESS_SECONDS", 60.0)
        if seconds and (self._ticking is None or self._ticking.done()):
            self._ticking = asyncio.ensure_future(self._tick_on(seconds))

    def closed(self, portal: str, reason: str) -> None:
        stats = self._portals.pop(portal, None)
        if stats is not None:
            self._closed[portal] = self._of(portal, stats)
        if not reason.startswith(USUAL_REASONS):
            logger.warning("portal/closed: portal=%s reason=%s: its crawl ended", portal, reason)
        if not self._portals and self._ticking is not None:
            self._ticking.cancel()

    def tick(self) -> None:
        """Log what was done since the last line. A worker without work logs much more rarely."""
        now = self.clock()
        counts = self._now()
        done = {name: each.since(self._before.get(name, Counts())) for name, each in counts.items()}
        busy = {name: each for name, each in done.items() if not each.is_idle()}
        seconds = now - self._logged_at
        if not busy and seconds < IDLE_SECONDS:
            return
        self._before = counts
        self._logged_at = now
        if not busy:
            self._log("progress: nothing to do for %d portals", len(counts))
            return
        total = _sum(busy)
        rate = total.pages / seconds if seconds > 0 else 0.0
        portals = ", ".join(f"{name} {each}" for name, each in sorted(busy.items()))
        self._log("progress: %s in %.0f s (%.1f pages/s): %s", total, seconds, rate, portals)

    def stopped(self) -> None:
        """Log the totals."""
        total = _sum(self._now())._replace(queued=0)
        self._log("worker/stopped: %s in %.0f s", total, self.clock() - self._started_at)

    def _now(self) -> dict[str, Counts]:
        return {**self._closed, **{portal: self._of(portal, stats) for portal, stats in self._portals.items()}}

    def _of(self, portal: str, stats: StatsCollector) -> Counts:
        """With the earlier crawls of the portal: it is started again after an error."""
        return Counts.of(stats).plus(self._closed.get(portal, Counts()))

    async def _tick_on(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            self.tick()

    def _log(self, text: str, *values: object) -> None:
        logger.info(text, *values, extra=WHOLE_PROCESS)


#: All portals of this process share one.
WORKER_LOG = WorkerLog()


class Progress:
    """The extension that adds a portal to the lines of its process."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.closed, signal=signals.spider_closed)
        return extension

    def opened(self, spider: Spider) -> None:
        assert self.crawler.stats is not None
        rate = getattr(spider, "rate_limit", None)
        format_lines(self.crawler.settings)
        WORKER_LOG.opened(spider.name, self.crawler.stats, self.crawler.settings, rate)

    def closed(self, spider: Spider, reason: str) -> None:
        WORKER_LOG.closed(spider.name, reason)


def _configuration(settings: BaseSettings, rates: Mapping[str, float | None]) -> dict[str, str]:
    """The lines of the start, by name."""
    sample = settings.getfloat("SNAPSHOTS_SAMPLE")
    robots = "obeyed" if settings.getbool("ROBOTSTXT_OBEY") else "NOT obeyed"
    return {
        "worker/started": f"realestate {__version__}, Scrapy {scrapy.__version__}, Python {platform.python_version()},"
        f" process {process_name()}",
        "worker/portals": f"{len(rates)}: {', '.join(rates)}",
        "worker/redis": _address(settings["REDIS_URL"], f"REDIS_URL is not set, so {DEFAULT_URL} is used"),
        "worker/store": _address(settings["STORE_URL"]),
        "worker/rate_limit": _rate_limits(settings.getfloat("RATE_LIMIT"), rates),
        "worker/proxies": _proxies(settings),
        "worker/user_agent": f"{settings['USER_AGENT']}; robots.txt is {robots}",
        "worker/sites": _address(settings["SIMULATOR_URL"]) if settings["SIMULATOR_URL"] else "the real sites",
        "worker/snapshots": f"{_address(settings['SNAPSHOTS_URL'])}, {sample * 100:g}% of pages",
        "worker/acceleration": "on" if settings.getbool("ACCELERATE") else "off",
    }


def _address(url: object, missing: str = "not set") -> str:
    return without_credentials(str(url)) if url else missing


def _rate_limits(rate: float, rates: Mapping[str, float | None]) -> str:
    slower = [f"{name} {own:g}" for name, own in rates.items() if own is not None and (not rate or own < rate)]
    text = f"{rate:g} request{'' if rate == 1 else 's'} per second and site" if rate else "none"
    return text + (f"; lower: {', '.join(slower)}" if slower else "")


def _proxies(settings: BaseSettings) -> str:
    """Where the proxies come from. Their addresses are not logged."""
    sources = [f"{len(settings['PROXIES'])} in PROXIES"] if settings["PROXIES"] else []
    for name in ("PROXIES_FILE", "PROXY_PROVIDER_CUSTOMER", "PROXY_LIST_URL", "PROXY_AWS_REGIONS"):
        sources += [name] if settings[name] else []
    return ", ".join(sources) or "none, a direct connection"
