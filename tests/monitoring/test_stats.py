"""The statistics of a worker."""

from collections.abc import Callable

from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from realestate.monitoring.stats import Stats
from realestate.spiders.immoweb import ImmowebSpider


def test_it_counts_like_the_collector_of_scrapy(make_crawler: Callable[..., Crawler]) -> None:
    crawler = make_crawler(ImmowebSpider)
    assert isinstance(crawler.stats, Stats)
    for stats in (crawler.stats, of_scrapy := MemoryStatsCollector(crawler)):
        stats.inc_value("a")
        stats.inc_value("a", 4, start=1)
        stats.inc_value("b", start=5)
        stats.max_value("c", 3)
        stats.max_value("c", 2)
        stats.min_value("d", 3)
        stats.set_value("e", "x")
    assert crawler.stats.get_stats() == of_scrapy.get_stats() == {"a": 5, "b": 6, "c": 3, "d": 3, "e": "x"}
    assert crawler.stats.get_value("f", 7) == 7
    crawler.stats.close_spider(reason="finished")
