"""Scrapy's request scheduler: the six methods that the engine calls, on top of the fleet's queue."""

from typing import Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro
from scrapy_redis.scheduler import Scheduler as RedisScheduler
from twisted.internet.defer import Deferred

from realestate.queue.fleet import Fleet


class Scheduler(RedisScheduler):  # type: ignore[misc]
    """A scheduler like that of scrapy-redis, with leases. All methods call the `Fleet`."""

    fleet: Fleet

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(server=None, persist=True)
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open(self, spider: Spider) -> None:
        self.spider = spider
        self.fleet = Fleet(self.crawler, spider)

    def __len__(self) -> int:
        return self.fleet.waiting()

    def has_pending_requests(self) -> bool:
        return self.fleet.has_pending_requests()

    def next_request(self) -> Request | None:
        return self.fleet.next_request()

    def enqueue_request(self, request: Request) -> bool:
        return self.fleet.enqueue_request(request)

    def close(self, reason: str) -> "Deferred[None]":
        return deferred_from_coro(self.fleet.close())
