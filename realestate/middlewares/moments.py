"""Nothing is sent long after the moment it was granted."""

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from realestate.queue.engine import LEASE
from realestate.queue.fleet import fleet_of
from realestate.queue.packing import put_off

#: Where a request carries how many moments it has missed.
MISSED = "moments_missed"
#: After so many it goes when it can: where everything takes longer than an interval, nothing would ever be sent.
MOST_MISSED = 5


class MomentMiddleware:
    """A request that was held up on its way here asks for another moment.

    Be it by a process that stood still, or by robots.txt or the store looked up for the first time: all that were held
    up together would reach the site together.
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
        if missed >= MOST_MISSED or not self._is_late(request):
            return None
        self.stats.inc_value("pace/missed")
        again = put_off(request, 0.0)
        again.meta[MISSED] = missed + 1
        return again

    def _is_late(self, request: Request) -> bool:
        fleet = fleet_of(self.crawler)
        if fleet is None:
            return False
        held = fleet.ledger.get(request.meta.get(LEASE))
        return held is not None and fleet.buffer.is_missed(held.lease)
