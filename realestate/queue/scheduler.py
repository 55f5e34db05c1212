"""Scrapy asks here which request is next: an adapter between its engine and the fleet's queue."""

import logging
from collections import deque
from typing import Any, Self

from redis import Redis
from redis.exceptions import RedisError
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.misc import load_object
from scrapy_redis import connection
from scrapy_redis.scheduler import Scheduler as RedisScheduler

from realestate.queue.deadletters import DeadLetters, Reason
from realestate.queue.request_queue import MalformedRequest, NotShareable, RequestQueue, decode

logger = logging.getLogger(__name__)


class Scheduler(RedisScheduler):  # type: ignore[misc]
    """scrapy-redis' scheduler that waits for Redis instead of raising into the engine.

    It takes from the fleet's queue only once the spider serves it (`serve`): `scrapy shell` and
    `scrapy fetch`, whose requests belong to one process, must not eat a worker's.
    """

    server: Redis
    spider: Spider
    queue: RequestQueue

    def __init__(self, server: Redis, **kwargs: Any) -> None:
        super().__init__(server, **kwargs)
        self.serving = False
        self._local: deque[Request] = deque()
        self._unsent: deque[Request] = deque()
        self._letters_unsent: deque[tuple[Reason, str, dict[str, Any]]] = deque()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        scheduler = cls(
            connection.from_settings(settings),
            persist=settings.getbool("SCHEDULER_PERSIST"),
            queue_key=settings["SCHEDULER_QUEUE_KEY"],
            queue_cls=settings["SCHEDULER_QUEUE_CLASS"],
            dupefilter_cls=settings["DUPEFILTER_CLASS"],
        )
        scheduler.stats = crawler.stats
        scheduler.deadletters_keep = settings.getint("DEADLETTERS_KEEP")
        return scheduler

    def open(self, spider: Spider) -> None:
        self.spider = spider
        key = self.queue_key % {"spider": spider.name}
        self.queue = load_object(self.queue_cls)(server=self.server, spider=spider, key=key)
        self.df = load_object(self.dupefilter_cls).from_spider(spider)
        self.deadletters = DeadLetters(self.server, spider.name, self.deadletters_keep)

    def serve(self) -> None:
        """From now on this process works for the fleet."""
        self.serving = True

    def close(self, reason: str) -> None:
        """The queue is the fleet's and stays; what Redis did not take yet is tried once more."""
        if self._send_unsent():
            return
        lost = len(self._unsent) + len(self._letters_unsent)
        logger.error("queue/unsent: Redis is away; %d requests or dead letters could not be handed over", lost)

    @property
    def held(self) -> int:
        """Requests only this process knows of."""
        return len(self._local) + len(self._unsent)

    def __len__(self) -> int:
        return len(self.queue)

    def has_pending_requests(self) -> bool:
        return self.serving or bool(self._local or self._unsent)

    def enqueue_request(self, request: Request) -> bool:
        try:
            return self._share(request)
        except NotShareable as error:
            logger.debug("queue/local: %s stays in this process: %s", request, error)
            self.stats.inc_value("queue/local")
            self._local.append(request)
        except RedisError as error:
            self._redis_failed(error)
            self._unsent.append(request)
        return True

    def next_request(self) -> Request | None:
        if self._local:
            return self._local.popleft()
        if not self.serving or not self._send_unsent():
            return None
        try:
            return self._take()
        except RedisError as error:
            self._redis_failed(error)
            return None

    def give_up(self, reason: Reason, error: str, **what: Any) -> None:
        """Make it a dead letter."""
        self.stats.inc_value(f"queue/dead/{reason}")
        self._letters_unsent.append((reason, error, what))
        self._send_unsent()

    def _share(self, request: Request) -> bool:
        if not request.dont_filter and self.df.request_seen(request):
            self.stats.inc_value("queue/duplicates")
            return False
        self.queue.push(request)
        self.stats.inc_value("queue/pushed")
        return True

    def _take(self) -> Request | None:
        while (data := self.queue.pop()) is not None:
            try:
                request = decode(data, self.spider)
            except MalformedRequest as error:
                logger.warning("queue/malformed: %s", error)
                self.give_up("malformed", str(error), value=repr(data[:2000]))
                continue
            self.stats.inc_value("queue/taken")
            return request
        return None

    def _send_unsent(self) -> bool:
        """Send what an absent Redis left here; False while it is still away."""
        try:
            while self._unsent:
                # Not filtered: its fingerprint may be there from the first try. Twice at worst, lost never.
                self.queue.push(self._unsent[0])
                self._unsent.popleft()
            while self._letters_unsent:
                reason, error, what = self._letters_unsent[0]
                self.deadletters.add(reason, error, **what)
                self._letters_unsent.popleft()
        except RedisError as error:
            self._redis_failed(error)
            return False
        return True

    def _redis_failed(self, error: RedisError) -> None:
        self.stats.inc_value("queue/redis_errors")
        logger.warning("queue/redis_away: %s; the worker waits and tries again", error)
