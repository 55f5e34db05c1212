"""A page that cannot be read is doubted before it is believed."""

from collections.abc import Callable

from scrapy import Request
from scrapy.crawler import Crawler

from realestate.queue.engine import LEASE
from realestate.queue.suspicion import EXIT, MISLED, SENT, TRIES, UNREAD, doubted
from realestate.spiders.immoweb import ImmowebSpider

URL = "https://www.immoweb.be/en/classified/21000001"


def test_it_is_asked_for_again_so_often_whatever_else_it_was_tried_again_for(
    make_crawler: Callable[..., Crawler],
) -> None:
    crawler = make_crawler(ImmowebSpider)
    spider = crawler.spider = ImmowebSpider.from_crawler(crawler)
    request = Request(URL, meta={LEASE: "k", "retry_times": 7, EXIT: "a", SENT: 5.0})
    asked = []
    while again := doubted(request, spider):
        asked.append(again)
        request = again
    assert [each.meta[UNREAD] for each in asked] == list(range(1, TRIES + 1))
    assert [each.meta["retry_times"] for each in asked] == [8, 9]
    assert asked[0].meta[MISLED] == ["a", 5.0]


def test_outside_the_fleet_a_page_is_taken_as_it_is(make_crawler: Callable[..., Crawler]) -> None:
    crawler = make_crawler(ImmowebSpider)
    assert doubted(Request(URL), ImmowebSpider.from_crawler(crawler)) is None
