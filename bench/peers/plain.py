"""Plain Scrapy: its queue in memory, parsel, its default settings. The items are not stored."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess

from bench.peers.task import CONCURRENCY, Task

#: By default Scrapy logs every request and item, and fetches 8 pages of one site at a time: both would slow it down.
SETTINGS = {
    "LOG_LEVEL": "INFO",
    "CONCURRENT_REQUESTS": CONCURRENCY,
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
    "TELNETCONSOLE_ENABLED": False,
}


class PlainSpider(scrapy.Spider):
    name = "plain"

    def __init__(self, task: Task, **options: Any) -> None:
        super().__init__(**options)
        self.task = task
        self.reading = task.reading
        self.refs: list[str] = []

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.task.seeds:
            yield scrapy.Request(url)

    def parse(self, response: Any) -> Iterator[scrapy.Request]:
        found = self.reading.search(response)
        for url in found.listings:
            yield scrapy.Request(url, self.parse_listing)
        for url in found.pages:
            yield scrapy.Request(url)

    def parse_listing(self, response: Any) -> Iterator[dict[str, Any] | scrapy.Request]:
        record = self.reading.listing(response)
        for url in record.pop("units", ()):
            yield scrapy.Request(url, self.parse_listing)
        self.refs.append(record["ref"])
        yield record

    def closed(self, reason: str) -> None:
        self.task.done(self.refs)


def main() -> None:
    process = CrawlerProcess(SETTINGS)
    process.crawl(PlainSpider, task=Task.given())
    process.start()


if __name__ == "__main__":
    main()
