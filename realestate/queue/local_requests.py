"""Requests in the memory of this process only: those that cannot be stored in Redis, and redirects sent at once."""

import logging
from collections import deque
from collections.abc import Iterator

from scrapy import Request
from scrapy.statscollectors import StatsCollector

from realestate.queue.codec import NotShareable
from realestate.queue.dupefilter import DupeFilter

logger = logging.getLogger(__name__)

#: A warning is logged for so many different causes why a request cannot be stored.
MOST_CAUSES = 20


class LocalRequests:
    """They have no send slot, and those that cannot be stored are lost if this worker dies."""

    def __init__(self, dupefilter: DupeFilter, stats: StatsCollector) -> None:
        self._dupefilter = dupefilter
        self._stats = stats
        self._waiting: deque[Request] = deque()
        self._causes: set[str] = set()
        self._seen: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._waiting)

    def add(self, request: Request) -> None:
        """Add a request that has a lease."""
        self._waiting.append(request)

    def pop(self) -> Request:
        return self._waiting.popleft()

    def keep(self, request: Request, error: NotShareable, *, with_warning: bool) -> bool:
        """Keep a request that only this process can run, unless it has had it before. Returns whether it is kept.

        The warning is logged once for each cause."""
        if not request.dont_filter:
            fingerprint = self._dupefilter.fingerprinter.fingerprint(request)
            if fingerprint in self._seen:
                return False
            self._seen.add(fingerprint)
        self._stats.inc_value("queue/local")
        cause = str(error)
        is_new = with_warning and cause not in self._causes and len(self._causes) < MOST_CAUSES
        if is_new:
            self._causes.add(cause)
        message = "queue/local: %s cannot be stored in Redis and is lost if this worker dies: %s"
        logger.log(logging.WARNING if is_new else logging.DEBUG, message, request, cause)
        self._waiting.append(request)
        return True
