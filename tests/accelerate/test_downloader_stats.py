"""The faster statistics count what Scrapy's own middleware counts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy.downloadermiddlewares import stats
from scrapy.exceptions import DownloadTimeoutError, NotConfigured
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from realestate.accelerate.downloader_stats import DownloaderStats

URLS = (
    "https://www.immoweb.be/en/classified/21000001",
    "http://127.0.0.1:8080/a/",
    "https://www.immoweb.be",
    "https://www.immoweb.be/",
    "https://user:secret@WWW.Immoweb.be:8443/a;b?c=d&e=%20f#g",
    "https://example.org/ünïcode?q=ä",
)
HEADERS = st.dictionaries(
    st.sampled_from(("Accept", "user-agent", "X-Own")),
    st.sampled_from(("a", "text/html", ["one", "two"], [])),
)
TRAFFIC = st.fixed_dictionaries(
    {
        "url": st.sampled_from(URLS),
        "method": st.sampled_from(("GET", "POST", "HEAD")),
        "asked": HEADERS,
        "got": HEADERS,
        "body": st.sampled_from((b"", b"a body")),
        "status": st.sampled_from((200, 301, 404, 429, 503, 599)),
        "error": st.sampled_from((None, DownloadTimeoutError("slow"), OSError("away"))),
    }
)


@given(st.lists(TRAFFIC, max_size=5))
def test_the_same_traffic_gives_the_same_statistics(traffic: list[dict[str, Any]]) -> None:
    counted = []
    for kind in (DownloaderStats, stats.DownloaderStats):
        crawler = get_crawler(Spider)
        middleware = kind.from_crawler(crawler)
        for each in traffic:
            request = Request(each["url"], method=each["method"], headers=each["asked"], body=each["body"])
            assert middleware.process_request(request) is None
            if each["error"]:
                middleware.process_exception(request, each["error"])
            else:
                response = HtmlResponse(request.url, status=each["status"], headers=each["got"], body=each["body"])
                assert middleware.process_response(request, response) is response
        assert crawler.stats is not None
        counted.append(crawler.stats.get_stats())
    assert counted[0] == counted[1]


def test_the_setting_of_scrapy_switches_them_off() -> None:
    with pytest.raises(NotConfigured):
        DownloaderStats.from_crawler(get_crawler(Spider, {"DOWNLOADER_STATS": False}))
