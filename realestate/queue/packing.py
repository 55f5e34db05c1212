"""A request as it goes to Redis: known by its identity, without what is of this process and this time."""

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

#: The keys under which a child carries its page's lease, a seed's request its name, and any request the seconds before
#: which it is not to be sent.
PARENT, SEED, DELAY = "parent", "seed", "delay_seconds"
_OF_THIS_LEASE = (
    LEASE,
    PARENT,
    SEED,
    DELAY,
    PROXY_ID,
    SENT,
    "download_latency",
    "download_slot",
    "depth_",
)


def put_off(request: Request, seconds: float) -> Request:
    """Back to the queue, at no expense of its tries."""
    again = request.copy()
    again.meta[DELAY] = seconds
    return again


class Packer:
    """`now` is Redis' time in milliseconds."""

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
        identity = self.df.identify(request, job, seed=meta.get(SEED), child=child)
        due = int(self.now() + delay * 1000) if (delay := meta.get(DELAY)) else 0
        return Pushed.of(identity, request.priority, job, meta.get("stage", "none"), self.payload(request), due)

    def payload(self, request: Request) -> bytes:
        """Raises NotShareable for a request that the fleet could not take."""
        if has_identity(request):  # no credentials in Redis, and another worker is somebody else
            request = request.copy()
            remove_identity(request)
        kept = {name: value for name, value in request.meta.items() if name not in _OF_THIS_LEASE}
        return encode(request, self.spider, meta=kept)
