"""Stock scrapy-redis: its own queue and dupefilter, with its own serializer, used as its scheduler uses them."""

from collections.abc import Iterable
from typing import Any

from redis import Redis
from scrapy import Request, Spider
from scrapy_redis.dupefilter import RFPDupeFilter
from scrapy_redis.queue import PriorityQueue

NAME = "scrapy-redis 0.9.1"


class Stock:
    """`server` may be a pipeline, if only the data in Redis afterwards matters."""

    def __init__(self, server: Redis, spider: Spider) -> None:
        self.queue = PriorityQueue(server, spider, "stock:%(spider)s:requests")
        self.seen = RFPDupeFilter(server, "stock:dupefilter")

    def push(self, requests: Iterable[Request]) -> None:
        for request in requests:
            if not self.seen.request_seen(request):
                self.queue.push(request)

    def take_all(self) -> int:
        """Return how many there were."""
        return sum(1 for _ in iter(self._pop, None))

    def _pop(self) -> Any:
        return self.queue.pop()
