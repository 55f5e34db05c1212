"""The statistics of a worker."""

from scrapy.statscollectors import MemoryStatsCollector


class Stats(MemoryStatsCollector):
    """Scrapy's collector, ten times faster.

    Scrapy's collector intercepts each attribute lookup to warn of a deprecated argument. That costs over 2 µs per
    count, and each page makes about twenty. No code here passes that argument."""

    __getattribute__ = object.__getattribute__
