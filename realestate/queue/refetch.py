"""Fetches a page once more that could not be parsed: a proxy may have replaced it."""

from typing import Any

from scrapy import Request
from scrapy.downloadermiddlewares.retry import get_retry_request

from realestate.queue.engine import LEASE

#: `request.meta` key: the id of the proxy that was granted with the lease.
PROXY_ID = "proxy_id"
#: `request.meta` key: when the request was sent, in Redis' time.
SENT = "sent_at"
#: `request.meta` key: how many times its page could not be parsed.
UNREADABLE = "unreadable"
#: `request.meta` key: proxy id and `sent_at` of the last such time.
SUSPECT_PROXY = "suspect_proxy"
#: A page is fetched again this many times: through another proxy, at another time, it may be complete.
TRIES = 2


def refetch_request(request: Request, spider: Any) -> Request | None:
    """The request to send once more; None if the page has to be taken as it is."""
    tries = request.meta.get(UNREADABLE, 0)
    if LEASE not in request.meta or tries >= TRIES:
        return None
    most = request.meta.get("retry_times", 0) + 1  # independent of retries for other reasons
    again = get_retry_request(request, spider=spider, reason="unreadable", max_retry_times=most)
    assert again is not None
    again.meta[UNREADABLE] = tries + 1
    if proxy_id := request.meta.get(PROXY_ID):
        again.meta[SUSPECT_PROXY] = [proxy_id, request.meta[SENT]]
    return again
