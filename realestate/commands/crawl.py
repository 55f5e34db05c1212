"""`scrapy crawl`, with an exit code that says whether the crawl did its work."""

from argparse import Namespace

from scrapy import Spider
from scrapy.commands import crawl
from scrapy.crawler import Crawler

from realestate.jobs.endings import ended_well


class Command(crawl.Command):
    """Scrapy's own command ends with 0 also if the spider was closed by an error."""

    _started: Crawler | None = None

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        self._started = super()._create_crawler(spidercls)
        return self._started

    def run(self, args: list[str], opts: Namespace) -> None:
        super().run(args, opts)
        if self._started is not None and not ended_well(self._started):
            self.exitcode = 1
