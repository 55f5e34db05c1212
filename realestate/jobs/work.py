"""A worker: the spiders of several portals in one process, until it is told to stop."""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

from scrapy.addons import AddonManager
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.settings import Settings
from scrapy.spiderloader import SpiderLoaderProtocol, get_spider_loader
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.misc import load_object

HOMES = "listing"
#: The settings that name most of what a worker is made of.
PARTS = ("ADDONS", "EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES")


def portals(simulator: str | None = None) -> list[str]:
    """The names of all portals of homes, or of those that a simulator serves: a new one may not be simulated yet."""
    names = [name for name in everything() if spider_class(name).kind == HOMES]
    return [name for name in names if not simulator or spider_class(name).is_served_by(simulator)]


def everything() -> list[str]:
    """The names of all that can be crawled: what is no home is crawled by whoever names it."""
    return sorted(_loader().list())


def seed_urls(portal: str, simulator: str | None) -> list[str]:
    """Where a crawl of the whole portal begins."""
    urls: list[str] = _loader().load(portal).seed_urls(simulator)  # type: ignore[attr-defined]
    return urls


def refusal(portal: str, url: str, simulator: str | None) -> str | None:
    """Why the address cannot be crawled as this portal's; None if it can."""
    reason: str | None = _loader().load(portal).refuses(url, simulator)  # type: ignore[attr-defined]
    return reason


def spider_class(portal: str) -> Any:
    return _loader().load(portal)


def without_crawl(portal: str, settings: Settings) -> Crawler:
    """The portal's spider, as `crawler.spider`, and its statistics; nothing runs around it."""
    crawler = Crawler(spider_class(portal), settings)
    crawler.stats = MemoryStatsCollector(crawler)
    crawler.spider = crawler.spidercls.from_crawler(crawler)
    return crawler


def import_parts() -> None:
    """What a worker would import when it begins, by who still has to wait for the services: that takes as long."""
    settings = project_settings()
    for path in (settings["SCHEDULER"], settings["DOWNLOAD_HANDLERS"]["https"], *chain(*map(settings.getdict, PARTS))):
        load_object(path)


def work(names: Sequence[str], redis_url: str, store_url: str, *, until_done: bool = False) -> bool:
    """Serve these portals' queues; False when a spider could not start."""
    settings = project_settings()
    settings.set("UNTIL_DONE", until_done, priority="cmdline")
    settings.set("REDIS_URL", redis_url, priority="cmdline")
    settings.set("STORE_URL", store_url, priority="cmdline")
    process = AsyncCrawlerProcess(settings)
    for name in names:
        process.crawl(name)
    process.start()
    return not process.bootstrap_failed


def project_settings() -> Settings:
    """As Scrapy reads them inside the project, but from any folder."""
    settings = Settings()
    settings.setmodule("realestate.settings", priority="project")
    AddonManager.load_pre_crawler_settings(settings)
    return settings


@cache
def _loader() -> SpiderLoaderProtocol:
    return get_spider_loader(project_settings())
