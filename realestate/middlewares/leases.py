"""Ties a page's items and children to the lease of its request; nothing is settled by accident."""

from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError

from realestate.accelerate.engine import take_over
from realestate.queue import signals as ours
from realestate.queue.engine import LEASE
from realestate.queue.fleet import Fleet, fleet_of
from realestate.queue.packing import PARENT

#: What every request of a job carries; its priority comes on top of its stage's.
INHERITED = ("job", "mode", "job_priority")


class LeaseMiddleware:
    """Counts what a callback yields; when it is over and all of it is durable, the ledger ends the lease."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._waiting: dict[int, Any] = {}
        self._lease_of: dict[int, str] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        for handler, signal in (
            (middleware.opened, signals.spider_opened),
            (middleware.item_waits, ours.item_waits),
            (middleware.items_stored, ours.items_stored),
            (middleware.item_scraped, signals.item_scraped),
            (middleware.item_lost, signals.item_dropped),
            (middleware.item_lost, signals.item_error),
        ):
            crawler.signals.connect(handler, signal=signal)
        return middleware

    @property
    def fleet(self) -> Fleet:
        fleet = fleet_of(self.crawler)
        assert fleet is not None
        return fleet

    def opened(self) -> None:
        """A lease may end with its callback only because nothing of it is read ahead."""
        take_over(self.crawler)

    def page_gives(self, response: Response, each: Any) -> None:
        meta = response.meta
        key = meta.get(LEASE)
        if isinstance(each, Request):
            # A child whose author handed it the page's whole meta must not be taken for the page itself.
            each.meta.pop(LEASE, None)
            for name in INHERITED:
                if name in meta:
                    each.meta[name] = meta[name]
            if key:
                each.meta[PARENT] = key
            each.priority += meta.get("job_priority", 0)
        elif key:
            self.fleet.ledger.item_out(key)

    def page_ends(self, response: Response, error: Exception | None) -> None:
        """Not called for a callback cut short by the end of the worker: it is not over, and its page goes back."""
        if error is not None:
            self._gave_up(response, error)
        elif key := response.meta.get(LEASE):
            self.fleet.ledger.finished(key)

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        """A status that no errback takes: Scrapy passes over it, we do not. Of all else `page_ends` hears."""
        if isinstance(exception, HttpError):
            self._gave_up(response, exception)

    def _gave_up(self, response: Response, error: Exception) -> None:
        if response.request is None or not (key := response.meta.get(LEASE)):
            return
        if isinstance(error, CloseSpider):  # not the page's fault: somebody else will read it
            self.fleet.ledger.end(key, "back")
        else:
            told = f"{type(error).__name__}: {error}"
            self.fleet.give_up("parse", told, response.request, url=response.url)
            self.fleet.finished(response.request)

    def item_waits(self, item: Any) -> None:
        self._waiting[id(item)] = item

    def items_stored(self, items: list[Any]) -> None:
        for item in items:
            self._waiting.pop(id(item), None)
            if key := self._lease_of.pop(id(item), None):
                self.fleet.ledger.item_in(key)

    def item_scraped(self, item: Any, response: Response | None) -> None:
        """Through all pipelines: durable already, unless it waits for the store."""
        key = response.meta.get(LEASE) if response is not None else None
        if key and id(item) in self._waiting:
            self._lease_of[id(item)] = key
        elif key:
            self.fleet.ledger.item_in(key)

    def item_lost(self, item: Any, response: Response | None) -> None:
        """Dropped on purpose, or its pipeline raised, which Scrapy counts and logs."""
        if response is not None and (key := response.meta.get(LEASE)):
            self.fleet.ledger.item_in(key)
