"""Seen before? One job never fetches a page twice; another job starts afresh."""

from typing import Self

from redis import Redis
from scrapy import Request, Spider
from scrapy.utils.request import RequestFingerprinterProtocol
from scrapy_redis import connection
from scrapy_redis.dupefilter import RFPDupeFilter

from realestate.queue import keys


class DupeFilter(RFPDupeFilter):  # type: ignore[misc]
    """scrapy-redis' filter with Scrapy's own fingerprints, one set a job that expires by itself."""

    def __init__(
        self, server: Redis, portal: str, fingerprinter: RequestFingerprinterProtocol, keep_seconds: int
    ) -> None:
        super().__init__(server, key=keys.seen(portal, "*"))
        self.portal = portal
        self.fingerprinter = fingerprinter
        self.keep_seconds = keep_seconds

    @classmethod
    def from_spider(cls, spider: Spider) -> Self:
        settings = spider.crawler.settings
        assert spider.crawler.request_fingerprinter is not None
        return cls(
            connection.from_settings(settings),
            spider.name,
            spider.crawler.request_fingerprinter,
            settings.getint("DUPEFILTER_KEEP_SECONDS"),
        )

    def request_seen(self, request: Request) -> bool:
        key = keys.seen(self.portal, request.meta.get("job", "none"))
        with self.server.pipeline(transaction=False) as both:
            both.sadd(key, self.fingerprinter.fingerprint(request))
            both.expire(key, self.keep_seconds)
            added, _ = both.execute()
        return not added

    def close(self, reason: str = "") -> None:
        """Unlike the parent, keeps what the fleet has seen."""
