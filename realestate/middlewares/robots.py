"""robots.txt: what it forbids is Scrapy's business, the Crawl-delay it asks for is the pace's."""

from typing import Self

from scrapy.crawler import Crawler
from scrapy.robotstxt import ProtegoRobotParser

from realestate.queue.scheduler import Scheduler


class RobotParser(ProtegoRobotParser):
    """Scrapy's parser, which tells the fleet's pace the Crawl-delay as a floor."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        parser = super().from_crawler(crawler, robotstxt_body)
        # Scrapy tries the parser with nothing before it has an engine.
        if delay := parser.rp.crawl_delay(crawler.settings["USER_AGENT"]):
            scheduler = crawler.engine.scheduler if crawler.engine is not None else None
            if isinstance(scheduler, Scheduler) and scheduler.serving:
                scheduler.manners.floor(float(delay))
        return parser
