"""Requests that a fleet of version 0.1 has left in Redis are still understood."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler

from realestate.crawling.watermark import SearchProgress
from realestate.queue.codec import decode
from realestate.spiders.bina import BinaSpider

#: Encoded by version 0.1.
FURTHER_PAGE = (
    "AYSjdXJsu2h0dHBzOi8vYmluYS5hei9ncmFwaHFsP3g9MaRtZXRhhaVzdGFnZahkaXNjb3ZlcqNqb2KiajGkbW9kZatpbmNyZW1lbnRhbKZzZWFy"
    "Y2jZJGh0dHBzOi8vYmluYS5hei9pdGVtcy9hbGw/Y3Vyc29yPWFiY6R3YWxrlM8AAAGLz+VoAJIBApIDBAGoY2FsbGJhY2urcmVhZF9zZWFyY2in"
    "ZXJyYmFja6pvbl9mYWlsdXJl"
)
PART_OF_A_SEARCH = (
    "AYWjdXJsu2h0dHBzOi8vYmluYS5hei9ncmFwaHFsP3g9MqRtZXRhhaVzdGFnZaRwbGFuo2pvYqJqMaRtb2RlpGZ1bGymc2VhcmNo2SVodHRwczov"
    "L2JpbmEuYXovaXRlbXMvYWxsP3ByaWNlX3RvPTEwp3BhcnRfb2a5aHR0cHM6Ly9iaW5hLmF6L2l0ZW1zL2FsbKhwcmlvcml0eRSoY2FsbGJhY2ur"
    "cmVhZF9zZWFyY2inZXJyYmFja6pvbl9mYWlsdXJl"
)
LISTING = (
    "AYajdXJsvWh0dHBzOi8vYmluYS5hei9pdGVtcy82MTUwMDA1pG1ldGGEpXN0YWdlp2V4dHJhY3Sjam9iomoxpG1vZGWlc3dlZXCqdmFsaWRhdG9y"
    "c4SjcmVmpzYxNTAwMDWjdXJsvWh0dHBzOi8vYmluYS5hei9pdGVtcy82MTUwMDA1pGV0YWejInYirWxhc3RfbW9kaWZpZWTAqWNiX2t3YXJnc4Gr"
    "cmVudF9wZXJpb2SjZGF5qHByaW9yaXR5CqhjYWxsYmFja6lyZWFkX3BhZ2WnZXJyYmFja6pvbl9mYWlsdXJl"
)
TELEPHONES = (
    "AYWjdXJs2ShodHRwczovL2JpbmEuYXovaXRlbXMvNjE1MDAwNS9waG9uZXM/YT0xpG1ldGGDpXN0YWdlp2V4dHJhY3Sjam9iomoxp3ByaXZhdGXD"
    "qWNiX2t3YXJnc4KjcmVmpzYxNTAwMDWjdXJsvWh0dHBzOi8vYmluYS5hei9pdGVtcy82MTUwMDA1qGNhbGxiYWNrr3JlYWRfdGVsZXBob25lc6dl"
    "cnJiYWNrqm9uX2ZhaWx1cmU="
)


@pytest.fixture
def spider(make_crawler: Callable[..., Crawler]) -> BinaSpider:
    crawler = make_crawler(BinaSpider)
    spider = crawler.spider = BinaSpider.from_crawler(crawler)
    return spider


def decoded(encoded: str, spider: BinaSpider) -> Request:
    return decode(base64.b64decode(encoded), spider)


@pytest.mark.parametrize(
    ("encoded", "callback"),
    [
        (FURTHER_PAGE, "read_search"),
        (PART_OF_A_SEARCH, "read_search"),
        (LISTING, "read_page"),
        (TELEPHONES, "read_telephones"),
    ],
)
def test_its_callbacks_still_have_their_names(spider: BinaSpider, encoded: str, callback: str) -> None:
    request = decoded(encoded, spider)
    assert request.callback == getattr(spider, callback)
    assert request.errback == spider.on_failure


def test_the_name_before_read_page_is_known_too(spider: BinaSpider) -> None:
    older = base64.b64decode(LISTING).replace(b"\xa9read_page", b"\xacread_listing")
    assert decode(older, spider).callback == spider.read_page


def test_the_progress_of_a_search_is_understood(spider: BinaSpider) -> None:
    meta = decoded(FURTHER_PAGE, spider).meta
    progress = SearchProgress.from_meta(meta["walk"])
    assert progress == SearchProgress(until=1_700_000_000_000, first=(1, 2), previous=(3, 4), quiet=1)
    assert meta["search"] == "https://bina.az/items/all?cursor=abc"


def test_a_part_names_its_search_and_a_listing_its_hints(spider: BinaSpider) -> None:
    assert decoded(PART_OF_A_SEARCH, spider).meta["part_of"] == "https://bina.az/items/all"
    listing = decoded(LISTING, spider)
    hints: dict[str, Any] = listing.cb_kwargs
    assert hints == {"rent_period": "day"}
    assert listing.meta["validators"]["ref"] == "6150005"
    assert decoded(TELEPHONES, spider).cb_kwargs == {"ref": "6150005", "url": "https://bina.az/items/6150005"}
