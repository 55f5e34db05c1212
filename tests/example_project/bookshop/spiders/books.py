from scrapy_redis.spiders import RedisSpider

from bookshop.items import Book


class BooksSpider(RedisSpider):
    """Follows the pages of the shop to the books. Seeds are in a list of its own."""

    name = "books"
    redis_key = "bookshop:start_urls"

    def __init__(self, shelf="all", **kwargs):
        super().__init__(**kwargs)
        self.shelf = shelf

    def parse(self, response):
        for link in response.css("a.book::attr(href)").getall():
            yield response.follow(link, callback=self.book)
        for link in response.css("a.page::attr(href)").getall():
            yield response.follow(link)

    def book(self, response):
        yield Book(url=response.url, title=response.css("h1::text").get(), shelf=self.shelf)
