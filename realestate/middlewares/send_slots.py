"""Sends no request long after the send slot that was granted for it."""

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from realestate.queue.engine import LEASE
from realestate.queue.fleet import fleet_of
from realestate.queue.packing import put_off

#: `request.meta` key: how many send slots the request has missed.
MISSED = "send_slots_missed"
#: A request that has missed so many is sent late. Otherwise nothing would be sent on a machine where everything takes
#: longer than the interval between two requests.
MAX_MISSED = 5


class SendSlotMiddleware:
    """Sends a request that missed its send slot back to the queue, for another slot.

    The process may have stood still, or the request waited for robots.txt or for the store. Without this, all requests
    that waited together would reach the site together.
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
        if missed >= MAX_MISSED or not self._is_late(request):
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
