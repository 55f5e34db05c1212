"""A worker: the spiders of several portals in one process. Also: which portals there are."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from scrapy import Request
from scrapy.addons import AddonManager
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.settings import Settings
from scrapy.spiderloader import SpiderLoaderProtocol, get_spider_loader
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.misc import load_object

from realestate.crawling.scope import Scope
from realestate.jobs.finish_reasons import PortalCrawls
from realestate.monitoring.logs import install_handler
from realestate.monitoring.progress import WORKER_LOG
from realestate.queue.supervisor import supervised

#: The kind of a portal whose items are listings of homes.
HOMES = "listing"
#: The settings that name most components of a worker.
COMPONENT_SETTINGS = ("ADDONS", "EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES")


def portals(simulator: str | None = None) -> list[str]:
    """The names of all portals of homes. With a simulator, only of those that it serves."""
    names = [name for name in all_portals() if spider_class(name).kind == HOMES]
    return [name for name in names if not simulator or spider_class(name).is_served_by(simulator)]


def all_portals() -> list[str]:
    """The names of all portals, also of those without homes: these are crawled only if they are named."""
    return sorted(_loader().list())


def seed_urls(portal: str, simulator: str | None) -> list[str]:
    """The start URLs of a crawl of the whole portal."""
    urls: list[str] = _loader().load(portal).seed_urls(simulator)  # type: ignore[attr-defined]
    return urls


def scoped_urls(portal: str, scope: Scope, simulator: str | None) -> list[str]:
    """The start URLs of a crawl of these homes only. Raises ValueError if the portal has no such search."""
    urls: list[str] = spider_class(portal).scoped_urls(scope, simulator)
    return urls


def why_refused(portal: str, url: str, simulator: str | None, *, any_page: bool = False) -> str | None:
    """Why the portal's spider cannot crawl the URL; None if it can."""
    allow_private = project_settings().getbool("ALLOW_PRIVATE_ADDRESSES")
    reason: str | None = spider_class(portal).refuses(url, simulator, allow_private=allow_private, any_page=any_page)
    return reason


def spider_class(portal: str) -> Any:
    """Raises KeyError if there is no such portal, or if its file cannot be imported."""
    return _loader().load(portal)


def portal_of_url(url: str) -> str | None:
    """The portal to whose site the URL belongs; None if there is none, or the text is no URL."""
    try:
        names = _loader().find_by_request(Request(url))
    except ValueError:
        return None
    return min(names, default=None)


def why_unknown(portal: str) -> str | None:
    """Why the portal cannot be used, in one line; None if it can. `""` if there is no such portal."""
    try:
        _loader().load(portal)
    except KeyError as error:
        return str(error) if error.__cause__ is not None else ""
    return None


def without_crawl(portal: str, settings: Settings) -> Crawler:
    """A crawler with the portal's spider and statistics, but without an engine."""
    crawler = Crawler(spider_class(portal), settings)
    crawler.stats = MemoryStatsCollector(crawler)
    crawler.spider = crawler.spidercls.from_crawler(crawler)
    return crawler


def import_components() -> None:
    """Import the components of a worker now. Call it while the services start: both take about as long."""
    settings = project_settings()
    paths = [settings["SCHEDULER"], settings["DOWNLOAD_HANDLERS"]["https"]]
    for name in COMPONENT_SETTINGS:
        paths += settings.getdict(name)
    for path in paths:
        load_object(path)


def work(names: Sequence[str], redis_url: str, store_url: str, *, until_done: bool = False) -> bool:
    """Serve the queues of these portals until SIGTERM. Returns False if a spider could not start, or ended
    because of an error: then its work is not done."""
    settings = project_settings()
    settings.set("UNTIL_DONE", until_done, priority="cmdline")
    settings.set("REDIS_URL", redis_url, priority="cmdline")
    settings.set("STORE_URL", store_url, priority="cmdline")
    install_handler(settings)  # before the fork: the lines of the supervisor have the same form
    return supervised(partial(_work, names, settings), settings) == 0


def _work(names: Sequence[str], settings: Settings) -> int:
    from realestate.jobs.background import FinishThread  # it needs this module

    process = AsyncCrawlerProcess(settings)
    crawls = PortalCrawls(process)
    rates = {name: getattr(spider_class(name), "rate_limit", None) for name in names}
    WORKER_LOG.started(settings, rates)
    notify_urls = settings.getlist("NOTIFY_URLS")
    FinishThread(settings["REDIS_URL"], settings["STORE_URL"], settings.get("SIMULATOR_URL"), notify_urls).start()
    for name in names:
        crawls.start(name)
    process.start()
    WORKER_LOG.stopped()
    return 1 if crawls.failed else 0


def project_settings() -> Settings:
    """The settings of the project, from any folder."""
    settings = Settings()
    settings.setmodule("realestate.settings", priority="project")
    AddonManager.load_pre_crawler_settings(settings)
    return settings


@cache
def _loader() -> SpiderLoaderProtocol:
    return get_spider_loader(project_settings())
