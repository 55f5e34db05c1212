"""`scrapy crawl`, with the worker in a child process that a page cannot block for ever."""

import argparse

from scrapy.commands import crawl
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.settings import BaseSettings

from realestate.queue.supervisor import supervised

_ASYNCIO_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


class Command(crawl.Command):
    """Scrapy's command. See `queue.supervisor`."""

    # The event loop is made in the child: a second child must not inherit the loop of the first one.
    requires_crawler_process = False

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        self.exitcode = supervised(lambda: self._crawl(args, opts), self.settings)

    def _crawl(self, args: list[str], opts: argparse.Namespace) -> int:
        assert self.settings is not None
        self.crawler_process = _process_class(self.settings)(self.settings)
        super().run(args, opts)
        return self.exitcode


def _process_class(settings: BaseSettings) -> type[AsyncCrawlerProcess] | type[CrawlerProcess]:
    """The class that Scrapy's own command uses with these settings."""
    is_asyncio = settings["TWISTED_REACTOR"] == _ASYNCIO_REACTOR and not settings.getbool("FORCE_CRAWLER_PROCESS")
    return AsyncCrawlerProcess if is_asyncio or not settings.getbool("TWISTED_REACTOR_ENABLED") else CrawlerProcess
