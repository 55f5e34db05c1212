"""Slow down when a portal asks us to: the whole fleet, not this worker alone."""

from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from realestate.queue.scheduler import Scheduler


class BackoffMiddleware:
    """Tells the shared pace of every refusal, and how long the site wants to be left alone."""

    def __init__(self, crawler: Crawler, refusals: frozenset[int]) -> None:
        self.crawler = crawler
        self.refusals = refusals

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, frozenset(map(int, crawler.settings.getlist("BACKOFF_STATUSES"))))

    def process_response(self, request: Request, response: Response) -> Response:
        scheduler = self.crawler.engine.scheduler if self.crawler.engine is not None else None
        if response.status in self.refusals and isinstance(scheduler, Scheduler) and scheduler.serving:
            served = response.headers.get("Date")
            wait = retry_after(
                (response.headers.get("Retry-After") or b"").decode("latin-1"),
                served.decode("latin-1") if served else None,
            )
            scheduler.refused(f"status {response.status}", wait)
        return response


def retry_after(value: str, served: str | None) -> float:
    """Seconds to wait, by the site's own clock where it names a date; 0 where it says nothing we understand."""
    if value.strip().isdigit():
        return float(value)
    until = _date(value)
    now = _date(served or "")
    return max(0.0, (until - now).total_seconds()) if until and now else 0.0


def _date(value: str) -> datetime | None:
    try:
        return parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
