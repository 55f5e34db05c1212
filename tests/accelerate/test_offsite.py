"""The same result as Scrapy's middleware for every URL, the first time and from the cache."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import offsite
from scrapy.exceptions import IgnoreRequest

from realestate.accelerate.downloader_middlewares import OffsiteMiddleware
from realestate.spiders.immoweb import ImmowebSpider

HOSTS = (
    "www.immoweb.be",
    "immoweb.be",
    "a.www.immoweb.be",
    "www.immoweb.bee",
    "evil.example",
    "www.immoweb.be:8080",
    "",
)
URLS = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(("http://", "https://", "ws://", "http://user:pw@")),
    st.sampled_from(HOSTS),
    st.sampled_from(("", "/", "?", "#", "?next=", "\\")),
    st.sampled_from(("", *HOSTS)),
    st.sampled_from(("", "/", "/www.immoweb.be/", "//www.immoweb.be")),
)


@pytest.fixture(scope="module")
def spider() -> ImmowebSpider:
    return ImmowebSpider()


@given(st.lists(URLS, min_size=1, max_size=20))
def test_the_same_urls_pass_as_with_scrapy(spider: ImmowebSpider, urls: list[str]) -> None:
    ours, scrapys = OffsiteMiddleware(None), offsite.OffsiteMiddleware(None)  # type: ignore[arg-type]
    for url in urls * 2:
        try:
            request = Request(url)
        except ValueError:  # not a URL
            continue
        assert ours.should_follow(request, spider) == scrapys.should_follow(request, spider), url


def test_domains_may_change(make_crawler: Callable[..., Crawler]) -> None:
    crawler = make_crawler(ImmowebSpider)
    crawler.spider = spider = ImmowebSpider.from_crawler(crawler)
    middleware = OffsiteMiddleware.from_crawler(crawler)
    request = Request("https://other.example/1")
    with pytest.raises(IgnoreRequest):
        middleware.process_request(request)
    spider.allowed_domains = ["other.example"]
    middleware.process_request(request)
    with pytest.raises(IgnoreRequest):
        middleware.process_request(Request("https://www.immoweb.be/1"))


def test_the_cache_of_hosts_has_a_limit(spider: ImmowebSpider) -> None:
    middleware = OffsiteMiddleware(None)  # type: ignore[arg-type]
    for number in range(3_000):
        middleware.should_follow(Request(f"https://{number}.example/"), spider)
    assert len(middleware._known) <= 1_000
