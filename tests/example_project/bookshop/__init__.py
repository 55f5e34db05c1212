"""A bookshop, crawled by an ordinary scrapy-redis project. It is the example of docs/queue.md and of a test."""
