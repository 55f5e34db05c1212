"""Fetches a few pages of a live portal in this process, one after another, with the project's settings."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from scrapy import Request
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.settings import Settings

from realestate.authoring import AuthoringError
from realestate.jobs.work import project_settings, spider_class

T = TypeVar("T")

#: Replaces what only a fleet has: its queue, its leases, its store.
_WITHOUT_FLEET: dict[str, Any] = {
    "ADDONS": {"realestate.old_names.OldSettingNames": -1},  # without the queue's add-on
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "STATS_CLASS": "scrapy.statscollectors.MemoryStatsCollector",
    "SPIDER_MIDDLEWARES": {},
    "DOWNLOADER_MIDDLEWARES": {"realestate.middlewares.signing.SigningMiddleware": 580},
    "ITEM_PIPELINES": {},
    "EXTENSIONS": {},
    "RETRY_ENABLED": False,  # the author sees the error and can try again
    "CONCURRENT_REQUESTS": 1,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "LOG_LEVEL": "CRITICAL",
}


class LivePages:
    """The pages of a portal, fetched one after another within its rate limit."""

    def __init__(self, spider: Any) -> None:
        self.spider = spider
        self._crawl_delay: float | None = None

    async def fetch(self, url: str) -> Response:
        """The response to the request that the portal's spider would send for this URL."""
        request: Request = self.spider.any_request(url)
        await self._wait(request)
        try:
            response: Response = await self.spider.crawler.engine.download_async(request)
        except IgnoreRequest as error:
            raise AuthoringError(f"{request.url}: {error}") from error
        except Exception as error:
            raise AuthoringError(f"{request.url}: {type(error).__name__}: {error}".partition("\n")[0]) from error
        if response.status >= 400:
            raise AuthoringError(f"{response.url}: status {response.status}")
        response.request = response.request or request
        return response

    async def _wait(self, request: Request) -> None:
        """Wait for the Crawl-delay of robots.txt. The rate limit itself is Scrapy's DOWNLOAD_DELAY here."""
        if self._crawl_delay is None:
            self._crawl_delay = await self._robots_delay(request)
        await asyncio.sleep(self._crawl_delay)

    async def _robots_delay(self, request: Request) -> float:
        """The Crawl-delay of the site's robots.txt, in seconds; 0 without one."""
        robots = self.spider.crawler.get_downloader_middleware(RobotsTxtMiddleware)
        parser = await robots.robot_parser(request) if robots is not None else None
        if not isinstance(parser, ProtegoRobotParser):
            return 0.0
        return float(parser.rp.crawl_delay(self.spider.settings["USER_AGENT"]) or 0.0)


def with_live_pages(portal: str, task: Callable[[LivePages], Awaitable[T]]) -> T:
    """Run a task on the portal's site, or on the simulator's, and return its result.

    It works once in a process: Scrapy's reactor cannot be started again."""
    result: list[T] = []
    failure: list[Exception] = []

    class Visitor(spider_class(portal)):  # type: ignore[misc]
        async def start(self) -> AsyncIterator[Any]:
            try:
                result.append(await task(LivePages(self)))
            except Exception as error:
                failure.append(error)
            # Without this, Scrapy would stop only after five idle seconds.
            self._stopping = asyncio.create_task(self.crawler.stop_async())
            return
            yield  # makes this an iterator; there is nothing for the scheduler

    settings = _settings(Visitor.rate_limit)
    try:
        Visitor.address(settings.get("SIMULATOR_URL"))
    except ValueError as error:
        raise AuthoringError(str(error)) from error
    process = AsyncCrawlerProcess(settings)
    process.crawl(Visitor)
    process.start()
    if not result:
        raise failure[0] if failure else AuthoringError("stopped before it was done")
    return result[0]


def _settings(rate_limit: float | None) -> Settings:
    settings = project_settings()
    rates = [rate for rate in (settings.getfloat("RATE_LIMIT"), rate_limit) if rate]
    settings.setdict({**_WITHOUT_FLEET, "DOWNLOAD_DELAY": 1 / min(rates) if rates else 0}, priority="cmdline")
    return settings
