"""Seen before? One job never fetches a page twice; another job starts afresh.

The look and the push are one script (`lua/common.lua`); this class only says what a request is known by.
"""

from typing import Self

from scrapy import Request, Spider
from scrapy.utils.request import RequestFingerprinterProtocol
from scrapy_redis.dupefilter import RFPDupeFilter

from realestate.queue import keys
from realestate.queue.identity import Identity, buckets_for, identify


class DupeFilter(RFPDupeFilter):  # type: ignore[misc]
    """scrapy-redis' filter with Scrapy's own fingerprints, in sets of integers that expire by themselves."""

    def __init__(self, portal: str, fingerprinter: RequestFingerprinterProtocol, buckets: int) -> None:
        super().__init__(server=None, key=keys.prefix(portal) + "seen")
        self.portal = portal
        self.fingerprinter = fingerprinter
        self.buckets = buckets

    @classmethod
    def from_spider(cls, spider: Spider) -> Self:
        assert spider.crawler.request_fingerprinter is not None
        buckets = buckets_for(spider.crawler.settings.getint("DUPEFILTER_EXPECTED"))
        return cls(spider.name, spider.crawler.request_fingerprinter, buckets)

    def identify(self, request: Request, job: str) -> Identity:
        """By what it asks for: the same page in the same job is the same request."""
        return identify(job, self.fingerprinter.fingerprint(request), self.buckets)

    def identify_as(self, what: bytes, job: str) -> Identity:
        """By something else than what it asks for: a seed, or a child that is not to be filtered."""
        return identify(job, what, self.buckets)

    def close(self, reason: str = "") -> None:
        """Unlike the parent, keeps what the fleet has seen."""
