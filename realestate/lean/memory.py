"""Python looks again and again whether anything of what it holds is garbage, all that was imported included."""

import gc
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

#: New objects after which it looks. A page makes thousands, and nearly all of them end with it without any look.
EVERY = 20_000


class Collection:
    """What is there when the spider opens stays for good: it is not looked at any more."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls()
        crawler.signals.connect(extension.opened, signal=signals.spider_opened)
        return extension

    def opened(self) -> None:
        gc.collect()
        gc.freeze()
        gc.set_threshold(EVERY, *gc.get_threshold()[1:])
