"""Removes contacts from errors of callbacks, before they reach the log and the dead letters."""

from typing import Self

from scrapy.crawler import Crawler
from scrapy.http import Response

from realestate.privacy import clean_error


class PrivateErrorsMiddleware:
    """For errors that leave a callback. Those of a portal's parser do not: see `SearchSpider._unreadable`."""

    def __init__(self, country: str) -> None:
        self.country = country

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(getattr(crawler.spidercls, "country", ""))

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        """Called first of all middlewares: it is the nearest to the spider."""
        clean_error(exception, self.country)
