"""What a callback yields, one after the other.

Scrapy starts two tasks and a queue for each page, so that items can be processed side by side. With CONCURRENT_ITEMS 1
they are not: then there is nothing to start. It has no setting for this part, so the method is put in its place.
"""

from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Any, Self

from scrapy import Request, signals
from scrapy.core.scraper import Scraper
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.asyncgen import as_async_generator
from twisted.python.failure import Failure


class OneByOne:
    """An extension, as the scraper is there only when the spider opens."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if crawler.settings.getint("CONCURRENT_ITEMS") != 1:
            raise NotConfigured
        extension = cls(crawler)
        crawler.signals.connect(extension.opened, signal=signals.spider_opened)
        return extension

    def opened(self) -> None:
        scraper = self.crawler.engine.scraper
        scraper.handle_spider_output_async = partial(_handle, scraper)  # type: ignore[method-assign]


async def _handle(
    scraper: Scraper, result: Iterable[Any] | AsyncIterator[Any], request: Request, response: Response | Failure
) -> None:
    each_of = result if isinstance(result, AsyncIterator) else as_async_generator(result)
    try:
        async for each in each_of:
            if isinstance(each, Request):
                scraper.crawler.engine.crawl(each)
            elif each is not None:
                await scraper.start_itemproc_async(each, response=response)
    except Exception:
        scraper.handle_spider_error(Failure(), request, response)  # type: ignore[no-untyped-call]
