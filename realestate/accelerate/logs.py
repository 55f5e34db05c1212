"""What is logged of every page and item: nothing is put into words that nobody reads."""

import logging
from typing import Any, Self

from scrapy import logformatter
from scrapy.crawler import Crawler


class LogFormatter(logformatter.LogFormatter):
    """Scrapy's. A record of each page and item is made even where LOG_LEVEL lets no handler show it."""

    def __init__(self, *, speaks: bool = True) -> None:
        self.speaks = speaks

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        level = logging.getLevelNamesMapping()[crawler.settings["LOG_LEVEL"]]
        return cls(speaks=level <= logging.DEBUG)

    def crawled(self, *about: Any) -> Any:
        return super().crawled(*about) if self.speaks else None

    def scraped(self, *about: Any) -> Any:
        return super().scraped(*about) if self.speaks else None
