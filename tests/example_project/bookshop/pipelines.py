import json

from itemadapter import ItemAdapter
from scrapy_redis.connection import get_redis_from_settings


class RedisListPipeline:
    """Appends every item to the list `<spider>:books`. The item is in Redis when `process_item` returns."""

    def __init__(self, server, key):
        self.server = server
        self.key = key

    @classmethod
    def from_crawler(cls, crawler):
        return cls(get_redis_from_settings(crawler.settings), f"{crawler.spidercls.name}:books")

    def process_item(self, item):
        self.server.rpush(self.key, json.dumps(ItemAdapter(item).asdict()))
        return item
