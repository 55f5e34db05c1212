"""Python looks again and again whether anything of what it holds is garbage, all that was imported included."""

import gc
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

#: New objects after which it looks. A page makes thousands, and nearly all of them end with it without any look.
EVERY = 20_000


class Collection:
    """What is there when the spider opens stays for good: it is not looked at any more."""

    def __init__(self) -> None:
        """What was imported so far is not even looked at once more: importing leaves hardly any garbage, and looking at
        it all, again with all that the crawl's parts import, takes a tenth of the time to the first request."""
        gc.freeze()
        gc.set_threshold(EVERY, *gc.get_threshold()[1:])

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """As an add-on: it comes before the parts of a crawl are imported."""
        extension = cls()
        crawler.signals.connect(extension.opened, signal=signals.spider_opened)
        return extension

    def opened(self) -> None:
        gc.collect()
        gc.freeze()
