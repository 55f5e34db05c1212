"""Settings of Scrapy whose part is off in this project: setting one of them switches the part on again. Settings that
cannot be honoured are named in a warning, as those of scrapy-redis are."""

from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpauth import HttpAuthMiddleware
from scrapy.settings import BaseSettings
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.spidermiddlewares.referer import RefererMiddleware
from scrapy.spidermiddlewares.urllength import UrlLengthMiddleware

from realestate.queue.scrapy_redis_settings import is_set, warn_of_ignored

#: Spider middlewares that are off, their place in Scrapy's order, and the settings that need them.
_SPIDER_MIDDLEWARES: tuple[tuple[type, int, tuple[str, ...]], ...] = (
    (RefererMiddleware, 700, ("REFERER_ENABLED", "REFERRER_POLICY")),
    (UrlLengthMiddleware, 800, ("URLLENGTH_LIMIT",)),
    (DepthMiddleware, 900, ("DEPTH_LIMIT", "DEPTH_PRIORITY", "DEPTH_STATS_VERBOSE")),
)
_HTTP_AUTH_ORDER = 300

_HANDLER = "the project's own download handler does not read it; remove the setting"
_RETRY = "middlewares/retry.py decides what is retried; RETRY_TIMES and RETRY_DELAY_SECONDS say how often and how soon"

#: Settings of Scrapy that change nothing here, and what to do instead.
IGNORED = {
    "RETRY_ENABLED": _RETRY,
    "RETRY_HTTP_CODES": _RETRY,
    "RETRY_PRIORITY_ADJUST": _RETRY,
    "ROBOTSTXT_PARSER": "robots.txt is always read with Protego; remove the setting",
    "DNSCACHE_ENABLED": _HANDLER,
    "DNSCACHE_SIZE": _HANDLER,
    "TWISTED_DNS_RESOLVER": _HANDLER,
    "DNS_TIMEOUT": "use DOWNLOAD_CONNECT_TIMEOUT",
    "DOWNLOADER_CLIENTCONTEXTFACTORY": _HANDLER,
    "DOWNLOADER_CLIENT_TLS_CIPHERS": _HANDLER,
    "DOWNLOADER_CLIENT_TLS_METHOD": _HANDLER,
    "DOWNLOADER_CLIENT_TLS_VERBOSE_LOGGING": _HANDLER,
    "DOWNLOAD_FAIL_ON_DATALOSS": "a damaged page is always a failed download, and is retried",
    "DOWNLOAD_BIND_ADDRESS": _HANDLER,
}


class ScrapySettings:
    """A Scrapy add-on. It must come after those that change the same settings."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "ScrapySettings":
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        for middleware, order, names in _SPIDER_MIDDLEWARES:
            if any(is_set(settings, name) for name in names):
                settings.set_in_component_priority_dict("SPIDER_MIDDLEWARES", middleware, order)
        if getattr(self.crawler.spidercls, "http_user", None):
            settings.set_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", HttpAuthMiddleware, _HTTP_AUTH_ORDER)
        warn_of_ignored(settings, IGNORED)
        if settings.getbool("RETRY_ENABLED"):  # otherwise two middlewares would retry
            settings.set("RETRY_ENABLED", False, priority="cmdline")
