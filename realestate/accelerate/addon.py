"""The Scrapy add-on that installs all faster parts, if the setting ACCELERATE is on."""

from typing import Any, Self

from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.downloadermiddlewares.redirect import RedirectMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.settings import BaseSettings

SETTINGS = {
    "DOWNLOADER": "realestate.accelerate.downloader.Downloader",
    "ITEM_PROCESSOR": "realestate.accelerate.items.Pipelines",
}


def is_on(settings: BaseSettings) -> bool:
    """Whether the faster parts are to be used. `on` and `off` are understood beside what Scrapy understands."""
    value = settings.get("ACCELERATE", True)
    if isinstance(value, str) and value.lower() in ("on", "off"):
        return value.lower() == "on"
    return settings.getbool("ACCELERATE", True)


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
        from realestate.accelerate import downloader_stats, memory, offsite, plain, signals

        for name, value in SETTINGS.items():
            settings.set(name, value, priority="addon")
        replaced: tuple[tuple[type[Any], type[Any], int], ...] = (
            (OffsiteMiddleware, offsite.OffsiteMiddleware, 50),
            (RedirectMiddleware, plain.RedirectMiddleware, 600),
            (CookiesMiddleware, plain.CookiesMiddleware, 700),
            (DownloaderStats, downloader_stats.DownloaderStats, 850),
        )
        for scrapys, ours, order in replaced:
            settings.set_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", scrapys, None)
            settings.set_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", ours, order)
        self.crawler.signals = signals.Signals(self.crawler)
        self._collection = memory.GarbageCollection.from_crawler(self.crawler)
        self.crawler.signals.connect(self._spider_opened, signal=scrapy_signals.spider_opened)

    def _spider_opened(self) -> None:
        from realestate.accelerate.engine import take_over

        take_over(self.crawler)
