"""The fleet's handle: what spiders, middlewares, pipelines and extensions may ask of the queue.

`fleet_of(crawler)` returns it. No other module gets the scheduler from Scrapy's engine.
Nothing here waits for Redis inside Scrapy's path: one task refills the buffer that requests come from, another empties
the outbox.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import msgspec
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.misc import load_object
from twisted.python.failure import Failure

from realestate.queue import connection, signals
from realestate.queue.background import BackgroundTasks
from realestate.queue.buffer import Buffer
from realestate.queue.cancelled_jobs import CancelledJobs
from realestate.queue.codec import NotShareable
from realestate.queue.dead_letters import Reason, dead_letter
from realestate.queue.dupefilter import DupeFilter, dupefilter_class
from realestate.queue.engine import LEASE, in_work, wake
from realestate.queue.feedback import Feedback
from realestate.queue.intake import WAKE_UP_SECONDS, Intake, is_set
from realestate.queue.ledger import Held, Hold, Ledger
from realestate.queue.local_requests import LocalRequests
from realestate.queue.migrate_keys import migrate_keys
from realestate.queue.open_jobs import OpenJobs
from realestate.queue.outbox import Outbox
from realestate.queue.packing import DELAY, PARENT, SEED, Packer
from realestate.queue.page_budget import BUDGET
from realestate.queue.pages import LeasedErrback, Pages, lease_of
from realestate.queue.redis_client import for_ever
from realestate.queue.refetch import refetch_request
from realestate.queue.request_queue import (
    HeartbeatReply,
    Pushed,
    QueueSettings,
    RequestQueue,
    script_text,
)
from realestate.queue.robots import RobotsTexts
from realestate.queue.schemes import ForbiddenScheme, Schemes
from realestate.queue.script_batch import batch_of
from realestate.queue.seed_source import SeedSource
from realestate.queue.seeds import SeedList
from realestate.queue.shared_page import LONGEST_NAME, LONGEST_URL, FleetRecord, PageRecord
from realestate.queue.workers import worker_name

logger = logging.getLogger(__name__)
T = TypeVar("T")

#: A process with more portals than this waits for heartbeats to say what there is to do. With fewer, each waits by
#: itself, and is woken at once.
FEW_PORTALS = 3
#: How long such a process waits for a seed that was counted: another worker may have taken it.
SEED_SECONDS = 0.05
#: A request that is in no part of Scrapy any more counts as swallowed after this many heartbeats.
SWALLOWED_HEARTBEATS = 3
#: A worker that stops waits this long for Redis. Then its leases expire.
LEAVING_SECONDS = 20.0

#: A worker that could not be registered, because a key has a wrong type or Redis refuses the password, tries again.
REGISTER_AGAIN_SECONDS = 5.0

_FLEETS: "WeakKeyDictionary[Crawler, Fleet]" = WeakKeyDictionary()


def fleet_of(crawler: Crawler) -> "Fleet | None":
    """The handle of the fleet that this crawler belongs to; None with another scheduler, or before it is open."""
    return _FLEETS.get(crawler)


def register_fleet(crawler: Crawler, fleet: "Fleet") -> None:
    """From now on `fleet_of(crawler)` returns this handle."""
    _FLEETS[crawler] = fleet


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
        self.retry_seconds = settings.getfloat("RETRY_DELAY_SECONDS")
        self._tasks: list[asyncio.Task[None]] = []
        self._registered = False
        self._background = BackgroundTasks()
        self.redis = connection.connect(settings, for_ever(self.stats))
        queue_class = load_object(settings["SCHEDULER_QUEUE_CLASS"])
        limits = QueueSettings.from_settings(settings, getattr(spider, "rate_limit", None))
        self.queue = queue_class(self.redis, spider.name, limits)
        self.queue.seeds = SeedSource.of_spider(spider, settings)
        self.dupefilter = dupefilter_class(settings["DUPEFILTER_CLASS"]).from_spider(spider)
        self.seeds = SeedList(self.redis, spider.name, self.worker, self.stats, self.queue.seeds, self._seeds_refused)
        self.cancelled = CancelledJobs(self.queue, self.run_in_background)
        self.has_open_jobs = True
        """Whether the portal may have jobs that are not finished."""
        self.intake = Intake(self, 2 * settings.getint("CONCURRENT_REQUESTS"), self._wake)
        self.local = LocalRequests(self.dupefilter, self.stats)
        self._seed_news = asyncio.Event()
        self.outbox = Outbox(self.queue, self.stats, self.intake.news.set)
        self.ledger = Ledger(self.outbox.end)
        self.pages = Pages(self.ledger, self._give_up_page, crawler.signals, self.enter_page)
        self.buffer = Buffer(self.queue.limits.rate)
        self.packer = Packer(spider, self.dupefilter, self.ledger, self.buffer.now)
        self.jobs = OpenJobs(self.redis, spider.name)
        self.robots = RobotsTexts(self.queue, self.worker)
        background = self.run_in_background
        self.feedback = Feedback(
            self.queue, self.worker, self.stats, self.buffer.now, background, self.intake.hand_back
        )
        register_fleet(crawler, self)

    @property
    def is_closed(self) -> bool:
        return self._background.is_closed

    @property
    def at_work(self) -> bool:
        """Serving, or finishing what it has begun: its leases must be kept alive."""
        return self.serving or len(self.ledger) > 0

    # ----- for the scheduler

    def waiting(self) -> int:
        """Requests that this process holds and has not started."""
        return len(self.intake)

    def has_pending_requests(self) -> bool:
        """Always while it serves: the worker waits for requests and seeds, and `spider_idle` is not sent."""
        return self.serving or bool(self.local)

    def next_request(self) -> Request | None:
        """The next request whose send slot has come."""
        return self.intake.next_request()

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
            return self.local.keep(request, error, with_warning=self.serving)
        self._send(request, pushed)
        return True

    async def close(self) -> None:
        """Give back what has not been started. Everything that was started is settled by now."""
        self._background.is_closed = True
        self.cancelled.close()
        self.stop_serving()
        if self._tasks:
            BUDGET.stop()
        await self._background.close(self._tasks[:1])
        try:
            await asyncio.wait_for(self._leave(), LEAVING_SECONDS)
        except TimeoutError:
            logger.warning(
                "queue/redis_away: Redis did not take the held requests back; they are ready when their leases expire"
            )
        except Exception as error:  # a key has a wrong type
            logger.error("queue/not_left: portal=%s: %s: %s", self.spider.name, type(error).__name__, error)
        known = [self._known] if self._tasks else []
        await self._background.cancel([*self._tasks, *known])
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
        BUDGET.start(self.crawler.settings.getfloat("PAGE_CPU_SECONDS"))
        if BUDGET.shared is not None:
            BUDGET.shared.add_fleet(FleetRecord(self.spider.name, self.worker))
        self.crawler.signals.send_catch_log(signals.serving)
        self._join_batch()
        self._tasks = [asyncio.create_task(self.intake.run()), asyncio.create_task(self.outbox.run())]
        self._known = asyncio.create_task(self._register())

    def stop_serving(self) -> None:
        """Take no more requests, and give back at once what has not been sent."""
        if self.serving:
            self.crawler.signals.send_catch_log(signals.stopping)
        self.serving = False
        self.intake.hand_back()

    def check(self, request: Request) -> None:
        """Raises NotShareable for a request that other workers could not send, ForbiddenScheme for one that nobody may
        send."""
        self.schemes.check(request.url)
        self.packer.payload(request)

    async def next_seed(self, seconds: float = WAKE_UP_SECONDS) -> tuple[bytes, str] | None:
        """The next seed and its name; None if there was none for a while, or if the fleet is closed.

        The worker is registered first, so that others can put its seeds back if it dies.
        """
        await asyncio.shield(self._known)
        if not self.serves_many or self._seeds_uncounted:
            return await self._background.result_while_open(self.seeds.next(seconds))
        if not await self._background.result_while_open(is_set(self._seed_news, seconds)):
            return None
        self._seed_news.clear()
        found = await self._background.result_while_open(self.seeds.next(SEED_SECONDS))
        if found is not None:
            self._seed_news.set()  # there may be more
        return found

    def run_while_open(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run this in the background. It is cancelled before the connection to Redis is closed: Scrapy closes a spider
        (CLOSESPIDER_*, CloseSpider) while its `start` still waits."""
        return self._background.run_while_open(work)

    async def remove_seed(self, nonce: str) -> None:
        await self.seeds.remove(nonce)

    def give_up(self, reason: Reason, error: str, request: Request | None = None, **what: Any) -> None:
        """Make a leased request a dead letter when its callback has ended; without one, add a dead letter."""
        held = self.ledger.get(request.meta.get(LEASE)) if request else None
        if held is not None and held.is_abandoned:
            return
        self.stats.inc_value(f"queue/dead/{reason}")
        if held is None and request is not None and LEASE in request.meta:
            return  # its lease has ended already
        if held is None:
            text = dead_letter(reason, error, **what)
            self.run_in_background(partial(self.queue.add_dead_letter, uuid4().bytes, text), "adding a dead letter")
            return
        lease = held.lease
        held.outcome = "dead"
        held.detail = dead_letter(reason, error, job=lease.job, stage=lease.stage, tries=lease.tries + 1, **what)

    def give_up_seed(self, seed: bytes, error: str) -> None:
        """Make a seed that cannot be used a dead letter. It names the key of the seeds, where a replay pushes it."""
        self.stats.inc_value("seed/refused")
        text = seed.decode("utf-8", "backslashreplace")[:2000]
        source = self.seeds.source
        self.give_up("seed", error, seed=text, seeds_key=source.key, seeds_kind=source.kind)

    def refetch(self, request: Request) -> bool:
        """The page could not be parsed: fetch it again, if it was not tried too often. Returns whether it will be."""
        held = self.ledger.get(request.meta.get(LEASE))
        again = None if held is not None and held.is_abandoned else refetch_request(request, self.spider)
        return again is not None and self.enqueue_request(again)

    async def push(self, requests: Iterable[Request]) -> None:
        """Enqueue requests that come from no page and no seed. Returns when Redis has them."""
        await self.queue.push([self.packer.pushed(each) for each in requests if self._has_allowed_scheme(each)])

    async def grant(self, job: str, page: str, wanted: int, limit: int) -> tuple[int, int]:
        """How many of the wanted items of a page the job may fetch, and how many are left for other pages."""
        return await self.queue.grant(job, page, wanted, limit)

    async def nothing_left(self) -> bool:
        """Whether the portal has no seeds and no requests, waiting or leased."""
        return bool(await self._background.result_while_open(self.queue.is_empty()))

    def finished(self, request: Request) -> None:
        """The callback or errback of a request has ended."""
        key = request.meta.get(LEASE)
        if key and not self.pages.is_being_read(key):
            self.ledger.finished(key)

    def enter_page(self, key: object) -> None:
        """From now until the event loop runs again, the process handles the page with this lease."""
        held = self.ledger.get(key)
        if held is not None:
            BUDGET.enter(held, self)

    def abandon(self, held: Held, error: str) -> None:
        """The page used too much CPU time: make it a dead letter, whatever its code does now.

        Called by a signal handler in the middle of any code, so the lease is settled later, by the event loop.
        """
        if held.is_abandoned:
            return
        held.is_abandoned = True
        lease = held.lease
        what = {"job": lease.job, "stage": lease.stage, "tries": lease.tries + 1, "url": held.url}
        held.outcome = "dead"
        held.detail = dead_letter("too_slow", error, **what)
        asyncio.get_running_loop().call_soon_threadsafe(self._abandoned, held, error)

    def page_record(self, held: Held) -> bytes:
        """What the parent process needs to settle the lease, as JSON."""
        lease = held.lease
        record = PageRecord(
            portal=self.spider.name,
            id=lease.id.hex()[:LONGEST_URL],
            token=lease.token,
            url=held.url[:LONGEST_URL],
            job=lease.job[:LONGEST_NAME],
            stage=lease.stage[:LONGEST_NAME],
            tries=lease.tries,
        )
        return msgspec.json.encode(record)

    def hold(self, response: Response | Failure | None) -> Hold:
        """Keep the lease of a response open until the returned object is released."""
        return self.ledger.hold(lease_of(response))

    async def heartbeat(self, heartbeat: bytes) -> None:
        """Extend all leases of this worker with one command."""
        started = [held.lease.id for _, held in self.ledger if held.started and not held.callback_finished]
        reply = await self.queue.heartbeat(self.worker, heartbeat, started, self.seeds.known)
        if BUDGET.shared is not None:
            BUDGET.shared.heartbeat()
        self.stats.inc_value("queue/round_trips")
        self._apply(reply)
        await self.feedback.flush()
        self._look_for_swallowed()
        if reply.dead_workers:
            await self.seeds.recover()

    # ----- inside

    def _join_batch(self) -> None:
        """From now on the heartbeats of all portals of this process are one command."""
        settings = self.crawler.settings
        url = str(settings.get("REDIS_URL") or "")
        if self.queue.batch is None and url:
            text = script_text("heartbeat")
            self.queue.batch = batch_of(url, self.redis, lambda: connection.connect(settings, for_ever()), text)
            if self.queue.batch is not None:
                self.queue.batch.add_user()

    @property
    def serves_many(self) -> bool:
        """Whether this process serves so many portals that each must not wait for Redis by itself: heartbeats then say
        what there is to do, up to a second later."""
        return self.queue.batch is not None and self.queue.batch.users > FEW_PORTALS

    _seeds_uncounted = True
    """Whether the last heartbeat did not count the seeds: they are in a set, or in a cluster."""

    async def _register(self) -> None:
        """Make the worker known by its first heartbeat. Nothing ends this but success: no seed is read before."""
        while True:
            try:
                await migrate_keys(self.queue)
                await self.heartbeat(b"{}")
                return
            except Exception as error:
                logger.error(
                    "queue/not_registered: portal=%s: %s: %s; trying again in %.0f s",
                    self.spider.name,
                    type(error).__name__,
                    error,
                    REGISTER_AGAIN_SECONDS,
                )
                await asyncio.sleep(REGISTER_AGAIN_SECONDS)

    def _seeds_refused(self, error: str) -> None:
        """A key for seeds had a wrong type: one log line and one dead letter."""
        logger.warning("seed/refused portal=%s reason=%s", self.spider.name, error)
        self.stats.inc_value("seed/refused")
        self.give_up("seed", error)

    def _abandoned(self, held: Held, error: str) -> None:
        logger.error("queue/too_slow: portal=%s url=%s: %s; it is abandoned", self.spider.name, held.url, error)
        self.stats.inc_value("queue/dead/too_slow")
        key = f"{held.lease.id.hex()}:{held.lease.token}"
        self.pages.drop(key)
        self.ledger.end(key, "dead", held.detail)

    def _give_up_page(self, reason: Reason, error: str, request: Request) -> None:
        self.give_up(reason, error, request, url=request.url)

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

    def _go_on(self, request: Request, held: Held) -> None:
        """Return a retry or a delayed request to the queue, where any worker may take it. A delay does not count as a
        retry. A redirect is sent at once, or waits for a send slot if the site or its proxy has a rate limit."""
        key = request.meta[LEASE]
        if held.is_abandoned:
            self.ledger.end(key, "dead", held.detail)
        elif (seconds := request.meta.get(DELAY)) is not None:
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
            self.local.add(request)
            self._wake()

    def _apply(self, reply: HeartbeatReply) -> None:
        """Give back what has not been sent if the portal is paused or blocked, or if the leases have expired."""
        expired = self._registered and not reply.known
        self._registered = True
        self.stats.set_value("queue/waiting", reply.waiting)
        self.cancelled.update(reply.cancelled)
        self.has_open_jobs = bool(reply.open_jobs)
        self.intake.is_takeable = reply.takeable
        self._seeds_uncounted = reply.seeds is None
        if reply.takeable:
            self.intake.news.set()
        if reply.seeds:
            self._seed_news.set()
        if expired:
            self.stats.inc_value("queue/lease/expired")
        if reply.paused or reply.blocked_until > self.buffer.now() or expired:
            self.intake.hand_back()

    def cancel_unsent(self, request: Request) -> bool:
        """Whether the request's job was cancelled before the request was sent. Its lease then ends."""
        key = request.meta.get(LEASE)
        held = self.ledger.get(key)
        if held is None or held.lease.job not in self.cancelled:
            return False
        self.stats.inc_value("queue/cancelled")
        self.ledger.end(str(key), "back")
        return True

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

    def run_in_background(self, act: Callable[[], Awaitable[None]], what: str) -> "asyncio.Task[None]":
        """Run this in the background, at the latest before the worker ends. `what` says in the log what failed."""
        return self._background.run_to_the_end(act, what)

    def _wake(self) -> None:
        if self.crawler.engine is not None:
            wake(self.crawler.engine)

    async def _leave(self) -> None:
        await self._background.finish()
        if self._tasks:
            await self.outbox.close()
            await self.queue.leave(self.worker)
            await self.seeds.give_back()
        if self.queue.batch is not None:
            batch = self.queue.batch
            self.queue.batch = None
            await batch.remove_user()
