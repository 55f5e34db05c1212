"""Stock scrapy-redis: its scheduler and dupefilter, and a pipeline with one INSERT and COMMIT per listing."""

from typing import Any

import psycopg2
from scrapy.crawler import Crawler, CrawlerProcess

from bench.peers import plain
from bench.peers.plain import PlainSpider
from bench.peers.task import Task

TABLE = "stock_listings"
#: The columns of each portal's table: the fields that its reading gives.
FIELDS = {
    "immoweb": "ref url operation property_type subtype price area_m2 rooms bedrooms region city postal_code latitude "
    "longitude title description photos posted_at",
    "emlak": "ref url title price seller_type posted_at address point description photos property_type area_m2 rooms "
    "floor floors_total condition deed",
}


class StockSpider(PlainSpider):
    name = "stock"


class InsertPipeline:
    """As most pipelines do it. The table exists and is empty."""

    def __init__(self, store_url: str) -> None:
        self.connection = psycopg2.connect(store_url)
        self.cursor = self.connection.cursor()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "InsertPipeline":
        return cls(crawler.settings["STORE_URL"])

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        names = ", ".join(item)
        marks = ", ".join(["%s"] * len(item))
        self.cursor.execute(f"INSERT INTO {TABLE} ({names}) VALUES ({marks})", list(item.values()))
        self.connection.commit()
        return item


def create_table(store_url: str, portal: str) -> None:
    """With a primary key, so that no listing is stored twice."""
    columns = ", ".join(f"{name} {'text[]' if name == 'photos' else 'text'}" for name in FIELDS[portal].split())
    with psycopg2.connect(store_url) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
        cursor.execute(f"CREATE TABLE {TABLE} ({columns}, PRIMARY KEY (ref))")


def main() -> None:
    task = Task.given()
    process = CrawlerProcess(
        {
            **plain.SETTINGS,
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "REDIS_URL": task.redis_url,
            "STORE_URL": task.store_url,
            "ITEM_PIPELINES": {InsertPipeline: 300},
        }
    )
    process.crawl(StockSpider, task=task)
    process.start()


if __name__ == "__main__":
    main()
