"""Requests for listings as a crawl makes them."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from scrapy import Request
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from realestate.queue.codec import encode
from realestate.queue.dupefilter import DupeFilter
from realestate.queue.fingerprints import Fingerprinter
from realestate.queue.request_queue import Pushed, QueueSettings

PORTAL = "immoweb"
JOB = "0123456789ab"
_KINDS = ("apartment", "house", "villa", "duplex", "penthouse", "mixed-use-building")
_TOWNS = ("antwerpen", "gent", "bruxelles", "liege", "namur", "charleroi", "sint-niklaas")


class Listings:
    """The spider of a portal, and requests of it that are all different."""

    def __init__(self) -> None:
        settings = Settings()
        settings.setmodule("realestate.settings", priority="project")
        # No rate limit: the speed of the queue is measured.
        settings.set("RATE_LIMIT", 0.0, priority="cmdline")
        self.limits = QueueSettings.from_settings(settings)
        self.spider: Any = get_spider_loader(settings).load(PORTAL)()
        self._next = 0

    @cached_property
    def filter(self) -> DupeFilter:
        return DupeFilter(PORTAL, Fingerprinter(), self.limits.buckets)

    def requests(self, count: int) -> list[Request]:
        return list(self._requests(count))

    def _requests(self, count: int) -> Iterator[Request]:
        for number in range(self._next, self._next + count):
            kind = _KINDS[number % len(_KINDS)]
            town = _TOWNS[number % len(_TOWNS)]
            path = f"/en/classified/{kind}/for-sale/{town}/{1000 + number % 8999}/{20_000_000 + number}"
            yield self.spider.check(path, JOB, "full")
        self._next += count

    def pushed(self, request: Request) -> Pushed:
        """In the form in which the scheduler stores it."""
        identity = self.filter.identify(request, JOB)
        meta = request.meta
        return Pushed.of(identity, request.priority, meta["job"], meta["stage"], encode(request, self.spider))
