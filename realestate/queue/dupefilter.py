"""The duplicate filter: one job does not fetch a page twice, another job fetches it again.

Redis checks and enqueues in one script (`lua/common.lua`). This class only computes the id of a request.
"""

from typing import Any, Self
from uuid import uuid4

from scrapy import Request, Spider
from scrapy.utils.misc import load_object
from scrapy.utils.request import RequestFingerprinterProtocol
from scrapy_redis.dupefilter import RFPDupeFilter

from realestate.queue import keys
from realestate.queue.request_ids import RequestId, buckets_for, identify
from realestate.queue.request_queue import Scope


class DupeFilter(RFPDupeFilter):  # type: ignore[misc]
    """scrapy-redis' filter with Scrapy's fingerprints, in sets of integers that expire."""

    def __init__(
        self, portal: str, fingerprinter: RequestFingerprinterProtocol, buckets: int, scope: Scope = "job"
    ) -> None:
        super().__init__(server=None, key=keys.prefix(portal) + "seen")
        self.portal = portal
        self.fingerprinter = fingerprinter
        self.buckets = buckets
        self.scope = scope

    @classmethod
    def from_spider(cls, spider: Spider) -> Self:
        assert spider.crawler.request_fingerprinter is not None
        settings = spider.crawler.settings
        buckets = buckets_for(settings.getint("DUPEFILTER_EXPECTED"))
        return cls(spider.name, spider.crawler.request_fingerprinter, buckets, settings["DUPEFILTER_SCOPE"])

    def identify(self, request: Request, job: str, *, seed: str | None = None, child: bytes | None = None) -> RequestId:
        """Return the id of a request. The same page in the same job has the same id.

        A seed has the id of its name, so that it is fetched even if seen before. A child with dont_filter has the id of
        its place among the children of its page."""
        if seed:
            return self._by(f"seed:{seed}".encode(), job)
        if request.dont_filter:
            return self._by(child or uuid4().bytes, job)
        return self._by(self.fingerprinter.fingerprint(request), "" if self.scope == "portal" else job)

    def _by(self, what: bytes, job: str) -> RequestId:
        return identify(job, what, self.buckets)

    def close(self, reason: str = "") -> None:
        """Keep the fingerprints, unlike the parent class: other workers use them."""


def dupefilter_class(path: Any) -> type[DupeFilter]:
    """The class that DUPEFILTER_CLASS names. Raises ValueError if the queue cannot use it."""
    found = load_object(path)
    if not issubclass(found, DupeFilter):
        ours = f"{DupeFilter.__module__}.{DupeFilter.__qualname__}"
        raise ValueError(f"DUPEFILTER_CLASS is {path}; the queue needs DUPEFILTER_CLASS = {ours!r}")
    kind: type[DupeFilter] = found
    return kind
