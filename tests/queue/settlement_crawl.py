"""A crawl of an ordinary spider in which everything happens that can happen to a request. Prints JSON.

python -m tests.queue.settlement_crawl <on|off> <address of the site> <address of Redis>

Each path of the site is one case. It prints how each lease ended, and the leases that ended before everything that
their page yielded had been handled.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

import scrapy
from scrapy import Request
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.http import Response

from realestate.queue.ledger import Ledger

HERE = "tests.queue.settlement_crawl"
#: Nothing listens on port 1.
NOBODY = "http://127.0.0.1:1"

#: More than Scrapy reads ahead: twice CONCURRENT_ITEMS.
MANY = 60

#: By path: what its page has yielded, and what of it has been handled.
yielded: Counter[str] = Counter()
handled: Counter[str] = Counter()
ended: dict[str, list[Any]] = {}
too_early: list[str] = []


def path_of(url: str) -> str:
    return url.partition("//")[2].partition("/")[2]


def record_endings() -> None:
    end = Ledger.end

    def recorded(self: Ledger, key: str, outcome: Any, detail: Any = None) -> None:
        held = self.get(key)
        if held is not None:
            path = path_of(held.url)
            reason = json.loads(detail)["reason"] if outcome == "dead" else None
            ended.setdefault(path, []).append([outcome, reason, len(held.children)])
            if outcome in ("done", "dead") and handled[path] < yielded[path]:
                too_early.append(path)
        end(self, key, outcome, detail)

    Ledger.end = recorded  # type: ignore[method-assign]


class Downloads:
    """A downloader middleware that loses requests in several ways."""

    def process_request(self, request: Request) -> Request | None:
        if request.url.endswith("/ignored"):
            raise IgnoreRequest("not this one")
        if request.url.endswith("/swallowed"):
            return Request(request.url + "-replaced", callback=request.callback)
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        if request.url.endswith("/refused-page"):
            raise IgnoreRequest("not this page")
        return response


class Handles:
    """A spider middleware that handles one kind of error."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_spider_exception(self, response: Response, exception: Exception) -> Any:
        if isinstance(exception, ZeroDivisionError):
            spider: Any = self.crawler.spider
            return [{"of": path_of(response.url)}, spider.child(response)]
        return None


class Pipeline:
    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0.1)
        handled[item["of"]] += 1
        if "drop" in item:
            raise DropItem("on purpose")
        if "break" in item:
            raise KeyError("break")
        return item


class AnySpider(scrapy.Spider):
    name = "any"
    allowed_domains = ("127.0.0.1",)

    def __init__(self, site: str, **options: Any) -> None:
        super().__init__(**options)
        self.site = site

    async def start(self) -> AsyncIterator[Any]:
        callbacks = {
            "async": self.parse_async,
            "list": self.parse_list,
            "nothing": self.parse_nothing,
            "raises-at-once": self.parse_raises,
            "raises-midway": self.parse_midway,
            "raises-midway-async": self.parse_midway_async,
            "handled-error": self.parse_division,
            "dropped-item": self.parse_dropped,
            "broken-item": self.parse_broken,
            "many": self.parse_many,
            "duplicates": self.parse_duplicates,
            "same-object": self.parse_same_object,
            "offsite": self.parse_offsite,
            "local": self.parse_local,
        }
        for path, callback in callbacks.items():
            yield Request(f"{self.site}/{path}", callback)
        for path in ("moved", "retried", "missing", "forbidden", "ignored", "refused-page", "swallowed"):
            yield Request(f"{self.site}/{path}", self.parse_nothing)
        yield Request(f"{self.site}/slow", self.parse_nothing, meta={"download_timeout": 0.5, "dont_retry": True})
        yield Request(f"{self.site}/missing?errback", self.parse_nothing, errback=self.on_error)
        at_nobody: dict[str, Any] = {"callback": self.parse_nothing, "meta": {"dont_retry": True}}
        yield Request(f"{NOBODY}/unreachable", **at_nobody)
        yield Request(f"{NOBODY}/unreachable?errback", errback=self.on_error, **at_nobody)
        yield Request(f"{NOBODY}/unreachable?raises", errback=self.on_error_raise, **at_nobody)

    def item(self, response: Any, **more: Any) -> dict[str, Any]:
        path = path_of(response.request.url)
        yielded[path] += 1
        return {"of": path, **more}

    def child(self, response: Any, suffix: str = "-child", **options: Any) -> Request:
        return Request(response.request.url + suffix, self.parse_nothing, **options)

    async def parse_async(self, response: Response) -> AsyncIterator[Any]:
        yield self.item(response)
        await asyncio.sleep(0.05)
        yield self.child(response)

    def parse_list(self, response: Response) -> list[Any]:
        return [self.item(response), None, self.child(response)]

    def parse_nothing(self, response: Response) -> None:
        return None

    def parse_raises(self, response: Response) -> Any:
        raise KeyError("at once")

    def parse_midway(self, response: Response) -> Iterator[Any]:
        yield self.item(response)
        yield self.child(response)
        raise KeyError("midway")

    async def parse_midway_async(self, response: Response) -> AsyncIterator[Any]:
        for each in self.parse_midway(response):
            yield each

    def parse_division(self, response: Response) -> Iterator[Any]:
        yield self.item(response)
        yielded[path_of(response.url)] += 1  # the item that the middleware makes
        raise ZeroDivisionError("by zero")

    def parse_dropped(self, response: Response) -> Iterator[Any]:
        yield self.item(response, drop=True)

    def parse_broken(self, response: Response) -> Iterator[Any]:
        yield {**self.item(response), "break": True}

    def parse_many(self, response: Response) -> Iterator[Any]:
        for number in range(MANY):
            yield self.child(response, f"-{number}")
            if not number % 10:
                yield self.item(response)

    def parse_duplicates(self, response: Response) -> Iterator[Any]:
        yield self.child(response)
        yield self.child(response)

    def parse_same_object(self, response: Response) -> Iterator[Any]:
        child = self.child(response, dont_filter=True)
        yield child
        yield child

    def parse_offsite(self, response: Response) -> Iterator[Any]:
        yield Request("http://elsewhere.example/", self.parse_nothing)
        yield self.item(response)

    def parse_local(self, response: Response) -> Iterator[Any]:
        """A request that cannot be stored in Redis."""

        def own_callback(response: Response) -> None: ...

        yield Request(response.url + "-child", own_callback)

    def on_error(self, failure: Any) -> Iterator[Any]:
        yield self.item(failure)
        yield Request(f"{self.site}/{path_of(failure.request.url)}-after", self.parse_nothing)

    def on_error_raise(self, failure: Any) -> None:
        raise KeyError("in an errback")


def settings(accelerate: str, redis_url: str) -> dict[str, Any]:
    return {
        "SCHEDULER": "realestate.queue.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "realestate.queue.dupefilter.DupeFilter",
        "ADDONS": {"realestate.accelerate.addon.Accelerate": 0, "realestate.queue.addon.QueueAddon": 100},
        "ACCELERATE": accelerate,
        "REDIS_URL": redis_url,
        "HEARTBEAT_SECONDS": 0.2,
        "RETRY_DELAY_SECONDS": 0.05,
        "RETRY_HTTP_CODES": [503],
        "RETRY_TIMES": 1,
        "CONCURRENT_ITEMS": 5,
        "DOWNLOADER_MIDDLEWARES": {f"{HERE}.Downloads": 540},
        "SPIDER_MIDDLEWARES": {f"{HERE}.Handles": 500},
        "ITEM_PIPELINES": {f"{HERE}.Pipeline": 1},
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "CRITICAL",
    }


def main() -> None:
    accelerate, site, redis_url = sys.argv[1:]
    record_endings()
    process = AsyncCrawlerProcess(settings(accelerate, redis_url))
    crawler = process.create_crawler(AnySpider)
    process.crawl(crawler, site=site)
    process.start()
    engine = type(crawler.engine).__module__
    print(json.dumps({"engine": engine, "ended": ended, "too_early": too_early, "handled": handled}))


if __name__ == "__main__":
    from tests.queue import settlement_crawl  # under the name by which Scrapy imports its components

    settlement_crawl.main()
