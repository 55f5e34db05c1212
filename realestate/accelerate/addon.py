"""The Scrapy add-on that installs all faster parts, if the setting ACCELERATE is on."""

from typing import Any, Self

from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.downloadermiddlewares.redirect import RedirectMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.settings import BaseSettings
from scrapy.utils.python import global_object_name

SETTINGS = {
    "DOWNLOADER": "realestate.accelerate.downloader.Downloader",
    "ITEM_PROCESSOR": "realestate.accelerate.pipelines.Pipelines",
}


def is_on(settings: BaseSettings) -> bool:
    """Whether the faster parts are to be used. `on` and `off` are understood beside what Scrapy understands."""
    value = settings.get("ACCELERATE", True)
    if isinstance(value, str) and value.lower() in ("on", "off"):
        return value.lower() == "on"
    return settings.getbool("ACCELERATE", True)


def _replace(settings: BaseSettings, scrapys: type[Any], ours: type[Any]) -> None:
    """Put our middleware in the place of Scrapy's. A project that has moved Scrapy's or switched it off keeps that."""
    name = "DOWNLOADER_MIDDLEWARES"
    components: dict[Any, int] = dict(settings.get_component_priority_dict_with_base(name))
    order = components.get(scrapys, components.get(global_object_name(scrapys)))
    if order is not None:
        settings.set_in_component_priority_dict(name, scrapys, None)
        settings.set_in_component_priority_dict(name, ours, order)


class Accelerate:
    """Put it before all other add-ons: components connect to the signals of the crawler when they are made."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        if not is_on(settings):
            return
        from realestate.accelerate import downloader_middlewares, downloader_stats, garbage_collection, signals

        for name, value in SETTINGS.items():
            settings.set(name, value, priority="addon")
        _replace(settings, OffsiteMiddleware, downloader_middlewares.OffsiteMiddleware)
        _replace(settings, RedirectMiddleware, downloader_middlewares.RedirectMiddleware)
        _replace(settings, CookiesMiddleware, downloader_middlewares.CookiesMiddleware)
        _replace(settings, DownloaderStats, downloader_stats.DownloaderStats)
        self.crawler.signals = signals.Signals(self.crawler)
        self._collection = garbage_collection.GarbageCollection.from_crawler(self.crawler)
        self.crawler.signals.connect(self._spider_opened, signal=scrapy_signals.spider_opened)

    def _spider_opened(self) -> None:
        from realestate.accelerate.engine import take_over

        take_over(self.crawler)
