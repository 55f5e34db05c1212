"""What one worker learns about a site and its proxies, reported to the whole fleet.

Also removes from a request what belongs to one proxy and one identity, before the request goes back to the queue.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from scrapy import Request
from scrapy.statscollectors import StatsCollector

from realestate.queue.proxy_health import Fault, ProxyHealthStore, ProxyRef
from realestate.queue.refetch import PROXY_ID, SENT, SUSPECT_PROXY
from realestate.queue.request_queue import RequestQueue

logger = logging.getLogger(__name__)

#: `request.meta` key: the names of the headers that an identity has set.
IDENTITY_HEADERS = "identity_headers"
#: `request.meta` key: the URL of a gateway that is fetched instead of the request's URL.
GATEWAY_URL = "gateway_url"
#: `request.meta` key: which TLS certificates are accepted. The name of a PEM file adds its authorities to the usual
#: ones, False accepts any certificate.
TRUSTED_CA = "trusted_ca"
#: All `request.meta` keys that belong to one proxy and one identity.
_IDENTITY_META = frozenset({IDENTITY_HEADERS, GATEWAY_URL, TRUSTED_CA, "proxy", "_auth_proxy", "cookiejar"})
#: The error that a site refuses most proxies is logged at most this often.
WARN_AGAIN_MS = 60_000

Soon = Callable[[Callable[[], Awaitable[None]], str], object]


def remove_identity(request: Request) -> None:
    """Remove what belongs to a proxy and an identity: the next send may use others."""
    header_names = request.meta.get(IDENTITY_HEADERS)
    if header_names is not None:
        for name in (*header_names, "Cookie"):
            request.headers.pop(name, None)
    request.headers.pop("Proxy-Authorization", None)
    for key in _IDENTITY_META:
        request.meta.pop(key, None)


def has_identity(request: Request) -> bool:
    """Whether our middleware chose its proxy and identity. A proxy or cookie jar that a spider chose stays."""
    return IDENTITY_HEADERS in request.meta


class Feedback:
    """Called by the middlewares with the result of each request.

    `soon` runs a coroutine in the background. `hand_back` returns requests that are not sent yet to the queue: all of
    them, or those of one proxy.
    """

    def __init__(
        self,
        queue: RequestQueue,
        worker: str,
        stats: StatsCollector,
        now: Callable[[], float],
        soon: Soon,
        hand_back: Callable[..., None],
    ) -> None:
        self.queue = queue
        self.worker = worker
        self.stats = stats
        self.now = now
        self.proxy_health = ProxyHealthStore(queue, now)
        self._soon = soon
        self._hand_back = hand_back
        self._successes: Counter[str] = Counter()
        self._warned_at = -float(WARN_AGAIN_MS)

    def use_proxies(self, proxies: Sequence[ProxyRef]) -> None:
        """From now on the worker takes requests for these proxies only."""
        self.queue.proxies = proxies

    def has_proxy(self, proxy_id: str) -> bool:
        """Whether the worker still has this proxy; "" is the direct connection, which it always has."""
        return not proxy_id or any(each.id == proxy_id for each in self.queue.proxies or ())

    def request_sent(self, request: Request, proxy_id: str) -> None:
        """The request is about to be downloaded."""
        if proxy_id:
            request.meta.update({PROXY_ID: proxy_id, SENT: self.now()})

    def request_succeeded(self, request: Request) -> None:
        """A good response came."""
        if proxy_id := request.meta.get(PROXY_ID):
            self._successes[proxy_id] += 1

    def request_failed(
        self, request: Request, fault: Fault | None, reason: str, wait_seconds: float, *, slows: bool = False
    ) -> None:
        """No good response came. `fault` is the proxy's fault, or that of the fleet over the direct connection."""
        proxy_id = request.meta.get(PROXY_ID)
        if proxy_id and fault:
            if fault != "failed":
                self._hand_back(proxy_id)
            sent_at = request.meta[SENT]
            self._soon(
                partial(self._record_fault, proxy_id, fault, sent_at, wait_seconds, reason), "recording a proxy's fault"
            )
        if slows or (not proxy_id and fault in ("refused", "banned")):
            self.site_refused(reason, wait_seconds)

    def refetch_succeeded(self, request: Request) -> None:
        """A page that could not be parsed before is good now: the earlier proxy had replaced it."""
        if suspect := request.meta.get(SUSPECT_PROXY):
            proxy_id, sent_at = suspect
            self._soon(
                partial(self._record_fault, proxy_id, "bad", sent_at, 0.0, "replaced the page"),
                "recording a proxy's fault",
            )

    def site_refused(self, reason: str, wait_seconds: float) -> None:
        """The site refuses us: the whole fleet slows down, and stops for as long as the site asks."""
        self.stats.inc_value("rate_limit/refused")
        if wait_seconds:
            self._hand_back()
        self._soon(partial(self.queue.refuse, reason, wait_seconds), "slowing down")

    def set_crawl_delay(self, seconds: float, origin: str) -> None:
        """Set the Crawl-delay of one of the site's hosts. 0 means none."""
        self._soon(partial(self.queue.set_crawl_delay, seconds, origin), "setting the Crawl-delay")

    def pause(self, reason: str, seconds: float) -> None:
        """Pause the portal for this many seconds, or until a person resumes it."""
        self._hand_back()
        self._soon(partial(self.queue.pause, reason, self.worker, seconds), "pausing")

    async def flush(self) -> None:
        """Write the counted good responses of the proxies to Redis."""
        successes = self._successes
        self._successes = Counter()
        await self.proxy_health.record_successes(successes)

    async def _record_fault(
        self, proxy_id: str, fault: Fault, sent_at: float, wait_seconds: float, reason: str
    ) -> None:
        self.stats.inc_value(f"proxy/{fault}")
        if not await self.proxy_health.record_fault(proxy_id, fault, sent_at, wait_seconds):
            return
        self.site_refused(f"most proxies are refused: {reason}", 0.0)
        if self.now() - self._warned_at >= WARN_AGAIN_MS:
            self._warned_at = self.now()
            logger.error(
                "proxy/all_refused: portal=%s: the site refuses most proxies; the fleet slows down", self.queue.portal
            )
            self.stats.inc_value("proxy/all_refused")
