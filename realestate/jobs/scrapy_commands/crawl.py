"""`scrapy crawl`: Scrapy's own command, but its exit code is 1 if the crawl failed."""

import argparse

from scrapy.commands import crawl
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError

from realestate.jobs.work import why_failed


class Command(crawl.Command):
    """Scrapy's exit code is 1 only if a spider could not start."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self._created: list[Crawler] = []
        super().run(args, opts)
        if any(why_failed(crawler) for crawler in self._created):
            self.exitcode = 1

    def _create_crawler(self, spidercls: type | str) -> Crawler:
        try:
            crawler = super()._create_crawler(spidercls)
        except KeyError as error:  # no such spider, or its file is broken
            raise UsageError(str(error.args[0]), print_help=False) from error
        self._created.append(crawler)
        return crawler
