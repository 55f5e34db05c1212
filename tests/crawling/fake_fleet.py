"""A fleet without Redis: it records what a spider asks of it."""

from typing import Any, cast

from scrapy import Request
from scrapy.crawler import Crawler

from realestate.queue.codec import encode
from realestate.queue.fleet import Fleet, register_fleet


class FakeOpenJobs:
    """Remembers which jobs were opened."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    async def is_open(self, job: str) -> bool:
        return False

    async def is_cancelled(self, job: str) -> bool:
        return False

    async def open(self, job: str, mode: str, scope: str, partial: str = "") -> None:
        self.opened.append(job)


class FakeFleet:
    """Remembers dead letters, finished requests and opened jobs."""

    def __init__(self) -> None:
        self.jobs = FakeOpenJobs()
        self.dead_letters: list[dict[str, Any]] = []
        self.finished_requests: list[Request] = []
        self.crawler: Crawler | None = None

    def register(self, crawler: Crawler) -> None:
        """Make `fleet_of(crawler)` return this fleet."""
        self.crawler = crawler
        register_fleet(crawler, cast("Fleet", self))

    def refetch(self, request: Request) -> bool:
        return False

    def give_up(self, reason: str, error: str, request: Request | None = None, **what: Any) -> None:
        self.dead_letters.append({"reason": reason, "error": error, "request": request, **what})

    def give_up_seed(self, seed: bytes, error: str) -> None:
        assert self.crawler is not None
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value("seed/refused")
        self.give_up("seed", error, seed=seed.decode("utf-8", "backslashreplace")[:2000])

    def finished(self, request: Request) -> None:
        self.finished_requests.append(request)

    def check(self, request: Request) -> None:
        assert self.crawler is not None
        assert self.crawler.spider is not None
        encode(request, self.crawler.spider)
