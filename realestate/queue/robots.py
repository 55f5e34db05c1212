"""A site's robots.txt keeps the site's pace too."""

import asyncio

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware


class FirstQuestion:
    """Whether robots.txt still has to be read. Requests that waited behind a slow one would come in a burst, so it
    takes the moment of the first request, which asks for another."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        settings = crawler.settings
        # Without a pace there is no moment that it could spoil.
        self.is_open = settings.getbool("ROBOTSTXT_OBEY") and settings.getfloat("PACE_RATE") > 0

    async def ask(self, request: Request, wait_seconds: float) -> None:
        await asyncio.sleep(max(0.0, wait_seconds))
        robots = self.crawler.get_downloader_middleware(RobotsTxtMiddleware)
        if robots is not None:
            await robots.robot_parser(request)
        self.is_open = False
