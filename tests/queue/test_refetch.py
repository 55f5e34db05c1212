"""A page that cannot be parsed is fetched again before the result counts."""

from collections.abc import Callable

from scrapy import Request
from scrapy.crawler import Crawler

from realestate.queue.engine import LEASE
from realestate.queue.refetch import PROXY_ID, SENT, SUSPECT_PROXY, TRIES, UNREADABLE, refetch_request
from realestate.spiders.immoweb import ImmowebSpider

URL = "https://www.immoweb.be/en/classified/21000001"


def test_it_is_fetched_again_twice_beside_retries_for_other_reasons(
    make_crawler: Callable[..., Crawler],
) -> None:
    crawler = make_crawler(ImmowebSpider)
    spider = crawler.spider = ImmowebSpider.from_crawler(crawler)
    request = Request(URL, meta={LEASE: "k", "retry_times": 7, PROXY_ID: "a", SENT: 5.0})
    sent = []
    while again := refetch_request(request, spider):
        sent.append(again)
        request = again
    assert [each.meta[UNREADABLE] for each in sent] == list(range(1, TRIES + 1))
    assert [each.meta["retry_times"] for each in sent] == [8, 9]
    assert sent[0].meta[SUSPECT_PROXY] == ["a", 5.0]


def test_outside_the_fleet_a_page_is_not_fetched_again(make_crawler: Callable[..., Crawler]) -> None:
    crawler = make_crawler(ImmowebSpider)
    assert refetch_request(Request(URL), ImmowebSpider.from_crawler(crawler)) is None
