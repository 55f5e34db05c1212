"""One crawl with all that can happen to a request, by Scrapy's engine or by the accelerated one. Prints JSON.

python -m tests.accelerate.crawled <stock|accelerated> <address of the site> [meddling]
"""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy import Request, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.http import Response

from realestate.accelerate.engine import Engine, take_over

SENT = [
    "request_scheduled",
    "request_dropped",
    "response_received",
    "item_scraped",
    "item_dropped",
    "item_error",
    "spider_error",
    "request_reached_downloader",
    "response_downloaded",
    "spider_idle",
    "spider_closed",
]
SETTINGS = {
    "DOWNLOADER_MIDDLEWARES": {"tests.accelerate.crawled.Ignoring": 500},
    "SPIDER_MIDDLEWARES": {},
    "ITEM_PIPELINES": {"tests.accelerate.crawled.Dropping": 1},
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "CRITICAL",
    "STATS_DUMP": False,
}


class Ignoring:
    def process_request(self, request: Request) -> None:
        if "ignored" in request.url:
            raise IgnoreRequest("not this one")


class Dropping:
    def process_item(self, item: Any) -> Any:
        if "drop" in item:
            raise DropItem("on purpose")
        if "break" in item:
            raise KeyError("break")
        return item


class Meddling:
    """A spider middleware of a user: it drops, adds and changes output, and handles one error."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for each in result:
            if isinstance(each, dict) and "secret" in each:
                continue
            yield each
        yield {"meddled": response.url.rpartition("/")[2]}

    def process_spider_exception(self, response: Response, exception: Exception) -> Any:
        return [{"mended": str(exception)}] if isinstance(exception, ZeroDivisionError) else None


class AnySpider(scrapy.Spider):
    name = "any"

    def __init__(self, site: str, is_accelerated: bool, **options: Any) -> None:
        super().__init__(**options)
        self.site = site
        self.is_accelerated = is_accelerated
        self.received: list[str] = []

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **options: Any) -> "AnySpider":
        spider = super().from_crawler(crawler, *args, **options)
        if spider.is_accelerated:
            crawler.signals.connect(lambda: take_over(crawler), signals.spider_opened, weak=False)
        for name in SENT:
            crawler.signals.connect(spider.handler(name), getattr(signals, name), weak=False)
        return spider

    def handler(self, name: str) -> Any:
        def handle(request: Any = None, response: Any = None, item: Any = None, reason: str = "") -> None:
            url = (response or request).url.rpartition("/")[2] if response or request else ""
            self.received.append(f"{name} {url} {item or ''} {reason}")

        return handle

    async def start(self) -> AsyncIterator[Any]:
        ways = {
            "listed": self.as_list,
            "nothing": self.as_nothing,
            "raises": self.at_once,
            "midway": self.midway,
            "mended": self.divides,
            "async": self.waiting,
            "moved": self.as_list,
            "missing": self.as_list,
            "ignored": self.as_list,
        }
        for path, callback in ways.items():
            yield Request(f"{self.site}/{path}", callback)
            yield Request(f"{self.site}/{path}?errback", callback, errback=self.failed)
        yield {"started": "with an item"}

    def as_list(self, response: Response) -> list[Any]:
        return [{"one": 1}, {"drop": 1}, {"break": 1}, {"secret": 1}, None, self.child(response)]

    def as_nothing(self, response: Response) -> None:
        return None

    def at_once(self, response: Response) -> Any:
        raise KeyError("at once")

    def midway(self, response: Response) -> Iterator[Any]:
        yield {"before": 1}
        yield self.child(response)
        raise KeyError("midway")

    def divides(self, response: Response) -> Iterator[Any]:
        yield {"before": 1}
        raise ZeroDivisionError("by zero")

    async def waiting(self, response: Response) -> AsyncIterator[Any]:
        yield self.child(response)
        answer = await self.crawler.engine.download_async(Request(f"{self.site}/beside"))
        yield {"beside": answer.status}

    def child(self, response: Response) -> Request:
        return Request(f"{response.url}-child", self.as_nothing)

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"failed": type(failure.value).__name__}
        yield Request(f"{failure.request.url}-after", self.as_nothing)
        if "missing" in failure.request.url:
            raise KeyError("in an errback")


def main() -> None:
    way, site, *meddling = sys.argv[1:]
    meddled = {"tests.accelerate.crawled.Meddling": 500} if meddling else {}
    process = AsyncCrawlerProcess(SETTINGS | {"SPIDER_MIDDLEWARES": meddled})
    crawler = process.create_crawler(AnySpider)
    process.crawl(crawler, site=site, is_accelerated=way == "accelerated")
    process.start()
    assert isinstance(crawler.spider, AnySpider)
    stats = {name: value for name, value in crawler.stats.get_stats().items() if isinstance(value, int)}
    quiet = ("memusage", "response_bytes", "request_bytes", "elapsed", "items_per_minute", "responses_per_minute")
    kept = {name: value for name, value in stats.items() if not any(word in name for word in quiet)}
    is_accelerated = isinstance(crawler.engine, Engine)
    print(json.dumps({"is_accelerated": is_accelerated, "signals": sorted(crawler.spider.received), "stats": kept}))


if __name__ == "__main__":
    main()
