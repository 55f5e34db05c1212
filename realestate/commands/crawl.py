"""`scrapy crawl`, with an exit code that says whether the crawl did its work."""

from argparse import Namespace

from scrapy import Spider
from scrapy.commands import crawl
from scrapy.crawler import Crawler

from realestate.jobs.endings import ended_well
from realestate.queue.redis_url import BadRedisUrl, parse_redis_url


class Command(crawl.Command):
    """Scrapy's own command ends with 0 also if the spider was closed by an error."""

    _started: Crawler | None = None

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        self._started = super()._create_crawler(spidercls)
        return self._started

    def run(self, args: list[str], opts: Namespace) -> None:
        self._check_redis_url()
        super().run(args, opts)
        if self._started is not None and not ended_well(self._started):
            self.exitcode = 1

    def _check_redis_url(self) -> None:
        """One line instead of a traceback."""
        assert self.settings is not None
        try:
            if url := self.settings.get("REDIS_URL"):
                parse_redis_url(url)
        except BadRedisUrl as error:
            raise SystemExit(f"realestate: REDIS_URL is no address of Redis: {error}") from None
