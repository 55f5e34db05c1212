"""`scrapy crawl`, with an exit code that says whether the crawl did its work."""

from argparse import Namespace

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError
from scrapy.spiderloader import get_spider_loader

from realestate.jobs.finish_reasons import ended_well
from realestate.queue.commands import crawl
from realestate.queue.redis_url import BadRedisUrl, parse_redis_url

STORE_PIPELINE = "realestate.pipelines.store.StorePipeline"


class Command(crawl.Command):
    """Scrapy's own command ends with 0 also if the spider was closed by an error."""

    _started: Crawler | None = None

    def run(self, args: list[str], opts: Namespace) -> None:
        self._check_redis_url()
        self._check_spider(args)
        self._check_store_url()
        super().run(args, opts)

    def _crawl(self, args: list[str], opts: Namespace) -> int:
        code = super()._crawl(args, opts)
        return 1 if self._started is not None and not ended_well(self._started) else code

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        self._started = super()._create_crawler(spidercls)
        return self._started

    def _check_redis_url(self) -> None:
        """One line instead of a traceback."""
        assert self.settings is not None
        try:
            if url := self.settings.get("REDIS_URL"):
                parse_redis_url(url)
        except BadRedisUrl as error:
            raise SystemExit(f"realestate: REDIS_URL is not an address of Redis: {error}") from None

    def _check_store_url(self) -> None:
        """One line at once: a crawl that can store nothing would fetch pages for nothing."""
        assert self.settings is not None
        pipelines = self.settings.getdict("ITEM_PIPELINES")
        if pipelines.get(STORE_PIPELINE) is not None and not self.settings.get("STORE_URL"):
            raise SystemExit(
                "realestate: STORE_URL is not set, and `scrapy crawl` starts no database. Set it to a postgresql:// or"
                " mongodb:// URL, or use `realestate crawl`, which needs no server"
            )

    def _check_spider(self, args: list[str]) -> None:
        """One line for a name that no spider has, and for one whose file is broken."""
        assert self.settings is not None
        try:
            if len(args) == 1:
                get_spider_loader(self.settings).load(args[0])
        except KeyError as error:
            raise UsageError(str(error.args[0]), print_help=False) from error
