import os
import pickle
from typing import Any

import msgspec
import pytest
from scrapy import FormRequest, Request
from scrapy.http import JsonRequest
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule
from scrapy_redis.spiders import RedisCrawlSpider

from realestate.queue.codec import MAX_BYTES, VERSION, MalformedRequest, NotShareable, decode, encode
from realestate.spiders.immoweb import ImmowebSpider


@pytest.fixture
def spider() -> ImmowebSpider:
    return ImmowebSpider()


def test_a_request_is_decoded_as_it_was_encoded(spider: ImmowebSpider) -> None:
    request = Request(
        "https://www.immoweb.be/x?page=2",
        callback=spider.read_listing,
        errback=spider.on_failure,
        method="POST",
        headers={"Accept": "application/json"},
        body=b"\x00\xffraw",
        meta={"job": "j", "stage": "extract"},
        cb_kwargs={"rent_period": "month"},
        priority=7,
        dont_filter=True,
    )
    again = decode(encode(request, spider), spider)
    assert again.to_dict(spider=spider) == request.to_dict(spider=spider)


def test_a_request_with_a_foreign_callback_cannot_be_stored(spider: ImmowebSpider) -> None:
    with pytest.raises(NotShareable):
        encode(Request("https://x.example/", callback=print), spider)


def test_a_request_that_carries_an_object_cannot_be_stored(spider: ImmowebSpider) -> None:
    with pytest.raises(NotShareable, match="object"):
        encode(Request("https://x.example/", meta={"thing": object()}), spider)


def test_a_huge_request_cannot_be_stored(spider: ImmowebSpider) -> None:
    with pytest.raises(NotShareable, match="bytes"):
        encode(Request("https://x.example/", body=b"x" * MAX_BYTES), spider)


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
def test_form_and_json_requests_are_stored_as_plain_requests(spider: ImmowebSpider) -> None:
    """scrapy-redis makes a FormRequest of every seed."""
    form = FormRequest("https://x.example/", formdata={"a": "1"}, flags=["mine"])
    for request in (form, JsonRequest("https://x.example/", data={"a": 1})):
        again = decode(encode(request, spider), spider)
        assert type(again) is Request
        sent = (request.url, request.method, request.body, request.headers, request.flags)
        assert (again.url, again.method, again.body, again.headers, again.flags) == sent


class OwnRequest(Request):
    """A request of another class. A stored value must not name a class."""


def test_other_kinds_of_requests_are_not_stored(spider: ImmowebSpider) -> None:
    with pytest.raises(NotShareable, match="OwnRequest"):
        encode(OwnRequest("https://x.example/"), spider)


class LinkText(str):
    """A subclass of `str`, as lxml returns."""


def test_a_subclass_of_text_is_stored_as_text(spider: ImmowebSpider) -> None:
    again = decode(encode(Request("https://x.example/", meta={"link_text": LinkText("next")}), spider), spider)
    assert again.meta == {"link_text": "next"}
    assert type(again.meta["link_text"]) is str


class AnySpider(RedisCrawlSpider):  # type: ignore[misc]
    name = "any"
    rules = (Rule(LinkExtractor(), callback="page"), Rule(LinkExtractor(), callback="page", errback="failed"))

    def page(self, response: Any) -> None: ...

    def failed(self, failure: Any) -> None: ...


def test_any_method_of_an_ordinary_spider_can_be_a_callback() -> None:
    spider = AnySpider()
    for name in ("page", "parse", "_parse", "_callback", "parse_start_url"):
        request = Request("https://x.example/", callback=getattr(spider, name))
        assert decode(encode(request, spider), spider).callback == getattr(spider, name)


@pytest.mark.parametrize("name", ["__init__", "close", "setup_redis", "start", "rules", "_set_crawler", "nothing"])
def test_a_stored_request_cannot_call_a_method_that_is_not_a_callback(name: str) -> None:
    with pytest.raises(MalformedRequest):
        decode(packed({"url": "https://x.example/", "callback": name}), AnySpider())


@pytest.mark.parametrize(("rule", "kept"), [(0, False), (1, True)])
def test_the_errback_of_a_rule_is_stored_only_if_there_is_one(rule: int, kept: bool) -> None:
    """A CrawlSpider gives every request an errback; without one of the rule it would only hide the failure."""
    spider = AnySpider()
    request = Request("https://x.example/", spider._callback, errback=spider._errback, meta={"rule": rule})
    assert (decode(encode(request, spider), spider).errback is not None) is kept


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo should never run",)


def packed(value: Any) -> bytes:
    return VERSION + msgspec.msgpack.encode(value)


HOSTILE = {
    "empty": b"",
    "garbage": os.urandom(64),
    "a pickle": pickle.dumps({"url": "https://x.example/"}),
    "an evil pickle": pickle.dumps(Evil()),
    "json": b'{"url": "https://x.example/"}',
    "a list": packed([1, 2]),
    "no url": packed({"method": "GET"}),
    "url is a number": packed({"url": 5}),
    "no scheme": packed({"url": "no scheme"}),
    "names a class": packed({"url": "https://x.example/", "_class": "os.system"}),
    "calls a private method": packed({"url": "https://x.example/", "callback": "__init__"}),
    "calls what is not there": packed({"url": "https://x.example/", "callback": "parse_nothing"}),
    "calls another method": packed({"url": "https://x.example/", "callback": "setup_redis"}),
    "priority is text": packed({"url": "https://x.example/", "priority": "high"}),
    "meta is a number": packed({"url": "https://x.example/", "meta": 5}),
    "another version": b"\x02" + packed({"url": "https://x.example/"})[1:],
    "huge": packed({"url": "https://x.example/" + "x" * MAX_BYTES}),
    "deeply nested lists": VERSION + b"\x81\xa3url" + b"\x91" * 100_000,
    "deeply nested maps": VERSION + b"\x81\xa4meta" + b"\x81\xa1a" * 80_000 + b"\xc0",
    "truncated": packed({"url": "https://x.example/"})[:-3],
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_value_is_never_executed(spider: ImmowebSpider, value: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode(value, spider)
