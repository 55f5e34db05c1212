"""Keeps requests from being sent long after their send slot."""

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from realestate.queue.engine import LEASE
from realestate.queue.fleet import fleet_of
from realestate.queue.packing import put_off

#: The meta key under which a request carries how many send slots it has missed.
MISSED = "send_slots_missed"
#: A request that missed this many is sent anyway. Where everything takes longer than the interval of the rate limit,
#: nothing would ever be sent otherwise.
MISSED_MAX = 5


class SendSlotMiddleware:
    """A request that was delayed on its way to the site returns to the queue for another send slot.

    The process may have been suspended, or robots.txt had to be fetched first. All the requests that were delayed
    together would reach the site together.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getfloat("RATE_LIMIT"):
            raise NotConfigured
        assert crawler.stats is not None
        self.crawler = crawler
        self.stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> Request | None:
        missed = request.meta.pop(MISSED, 0)
        if missed >= MISSED_MAX or not self._is_late(request):
            return None
        self.stats.inc_value("rate_limit/missed")
        again = put_off(request, 0.0)
        again.meta[MISSED] = missed + 1
        return again

    def _is_late(self, request: Request) -> bool:
        fleet = fleet_of(self.crawler)
        if fleet is None:
            return False
        held = fleet.ledger.get(request.meta.get(LEASE))
        return held is not None and fleet.buffer.is_missed(held.lease)
