"""Converts a request to its form in Redis: with its id, without values that belong to one process or one lease."""

from collections.abc import Callable
from typing import Any

from scrapy import Request, Spider

from realestate.queue.codec import encode
from realestate.queue.dupefilter import DupeFilter
from realestate.queue.engine import LEASE
from realestate.queue.feedback import has_identity, remove_identity
from realestate.queue.ledger import Ledger
from realestate.queue.refetch import PROXY_ID, SENT
from realestate.queue.request_queue import Pushed

#: `request.meta` key of a child: the lease of its page.
PARENT = "lease_parent"
#: `request.meta` key of a seed's request: the name of the seed.
SEED = "seed_name"
#: `request.meta` key: the request must not be sent before this many seconds have passed.
DELAY = "delay_seconds"
_OF_THIS_LEASE = (
    LEASE,
    PARENT,
    SEED,
    DELAY,
    PROXY_ID,
    SENT,
    "download_latency",
    "sent_steady",
    "download_slot",
    "depth_",
)


def put_off(request: Request, seconds: float) -> Request:
    """Return a copy of the request that waits this long in the queue. This does not count as a retry."""
    again = request.copy()
    again.meta[DELAY] = seconds
    return again


class Packer:
    """Packs the requests of one spider. `now` returns Redis' time in milliseconds."""

    def __init__(self, spider: Spider, df: DupeFilter, ledger: Ledger, now: Callable[[], float]) -> None:
        self.spider = spider
        self.now = now
        self.df = df
        self.ledger = ledger

    def pushed(self, request: Request) -> Pushed:
        meta: dict[str, Any] = request.meta
        parent = self.ledger.get(meta.get(PARENT))
        job = meta.get("job", "none")
        child = parent.next_child() if parent else None
        request_id = self.df.identify(request, job, seed=meta.get(SEED), child=child)
        due = int(self.now() + delay * 1000) if (delay := meta.get(DELAY)) else 0
        return Pushed.of(request_id, request.priority, job, meta.get("stage", "none"), self.payload(request), due)

    def payload(self, request: Request) -> bytes:
        """Return the encoded request. Raises NotShareable for a request that other workers could not send."""
        if has_identity(request):  # Redis must not hold credentials, and another worker has other identities
            request = request.copy()
            remove_identity(request)
        kept = {name: value for name, value in request.meta.items() if name not in _OF_THIS_LEASE}
        return encode(request, self.spider, meta=kept)
