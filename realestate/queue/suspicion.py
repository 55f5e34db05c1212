"""A page that cannot be read was perhaps not the site's: it is asked for once more before that is believed."""

from typing import Any

from scrapy import Request
from scrapy.downloadermiddlewares.retry import get_retry_request

from realestate.queue.engine import LEASE

#: Where a request carries the exit it was granted, and when it was sent, by Redis' clock.
EXIT, SENT = "exit", "sent_at"
#: Where it carries how often its page could not be read, and exit and moment of the last time.
UNREAD, MISLED = "unread", "misled"
#: So often it is asked for again: by another exit, at another moment, it may be itself.
TRIES = 2


def doubted(request: Request, spider: Any) -> Request | None:
    """The request to be tried once more; None if the page has to be taken as it is."""
    tries = request.meta.get(UNREAD, 0)
    if LEASE not in request.meta or tries >= TRIES:
        return None
    most = request.meta.get("retry_times", 0) + 1  # whatever else it was tried again for
    again = get_retry_request(request, spider=spider, reason="unreadable", max_retry_times=most)
    assert again is not None
    again.meta[UNREAD] = tries + 1
    if exit := request.meta.get(EXIT):
        again.meta[MISLED] = [exit, request.meta[SENT]]
    return again
