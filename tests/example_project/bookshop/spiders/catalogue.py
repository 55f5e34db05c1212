from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule
from scrapy_redis.spiders import RedisCrawlSpider


class CatalogueSpider(RedisCrawlSpider):
    """The same shop by rules. Seeds are in `catalogue:start_urls`."""

    name = "catalogue"
    rules = (
        Rule(LinkExtractor(allow="/page/")),
        Rule(LinkExtractor(allow="/book/"), callback="parse_book"),
    )

    def __init__(self, shelf="all", **kwargs):
        super().__init__(**kwargs)
        self.shelf = shelf

    def parse_book(self, response):
        return {"url": response.url, "title": response.css("h1::text").get(), "shelf": self.shelf}
