"""Crawlee for Python: its crawler for parsel, all in memory. The items are not stored."""

import asyncio
from dataclasses import dataclass

from crawlee import ConcurrencySettings, Request
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from parsel import Selector

from bench.peers.task import CONCURRENCY, Task


@dataclass
class _Page:
    url: str
    text: str
    selector: Selector


async def crawl(task: Task) -> list[str]:
    reading = task.reading
    refs = list[str]()
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        # By default it begins with few and increases the number.
        concurrency_settings=ConcurrencySettings(
            min_concurrency=CONCURRENCY, desired_concurrency=CONCURRENCY, max_concurrency=CONCURRENCY
        ),
    )

    async def page_of(context: ParselCrawlingContext) -> _Page:
        body = await context.http_response.read()
        return _Page(context.request.loaded_url or context.request.url, body.decode(), context.selector)

    async def search(context: ParselCrawlingContext) -> None:
        found = reading.search(await page_of(context))
        await context.add_requests([Request.from_url(url, label="listing") for url in found.listings])
        await context.add_requests(found.pages)

    async def listing(context: ParselCrawlingContext) -> None:
        record = reading.listing(await page_of(context))
        if units := record.pop("units", None):
            await context.add_requests([Request.from_url(url, label="listing") for url in units])
        refs.append(record["ref"])

    crawler.router.default_handler(search)
    crawler.router.handler("listing")(listing)
    await crawler.run(task.seeds)
    return refs


def main() -> None:
    task = Task.given()
    task.done(asyncio.run(crawl(task)))


if __name__ == "__main__":
    main()
