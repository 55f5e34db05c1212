import scrapy


class Book(scrapy.Item):
    url = scrapy.Field()
    title = scrapy.Field()
    shelf = scrapy.Field()
