"""Lets a portal sign a request when it is sent: the request may have waited in the queue for hours."""

from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler


class SigningMiddleware:
    """Calls the spider's `sign` for each request that is about to be sent."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        spider: Any = self.crawler.spider
        if "stage" in request.meta:  # robots.txt has no stage and is not signed
            spider.sign(request)
