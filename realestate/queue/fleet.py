"""The fleet's handle: what spiders, middlewares, pipelines and extensions may ask of the queue.

`fleet_of(crawler)` returns it. Nobody else reaches into Scrapy's engine for the scheduler.
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
from scrapy.utils.misc import load_object

from realestate.queue import connection, signals
from realestate.queue.buffer import Buffer, monotonic_ms
from realestate.queue.codec import MalformedRequest, NotShareable, decode
from realestate.queue.deadletters import Reason, letter
from realestate.queue.dupefilter import DupeFilter
from realestate.queue.engine import LEASE, in_work, wake
from realestate.queue.feedback import Feedback
from realestate.queue.ledger import Held, Ledger
from realestate.queue.openjobs import OpenJobs
from realestate.queue.outbox import Outbox
from realestate.queue.packing import DELAY, PARENT, SEED, Packer
from realestate.queue.patience import patiently
from realestate.queue.request_queue import Lease, Pulse, Pushed, QueueSettings, RequestQueue, Taken
from realestate.queue.robots import RobotsTexts
from realestate.queue.seeds import SeedList
from realestate.queue.suspicion import doubted
from realestate.queue.workers import worker_name

logger = logging.getLogger(__name__)

#: An idle worker looks into the queue this often, in case a wake-up was missed.
BELL_SECONDS = 5
#: Heartbeats after which a request that nobody works on any more counts as swallowed.
SWALLOWED_BEATS = 3
#: A worker that stops waits this long for a Redis that is away; then its leases expire by themselves.
LEAVING_SECONDS = 20.0

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
        self.dupefilter = load_object(settings["DUPEFILTER_CLASS"]).from_spider(spider)
        self.seeds = SeedList(self.redis, spider.name, self.worker, self.stats)
        self.outbox = Outbox(self.queue, self.stats)
        self.ledger = Ledger(self.outbox.end)
        self.buffer = Buffer(self.queue.limits.rate)
        self.packer = Packer(spider, self.dupefilter, self.ledger, self.buffer.now)
        self.jobs = OpenJobs(self.redis, spider.name)
        self.robots = RobotsTexts(self.queue, self.worker)
        self.feedback = Feedback(self.queue, self.stats, self.buffer.now, self._soon, self._hand_back)
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
        if held := self.ledger.get(request.meta.get(LEASE)):
            self._go_on(request, held)
            return True
        try:
            pushed = self.packer.pushed(request)
        except NotShareable as error:
            logger.debug("queue/local: %s stays in this process: %s", request, error)
            self.stats.inc_value("queue/local")
            self.local.append(request)
            return True
        self._send(request, pushed)
        return True

    async def close(self) -> None:
        """Everything that ran is settled by now; the rest goes back to the fleet."""
        self.stop_serving()
        if self._tasks:
            self._tasks[0].cancel()
        try:
            await asyncio.wait_for(self._leave(), LEAVING_SECONDS)
        except TimeoutError:
            logger.warning("queue/redis_away: left without a word; what it held is ready again when its leases end")
        await self.redis.aclose()

    # ----- for spiders, middlewares, pipelines and extensions

    def now(self) -> float:
        """Redis' time, in milliseconds."""
        return self.buffer.now()

    def serve(self) -> None:
        """From now on this process works for the fleet."""
        self.serving = True
        self.crawler.signals.send_catch_log(signals.serving)
        self._tasks = [asyncio.create_task(self._refill()), asyncio.create_task(self.outbox.run())]
        self._known = asyncio.create_task(patiently(lambda: self.beat(b"{}"), self.stats, "registering"))

    def stop_serving(self) -> None:
        """Take no more, and give back at once what has not been sent."""
        if self.serving:
            self.crawler.signals.send_catch_log(signals.stopping)
        self.serving = False
        self._hand_back()

    def check(self, request: Request) -> None:
        """Raises NotShareable for a request that the fleet could not take."""
        self.packer.payload(request)

    async def next_seed(self) -> tuple[bytes, str] | None:
        """A seed and its name, as soon as there is one; None after a while without.

        The fleet knows this worker before it takes one, so that a seed in its hands is seen by all."""
        await asyncio.shield(self._known)
        return await self.seeds.next(BELL_SECONDS)

    async def remove_seed(self, nonce: str) -> None:
        await self.seeds.remove(nonce)

    def give_up(self, reason: Reason, error: str, request: Request | None = None, **what: Any) -> None:
        """Make it a dead letter: the page's request once its callback is over, or something that never was one."""
        self.stats.inc_value(f"queue/dead/{reason}")
        held = self.ledger.get(request.meta.get(LEASE)) if request else None
        if held is None and request is not None and LEASE in request.meta:
            return  # its lease has ended already
        if held is None:
            told = letter(reason, error, **what)
            self._soon(lambda: self.queue.bury(uuid4().bytes, told), "burying")
            return
        lease = held.lease
        held.outcome = "dead"
        held.detail = letter(reason, error, job=lease.job, stage=lease.stage, tries=lease.tries + 1, **what)

    def doubt(self, request: Request) -> bool:
        """Its page cannot be read. Whether it is asked for once more."""
        again = doubted(request, self.spider)
        return again is not None and self.enqueue_request(again)

    async def push(self, requests: Iterable[Request]) -> None:
        """Requests that no page and no seed stands behind; Redis has them when this is over."""
        await patiently(partial(self.queue.push, list(map(self.packer.pushed, requests))), self.stats, "pushing")

    async def nothing_left(self) -> bool:
        """Whether the portal's queue and seeds are empty and nobody works on anything."""
        return await patiently(self.queue.is_empty, self.stats, "looking whether anything is left")

    def finished(self, request: Request) -> None:
        """Its callback or errback is over."""
        if key := request.meta.get(LEASE):
            self.ledger.finished(key)

    async def beat(self, beat: bytes) -> None:
        """Keeps every lease alive with one command."""
        started = [held.lease.id for _, held in self.ledger if held.started and not held.callback_finished]
        pulse = await self.queue.beat(self.worker, beat, started)
        self.stats.inc_value("queue/round_trips")
        self._obey(pulse)
        await self.feedback.flush()
        self._look_for_swallowed()
        await self.seeds.recover()

    # ----- inside

    def _started(self, key: str, lease: Lease) -> Request | None:
        if not self.feedback.has_proxy(lease.exit):
            self.ledger.end(key, "back")
            return None
        if (request := self._decoded(key, lease)) is None:
            return None
        held = self.ledger.get(key)
        assert held is not None
        held.started = True
        held.url = request.url
        request.meta[LEASE] = key
        self.feedback.request_sent(request, lease.exit)
        self.stats.inc_value("queue/taken")
        return request

    def _decoded(self, key: str, lease: Lease) -> Request | None:
        try:
            return decode(lease.payload, self.spider)
        except MalformedRequest as error:
            logger.warning("queue/malformed: %s", error)
            self.stats.inc_value("queue/dead/malformed")
            told = letter("malformed", str(error), job=lease.job, stage=lease.stage, value=repr(lease.payload[:500]))
            self.ledger.end(key, "dead", told)
            return None

    def _send(self, request: Request, pushed: Pushed) -> None:
        if parent := self.ledger.get(request.meta.get(PARENT)):
            parent.children.append(pushed)
        nonce = request.meta.get(SEED)
        self.outbox.push(pushed, partial(self.seeds.remove, nonce) if nonce else None)
        self.stats.inc_value("queue/pushed")

    def _go_on(self, request: Request, held: Held) -> None:
        """A retry waits its time in the queue, where any worker may take it; so does what is put off, at no cost. A
        redirect goes on at once, unless the site or its exit has a pace: then it asks for its moment like any other."""
        key = request.meta[LEASE]
        if (seconds := request.meta.get(DELAY)) is not None:
            self.ledger.end(key, "retry", (int(seconds * 1000), self.packer.payload(request), 0))
        elif request.meta.get("retry_times", 0) > held.lease.tries:
            longest = request.meta.pop("retry_delay", 1.0) * self.retry_seconds * 2**held.lease.tries
            delay = int(random.uniform(0, longest) * 1000)
            self.ledger.end(key, "retry", (delay, self.packer.payload(request), 1))
        elif self.queue.limits.rate or self.queue.exits is not None:
            self.ledger.end(key, "retry", (0, self.packer.payload(request), 0))
        else:
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
                taken = await patiently(partial(self._take, wanted), self.stats, "taking")
            except Exception:  # without this task the worker would live on and never take again
                logger.exception("queue/not_taken: asked again in a moment")
                await asyncio.sleep(1.0)
                self._hungry.set()
                continue
            for lease in taken.leases:
                self.buffer.add(self.ledger.open(lease), lease)
            if not self.serving:
                self._hand_back()  # told to stop while it asked
            elif taken.leases:
                self._wake()
            if len(taken.leases) < wanted:
                await self._rest((taken.ask_again_at - self.buffer.now()) / 1000 if taken.ask_again_at > 0 else None)
                self._hungry.set()

    async def _take(self, wanted: int) -> Taken:
        """One at a time, so that all that was granted is in the ledger when the next is asked for."""
        mine = [held.lease.id for _, held in self.ledger] + self.outbox.leases()
        asked_at = monotonic_ms()
        taken = await self.queue.take(self.worker, wanted, mine)
        self.stats.inc_value("queue/round_trips")
        self.buffer.set_clock(taken.now, asked_at)
        return taken

    async def _rest(self, seconds: float | None) -> None:
        """Until there may be more to take. Running dry, the engine has to be asked for its hunger again."""
        longest = BELL_SECONDS if seconds is None else min(max(seconds, 0.01), BELL_SECONDS)
        await patiently(lambda: self.queue.wait_for_bell(longest), self.stats, "waiting")

    def _obey(self, pulse: Pulse) -> None:
        """A portal that is paused or blocked gets nothing that is not yet on its way."""
        expired = self._registered and not pulse.known
        self._registered = True
        if expired:
            self.stats.inc_value("queue/lease/expired")
        if pulse.paused or pulse.blocked_until > self.buffer.now() or expired:
            self._hand_back()

    def _hand_back(self, exit: str | None = None) -> None:
        for key in self.buffer.drain(exit):
            self.ledger.end(key, "back")

    def _look_for_swallowed(self) -> None:
        """A request that left no trace (a middleware swallowed it) is given up, not held for ever."""
        assert self.crawler.engine is not None
        busy = in_work(self.crawler.engine) | {request.meta.get(LEASE) for request in self.local}
        for key, held in self.ledger.without_trace(busy, SWALLOWED_BEATS):
            self.stats.inc_value("queue/dead/swallowed")
            what = {"job": held.lease.job, "stage": held.lease.stage, "url": held.url}
            self.ledger.end(key, "dead", letter("swallowed", "no callback was ever called", **what))

    def _soon(self, act: Callable[[], Awaitable[None]], what: str) -> None:
        """Done in the background, and before the worker ends."""
        task = asyncio.ensure_future(patiently(act, self.stats, what))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _wake(self) -> None:
        if self.crawler.engine is not None:
            wake(self.crawler.engine)

    async def _leave(self) -> None:
        await asyncio.gather(*self._background, return_exceptions=True)
        if self._tasks:
            await self.outbox.close()
            await patiently(partial(self.queue.leave, self.worker), self.stats, "leaving")
            await patiently(self.seeds.give_back, self.stats, "giving seeds back")
