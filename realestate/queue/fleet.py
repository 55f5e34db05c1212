"""The fleet's handle: what spiders, middlewares, pipelines and extensions may ask of the queue.

`fleet_of(crawler)` returns it. No other module gets the scheduler from Scrapy's engine.
Nothing here waits for Redis inside Scrapy's path: one task refills the buffer that requests come from, another empties
the outbox.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.misc import load_object
from twisted.python.failure import Failure

from realestate.queue import connection, reclaimed, signals
from realestate.queue.buffer import Buffer, monotonic_ms
from realestate.queue.codec import MalformedRequest, NotShareable, decode
from realestate.queue.dead_letters import Reason, dead_letter
from realestate.queue.dupefilter import DupeFilter
from realestate.queue.engine import LEASE, in_work, wake
from realestate.queue.feedback import Feedback
from realestate.queue.ledger import Held, Hold, Ledger
from realestate.queue.migrate_keys import migrate_keys
from realestate.queue.open_jobs import OpenJobs
from realestate.queue.outbox import Outbox
from realestate.queue.packing import DELAY, PARENT, SEED, Packer
from realestate.queue.pages import LeasedErrback, Pages, lease_of
from realestate.queue.redis_retry import retry_until_available
from realestate.queue.refetch import refetch_request
from realestate.queue.request_queue import HeartbeatReply, Lease, Pushed, QueueSettings, RequestQueue, Taken
from realestate.queue.robots import RobotsTexts
from realestate.queue.schemes import ForbiddenScheme, Schemes
from realestate.queue.seed_source import SeedSource
from realestate.queue.seeds import SeedList
from realestate.queue.workers import worker_name

logger = logging.getLogger(__name__)

#: An idle worker looks into the queue this often, in case a wake-up was missed.
WAKE_UP_SECONDS = 5
#: A request that is in no part of Scrapy any more counts as swallowed after so many heartbeats.
SWALLOWED_HEARTBEATS = 3
#: A worker that stops waits this long for Redis. Then its leases expire.
LEAVING_SECONDS = 20.0

#: A warning is logged for so many different causes why a request cannot be stored.
MOST_CAUSES = 20

_FLEETS: "WeakKeyDictionary[Crawler, Fleet]" = WeakKeyDictionary()


def fleet_of(crawler: Crawler) -> "Fleet | None":
    """The handle of the fleet that this crawler belongs to; None with another scheduler, or before it is open."""
    return _FLEETS.get(crawler)


def register_fleet(crawler: Crawler, fleet: "Fleet") -> None:
    """From now on `fleet_of(crawler)` returns this handle."""
    _FLEETS[crawler] = fleet


def _dupefilter_class(path: Any) -> type[DupeFilter]:
    found = load_object(path)
    if not issubclass(found, DupeFilter):
        ours = f"{DupeFilter.__module__}.{DupeFilter.__qualname__}"
        raise ValueError(f"DUPEFILTER_CLASS is {path}; the queue needs DUPEFILTER_CLASS = {ours!r}")
    kind: type[DupeFilter] = found
    return kind


class Fleet:
    """One worker's side of the shared queue of one portal.

    It takes from the queue only after `serve`: `scrapy shell` and `scrapy fetch`, whose requests belong to one process,
    must not take a worker's.
    """

    queue: RequestQueue
    dupefilter: DupeFilter

    def __init__(self, crawler: Crawler, spider: Spider) -> None:
        assert crawler.stats is not None
        settings = crawler.settings
        self.crawler = crawler
        self.spider = spider
        self.stats = crawler.stats
        self.serving = False
        self.worker = worker_name()
        self.schemes = Schemes.from_settings(settings)
        self.buffer_size = 2 * settings.getint("CONCURRENT_REQUESTS")
        self.retry_seconds = settings.getfloat("RETRY_DELAY_SECONDS")
        self.local: deque[Request] = deque()
        self._tasks: list[asyncio.Task[None]] = []
        self._registered = False
        self._background: set[asyncio.Task[None]] = set()
        self.redis = connection.connect(settings)
        queue_class = load_object(settings["SCHEDULER_QUEUE_CLASS"])
        limits = QueueSettings.from_settings(settings, getattr(spider, "rate_limit", None))
        self.queue = queue_class(self.redis, spider.name, limits)
        self.queue.seeds = SeedSource.of_spider(spider, settings)
        self.dupefilter = _dupefilter_class(settings["DUPEFILTER_CLASS"]).from_spider(spider)
        self.seeds = SeedList(self.redis, spider.name, self.worker, self.stats, self.queue.seeds)
        self._local_causes: set[str] = set()
        self._local_seen: set[bytes] = set()
        self.outbox = Outbox(self.queue, self.stats)
        self.ledger = Ledger(self.outbox.end)
        self.pages = Pages(self.ledger, self._give_up_page, crawler.signals)
        self.buffer = Buffer(self.queue.limits.rate)
        self.packer = Packer(spider, self.dupefilter, self.ledger, self.buffer.now)
        self.jobs = OpenJobs(self.redis, spider.name)
        self.robots = RobotsTexts(self.queue, self.worker)
        self.feedback = Feedback(self.queue, self.worker, self.stats, self.buffer.now, self._soon, self._hand_back)
        self._hungry = asyncio.Event()
        register_fleet(crawler, self)

    @property
    def at_work(self) -> bool:
        """Serving, or finishing what it has begun: its leases must be kept alive."""
        return self.serving or len(self.ledger) > 0

    # ----- for the scheduler

    def waiting(self) -> int:
        """Requests that this process holds and has not started."""
        return len(self.buffer) + len(self.local)

    def has_pending_requests(self) -> bool:
        """Always while it serves: the worker waits for requests and seeds, and `spider_idle` is not sent."""
        return self.serving or bool(self.local)

    def next_request(self) -> Request | None:
        """The next request whose send slot has come."""
        if self.local:
            return self.local.popleft()
        self._hungry.set()
        while (ready := self.buffer.pop()) is not None:
            if request := self._started(*ready):
                return request
        if (seconds := self.buffer.seconds_to_next()) is not None:
            asyncio.get_running_loop().call_later(seconds, self._wake)
        return None

    def enqueue_request(self, request: Request) -> bool:
        """A page's child, a seed, a leased request that goes on (redirect, retry), or one of this process alone."""
        if not self._has_allowed_scheme(request):
            return False
        if held := self.ledger.get(request.meta.get(LEASE)):
            self._go_on(request, held)
            return True
        try:
            pushed = self.packer.pushed(request)
        except NotShareable as error:
            request.meta.pop(PARENT, None)  # it is counted once, also if it is redirected
            return self._keep_local(request, error)
        self._send(request, pushed)
        return True

    async def close(self) -> None:
        """Give back what has not been started. Everything that was started is settled by now."""
        self.stop_serving()
        if self._tasks:
            self._tasks[0].cancel()
        try:
            await asyncio.wait_for(self._leave(), LEAVING_SECONDS)
        except TimeoutError:
            logger.warning(
                "queue/redis_away: Redis did not take the held requests back; they are ready when their leases expire"
            )
        await self.redis.aclose()

    # ----- for spiders, middlewares, pipelines and extensions

    def now(self) -> float:
        """Redis' time, in milliseconds."""
        return self.buffer.now()

    def serve(self) -> None:
        """From now on this process works for the fleet. Calling it again does nothing."""
        if self._tasks:
            return
        self.serving = True
        self.crawler.signals.send_catch_log(signals.serving)
        self._tasks = [asyncio.create_task(self._refill()), asyncio.create_task(self.outbox.run())]
        self._known = asyncio.create_task(retry_until_available(self._register, self.stats, "registering"))

    def stop_serving(self) -> None:
        """Take no more requests, and give back at once what has not been sent."""
        if self.serving:
            self.crawler.signals.send_catch_log(signals.stopping)
        self.serving = False
        self._hand_back()

    def check(self, request: Request) -> None:
        """Raises NotShareable for a request that other workers could not send, ForbiddenScheme for one that nobody may
        send."""
        self.schemes.check(request.url)
        self.packer.payload(request)

    async def next_seed(self, seconds: float = WAKE_UP_SECONDS) -> tuple[bytes, str] | None:
        """The next seed and its name; None if there was none for a while.

        The worker is registered first, so that others can put its seeds back if it dies.
        """
        await asyncio.shield(self._known)
        return await self.seeds.next(seconds)

    async def remove_seed(self, nonce: str) -> None:
        await self.seeds.remove(nonce)

    def give_up(self, reason: Reason, error: str, request: Request | None = None, **what: Any) -> None:
        """Make a leased request a dead letter when its callback has ended; without one, add a dead letter."""
        self.stats.inc_value(f"queue/dead/{reason}")
        held = self.ledger.get(request.meta.get(LEASE)) if request else None
        if held is None and request is not None and LEASE in request.meta:
            return  # its lease has ended already
        if held is None:
            text = dead_letter(reason, error, **what)
            self._soon(lambda: self.queue.add_dead_letter(uuid4().bytes, text), "adding a dead letter")
            return
        lease = held.lease
        held.outcome = "dead"
        held.detail = dead_letter(reason, error, job=lease.job, stage=lease.stage, tries=lease.tries + 1, **what)

    def refetch(self, request: Request) -> bool:
        """The page could not be parsed: fetch it again, if it was not tried too often. Returns whether it will be."""
        again = refetch_request(request, self.spider)
        return again is not None and self.enqueue_request(again)

    async def push(self, requests: Iterable[Request]) -> None:
        """Enqueue requests that come from no page and no seed. Returns when Redis has them."""
        pushed = [self.packer.pushed(request) for request in requests if self._has_allowed_scheme(request)]
        await retry_until_available(partial(self.queue.push, pushed), self.stats, "pushing")

    async def grant(self, job: str, page: str, wanted: int, limit: int) -> tuple[int, int]:
        """How many of the wanted items of a page the job may fetch, and how many are left for other pages."""
        grant = partial(self.queue.grant, job, page, wanted, limit)
        return await retry_until_available(grant, self.stats, "counting against a limit")

    async def nothing_left(self) -> bool:
        """Whether the portal has no seeds and no requests, waiting or leased."""
        return await retry_until_available(self.queue.is_empty, self.stats, "looking for requests that are left")

    def finished(self, request: Request) -> None:
        """The callback or errback of a request has ended."""
        key = request.meta.get(LEASE)
        if key and not self.pages.is_being_read(key):
            self.ledger.finished(key)

    def hold(self, response: Response | Failure | None) -> Hold:
        """Keep the lease of a response open until the returned object is released."""
        return self.ledger.hold(lease_of(response))

    async def heartbeat(self, heartbeat: bytes) -> None:
        """Extend all leases of this worker with one command."""
        started = [held.lease.id for _, held in self.ledger if held.started and not held.callback_finished]
        reply = await self.queue.heartbeat(self.worker, heartbeat, started)
        self.stats.inc_value("queue/round_trips")
        self._apply(reply)
        await self.feedback.flush()
        self._look_for_swallowed()
        await self.seeds.recover()

    # ----- inside

    async def _register(self) -> None:
        """Make the worker known by its first heartbeat."""
        await migrate_keys(self.queue)
        await self.heartbeat(b"{}")

    def _give_up_page(self, reason: Reason, error: str, request: Request) -> None:
        self.give_up(reason, error, request, url=request.url)

    def _started(self, key: str, lease: Lease) -> Request | None:
        if not self.feedback.has_proxy(lease.proxy_id):
            self.ledger.end(key, "back")
            return None
        if (request := self._decoded(key, lease)) is None:
            return None
        held = self.ledger.get(key)
        assert held is not None
        held.started = True
        held.url = request.url
        request.meta[LEASE] = key
        request.errback = LeasedErrback(self.pages, request.errback)
        self.feedback.request_sent(request, lease.proxy_id)
        self.stats.inc_value("queue/taken")
        return request

    def _decoded(self, key: str, lease: Lease) -> Request | None:
        try:
            return decode(lease.payload, self.spider, self.schemes)
        except MalformedRequest as error:
            logger.warning("queue/malformed: %s", error)
            self.stats.inc_value("queue/dead/malformed")
            value = repr(lease.payload[:500])
            text = dead_letter("malformed", str(error), job=lease.job, stage=lease.stage, value=value)
            self.ledger.end(key, "dead", text)
            return None

    def _send(self, request: Request, pushed: Pushed) -> None:
        if parent := self.ledger.get(request.meta.get(PARENT)):
            parent.children.append(pushed)
        nonce = request.meta.get(SEED)
        if nonce:
            self.seeds.enqueued(nonce)
        self.outbox.push(pushed, partial(self.seeds.remove, nonce) if nonce else None)
        self.stats.inc_value("queue/pushed")

    def _has_allowed_scheme(self, request: Request) -> bool:
        """Whether the request may be sent. If not, it is dropped; a leased one becomes a dead letter."""
        try:
            self.schemes.check(request.url)
            return True
        except ForbiddenScheme as error:
            self.stats.inc_value("queue/forbidden_scheme")
            logger.warning("queue/forbidden_scheme: spider=%s url=%s: %s", self.spider.name, request.url[:200], error)
            key = request.meta.get(LEASE, "")
            if held := self.ledger.get(key):
                what = {"job": held.lease.job, "stage": held.lease.stage, "url": request.url[:2000]}
                self.ledger.end(key, "dead", dead_letter("address", str(error), **what))
            return False

    def _keep_local(self, request: Request, error: NotShareable) -> bool:
        """Keep a request that only this process can run, unless it has had it before. Say so once for each cause."""
        if not request.dont_filter:
            fingerprint = self.dupefilter.fingerprinter.fingerprint(request)
            if fingerprint in self._local_seen:
                return False
            self._local_seen.add(fingerprint)
        self.stats.inc_value("queue/local")
        cause = str(error)
        is_new = self.serving and cause not in self._local_causes and len(self._local_causes) < MOST_CAUSES
        if is_new:
            self._local_causes.add(cause)
        message = "queue/local: %s cannot be stored in Redis and is lost if this worker dies: %s"
        logger.log(logging.WARNING if is_new else logging.DEBUG, message, request, cause)
        self.local.append(request)
        return True

    def _go_on(self, request: Request, held: Held) -> None:
        """Return a retry or a delayed request to the queue, where any worker may take it. A delay does not count as a
        retry. A redirect is sent at once, or waits for a send slot if the site or its proxy has a rate limit."""
        key = request.meta[LEASE]
        if (seconds := request.meta.get(DELAY)) is not None:
            self.ledger.end(key, "retry", (int(seconds * 1000), self.packer.payload(request), 0))
        elif request.meta.get("retry_times", 0) > held.lease.tries:
            longest = request.meta.pop("retry_delay", 1.0) * self.retry_seconds * 2**held.lease.tries
            delay = int(random.uniform(0, longest) * 1000)
            self.ledger.end(key, "retry", (delay, self.packer.payload(request), 1))
        elif self.queue.limits.rate or self.queue.proxies is not None:
            self.ledger.end(key, "retry", (0, self.packer.payload(request), 0))
        else:
            if not isinstance(request.errback, LeasedErrback):
                request.errback = LeasedErrback(self.pages, request.errback)
            self.local.append(request)
            self._wake()

    async def _refill(self) -> None:
        while True:
            await self._hungry.wait()
            self._hungry.clear()
            wanted = self.buffer_size - len(self.buffer)
            if not self.serving or wanted <= self.buffer_size // 4:
                continue
            try:
                taken = await retry_until_available(partial(self._take, wanted), self.stats, "taking")
            except Exception:  # if this task ended, the worker would never take requests again
                logger.exception("queue/not_taken: could not take requests; trying again in 1 s")
                await asyncio.sleep(1.0)
                self._hungry.set()
                continue
            for lease in taken.leases:
                self.buffer.add(self.ledger.open(lease), lease)
            if not self.serving:
                self._hand_back()  # the worker was stopped meanwhile
            elif taken.leases:
                self._wake()
            if len(taken.leases) < wanted:
                await self._rest((taken.ask_again_at - self.buffer.now()) / 1000 if taken.ask_again_at > 0 else None)
                self._hungry.set()

    async def _take(self, wanted: int) -> Taken:
        """Called by one task only: all leases of the last call are in the ledger before the next call."""
        mine = [held.lease.id for _, held in self.ledger] + self.outbox.leases()
        asked_at = monotonic_ms()
        taken = await self.queue.take(self.worker, wanted, mine)
        self.stats.inc_value("queue/round_trips")
        self.buffer.set_clock(taken.now, asked_at)
        reclaimed.DEAD_WORKERS.found(self.spider.name, taken.reclaimed)
        return taken

    async def _rest(self, seconds: float | None) -> None:
        """Wait until there may be more requests to take."""
        longest = WAKE_UP_SECONDS if seconds is None else min(max(seconds, 0.01), WAKE_UP_SECONDS)
        await retry_until_available(lambda: self.queue.wait_for_wake_up(longest), self.stats, "waiting")

    def _apply(self, reply: HeartbeatReply) -> None:
        """Give back what has not been sent if the portal is paused or blocked, or if the leases have expired."""
        expired = self._registered and not reply.known
        self._registered = True
        self.stats.set_value("queue/waiting", reply.waiting)
        if expired:
            self.stats.inc_value("queue/lease/expired")
        if reply.paused or reply.blocked_until > self.buffer.now() or expired:
            self._hand_back()

    def _hand_back(self, proxy_id: str | None = None) -> None:
        for key in self.buffer.drain(proxy_id):
            self.ledger.end(key, "back")

    def _look_for_swallowed(self) -> None:
        """Give up requests that a middleware swallowed: started, not finished, and nowhere in the engine."""
        assert self.crawler.engine is not None
        busy = in_work(self.crawler.engine)
        if busy is None:
            return
        busy |= {request.meta.get(LEASE) for request in self.local}
        for key, held in self.ledger.without_trace(busy, SWALLOWED_HEARTBEATS):
            self.stats.inc_value("queue/dead/swallowed")
            what = {"job": held.lease.job, "stage": held.lease.stage, "url": held.url}
            self.ledger.end(key, "dead", dead_letter("swallowed", "no callback was ever called", **what))

    def _soon(self, act: Callable[[], Awaitable[None]], what: str) -> None:
        """Run this in the background, at the latest before the worker ends."""
        task = asyncio.ensure_future(retry_until_available(act, self.stats, what))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _wake(self) -> None:
        if self.crawler.engine is not None:
            wake(self.crawler.engine)

    async def _leave(self) -> None:
        await asyncio.gather(*self._background, return_exceptions=True)
        if self._tasks:
            await self.outbox.close()
            await retry_until_available(partial(self.queue.leave, self.worker), self.stats, "leaving")
            await retry_until_available(self.seeds.give_back, self.stats, "giving seeds back")
