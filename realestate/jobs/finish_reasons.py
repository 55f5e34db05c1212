"""How crawls end: only work that was done counts as success, and a portal that failed is started again."""

import asyncio
import logging
from typing import Any

from scrapy.crawler import AsyncCrawlerProcess, Crawler

logger = logging.getLogger(__name__)

#: Scrapy's `finish_reason` of a crawl that did what it was asked for: nothing was left, it was stopped, or it reached a
#: limit that somebody set.
GOOD_FINISH_REASONS = frozenset(
    {
        "finished",
        "shutdown",
        "closespider_itemcount",
        "closespider_pagecount",
        "closespider_timeout",
        "closespider_timeout_no_item",
    }
)
#: A portal that closed by an error starts again after this, and after twice as long each further time ...
FIRST_RESTART_SECONDS = 5.0
#: ... up to this.
LONGEST_RESTART_SECONDS = 300.0


def finish_reason_of(crawler: Crawler) -> str:
    """Why the crawl ended."""
    return str(_stats_of(crawler).get("finish_reason") or "not started")


def ended_well(crawler: Crawler) -> bool:
    """Whether the crawl did its work: nothing was left unstored when it ended by itself, and all its feeds were
    written. Whoever stops a worker while the database is away has not failed: the items are fetched again."""
    stats = _stats_of(crawler)
    reason = finish_reason_of(crawler)
    has_lost_feed = any(name.startswith("feedexport/failed_count/") for name in stats)
    could_not_store = "store/failed" in stats and reason != "shutdown"
    return reason in GOOD_FINISH_REASONS and not has_lost_feed and not could_not_store


def _stats_of(crawler: Crawler) -> dict[str, Any]:
    """The statistics; none if the crawl failed before Scrapy made them, for example because of a wrong setting."""
    try:
        return crawler.stats.get_stats()
    except RuntimeError:
        return {}


class PortalCrawls:
    """The crawls of one process. While one portal is served, the others are started again if they fail. When none is
    left, the process ends, so that whoever started it can start it again."""

    def __init__(self, process: AsyncCrawlerProcess) -> None:
        self.process = process
        self.failed: set[str] = set()
        """Portals whose last crawl ended by an error."""
        self._running: set[str] = set()
        self._delays: dict[str, float] = {}

    def start(self, portal: str) -> None:
        crawler = self.process.create_crawler(portal)
        self._running.add(portal)
        self.process.crawl(crawler).add_done_callback(lambda task: self._ended(portal, crawler, task))

    def _ended(self, portal: str, crawler: Crawler, task: "asyncio.Task[None]") -> None:
        self._running.discard(portal)
        error = None if task.cancelled() else task.exception()
        if error is None and ended_well(crawler):
            self.failed.discard(portal)
            return
        self.failed.add(portal)
        reason = finish_reason_of(crawler) if error is None else f"{type(error).__name__}: {error}"
        if not self._running:
            logger.error("portal/failed portal=%s: its crawl ended: %s", portal, reason)
            return
        delay = self._delays.get(portal, FIRST_RESTART_SECONDS)
        self._delays[portal] = min(2 * delay, LONGEST_RESTART_SECONDS)
        logger.error("portal/restarted portal=%s: its crawl ended: %s; starting again in %.0f s", portal, reason, delay)
        asyncio.get_running_loop().call_later(delay, self._start_again, portal)

    def _start_again(self, portal: str) -> None:
        if self._running:  # otherwise the process is ending
            self.start(portal)
