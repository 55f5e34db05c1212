"""A few pages of a live portal, in this process: by the project's own way to fetch, one after another."""

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

from realestate.authoring import Unfit
from realestate.crawling.seeds import Seed
from realestate.jobs.work import project_settings, spider_class

T = TypeVar("T")

#: What belongs to a fleet: its queue, its leases, its store.
_ALONE: dict[str, Any] = {
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "STATS_CLASS": "scrapy.statscollectors.MemoryStatsCollector",
    "SPIDER_MIDDLEWARES": {},
    "DOWNLOADER_MIDDLEWARES": {"realestate.middlewares.signing.SigningMiddleware": 580},
    "ITEM_PIPELINES": {},
    "EXTENSIONS": {},
    "RETRY_ENABLED": False,  # a person looks on, and can ask again
    "CONCURRENT_REQUESTS": 1,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "LOG_LEVEL": "CRITICAL",
}


class Visit:
    """Asks a portal for one page after another, at its pace."""

    def __init__(self, spider: Any) -> None:
        self.spider = spider
        self._crawl_delay: float | None = None

    async def page(self, url: str) -> Response:
        """What the portal answers to the request its spider would send for the address."""
        request: Request = self.spider.seed_request(Seed(url=url))
        await self._wait(request)
        try:
            response: Response = await self.spider.crawler.engine.download_async(request)
        except IgnoreRequest as error:
            raise Unfit(f"{request.url}: {error}") from error
        except Exception as error:
            raise Unfit(f"{request.url}: {type(error).__name__}: {error}".partition("\n")[0]) from error
        if response.status >= 400:
            raise Unfit(f"{response.url}: status {response.status}")
        response.request = response.request or request
        return response

    async def _wait(self, request: Request) -> None:
        """As long as robots.txt asks for; the pace itself is Scrapy's DOWNLOAD_DELAY here."""
        if self._crawl_delay is None:
            self._crawl_delay = await self._asked_for(request)
        await asyncio.sleep(self._crawl_delay)

    async def _asked_for(self, request: Request) -> float:
        robots = self.spider.crawler.get_downloader_middleware(RobotsTxtMiddleware)
        parser = await robots.robot_parser(request) if robots is not None else None
        if not isinstance(parser, ProtegoRobotParser):
            return 0.0
        return float(parser.rp.crawl_delay(self.spider.settings["USER_AGENT"]) or 0.0)


def visit(portal: str, errand: Callable[[Visit], Awaitable[T]]) -> T:
    """Run an errand on the portal's site, or on the simulator's. Once a process: Scrapy's reactor runs but once."""
    outcome: list[T] = []
    failure: list[Exception] = []

    class Visitor(spider_class(portal)):  # type: ignore[misc]
        async def start(self) -> AsyncIterator[Any]:
            try:
                outcome.append(await errand(Visit(self)))
            except Exception as error:
                failure.append(error)
            # Left alone, Scrapy would notice in five seconds that nothing is left to do.
            self._leaving = asyncio.create_task(self.crawler.stop_async())
            return
            yield  # nothing is left to the scheduler

    process = AsyncCrawlerProcess(_settings(Visitor.rate_limit))
    process.crawl(Visitor)
    process.start()
    if not outcome:
        raise failure[0] if failure else Unfit("stopped before it was done")
    return outcome[0]


def _settings(pace: float | None) -> Settings:
    settings = project_settings()
    rates = [rate for rate in (settings.getfloat("RATE_LIMIT"), pace) if rate]
    settings.setdict({**_ALONE, "DOWNLOAD_DELAY": 1 / min(rates) if rates else 0}, priority="cmdline")
    return settings
