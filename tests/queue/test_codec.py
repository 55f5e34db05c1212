import os
import pickle
from typing import Any

import msgspec
import pytest
from scrapy import FormRequest, Request

from realestate.queue.codec import MAX_BYTES, VERSION, MalformedRequest, NotShareable, decode, encode
from realestate.spiders.immoweb import ImmowebSpider


@pytest.fixture
def spider() -> ImmowebSpider:
    return ImmowebSpider()


def test_a_request_comes_back_as_it_was(spider: ImmowebSpider) -> None:
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


def test_a_request_of_another_process_cannot_travel(spider: ImmowebSpider) -> None:
    with pytest.raises(NotShareable):
        encode(Request("https://x.example/", callback=print), spider)


def test_a_request_that_carries_an_object_cannot_travel(spider: ImmowebSpider) -> None:
    with pytest.raises(NotShareable, match="object"):
        encode(Request("https://x.example/", meta={"thing": object()}), spider)


def test_a_huge_request_cannot_travel(spider: ImmowebSpider) -> None:
    with pytest.raises(NotShareable, match="bytes"):
        encode(Request("https://x.example/", body=b"x" * MAX_BYTES), spider)


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
def test_only_plain_requests_travel(spider: ImmowebSpider) -> None:
    with pytest.raises(NotShareable, match="FormRequest"):
        encode(FormRequest("https://x.example/"), spider)


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
    "truncated": packed({"url": "https://x.example/"})[:-3],
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_value_is_data_never_code(spider: ImmowebSpider, value: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode(value, spider)
