"""Scrapy or scrapy-redis with proxies, as most projects use them: another proxy and user agent for each request.

Both are chosen at random from the whole list; the retries are Scrapy's own. Items are written line by line, so that a
crawler that is stopped is judged by the items it has.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import scrapy
from fake_useragent import UserAgent
from scrapy.crawler import Crawler, CrawlerProcess

from bench.peers import plain
from bench.peers.plain import PlainSpider
from bench.peers.task import Task

#: The random choices are the same in every run.
SEED = 7
_SHARED = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
}


class RotatingTask(Task, kw_only=True, frozen=True):
    """`redis_url` is empty for Scrapy alone; `store_url` is not used."""

    proxies: tuple[str, ...]
    records: str
    """The file for the items."""


class RotatingSpider(PlainSpider):
    name = "rotating"

    def parse_listing(self, response: Any) -> Iterator[dict[str, Any] | scrapy.Request]:
        with Path(self.settings["RECORDS"]).open("ab") as file:
            for found in super().parse_listing(response):
                if isinstance(found, dict):
                    file.write(msgspec.json.encode(found) + b"\n")
                yield found


class RandomProxyMiddleware:
    """Like the usual middlewares for proxies. A retry gets another proxy."""

    def __init__(self, proxies: tuple[str, ...]) -> None:
        self._proxies = proxies
        self._dice = random.Random(SEED)
        self._agents = UserAgent(platforms="desktop")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "RandomProxyMiddleware":
        return cls(crawler.settings["PROXIES"])

    def process_request(self, request: scrapy.Request) -> None:
        request.meta["proxy"] = self._dice.choice(self._proxies)
        request.headers["User-Agent"] = self._agents.random


def settings_for(task: RotatingTask) -> dict[str, Any]:
    shared = {**_SHARED, "REDIS_URL": task.redis_url} if task.redis_url else {}
    return {
        **plain.SETTINGS,
        **shared,
        "DOWNLOADER_MIDDLEWARES": {RandomProxyMiddleware: 610},
        "PROXIES": task.proxies,
        "RECORDS": task.records,
    }


def main() -> None:
    task = msgspec.json.decode(sys.argv[1], type=RotatingTask)
    process = CrawlerProcess(settings_for(task))
    process.crawl(RotatingSpider, task=task)
    process.start()


if __name__ == "__main__":
    main()
