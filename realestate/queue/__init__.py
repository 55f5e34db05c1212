"""The queue in Redis: scheduler, leases, deduplication, rate limits, dead letters. Any Scrapy project can use it."""
