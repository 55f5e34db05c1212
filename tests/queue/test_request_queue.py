import os
import pickle
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from redis import Redis
from scrapy import FormRequest, Request

from realestate.queue import keys
from realestate.queue.request_queue import MalformedRequest, NotShareable, RequestQueue, decode, encode
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


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
def test_only_plain_requests_travel(spider: ImmowebSpider) -> None:
    with pytest.raises(NotShareable, match="FormRequest"):
        encode(FormRequest("https://x.example/"), spider)


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo should never run",)


HOSTILE = {
    "empty": b"",
    "garbage": os.urandom(64),
    "a pickle": pickle.dumps({"url": "https://x.example/"}),
    "an evil pickle": pickle.dumps(Evil()),
    "json": b'{"url": "https://x.example/"}',
    "a list": msgspec.msgpack.encode([1, 2]),
    "no url": msgspec.msgpack.encode({"method": "GET"}),
    "url is a number": msgspec.msgpack.encode({"url": 5}),
    "no scheme": msgspec.msgpack.encode({"url": "no scheme"}),
    "names a class": msgspec.msgpack.encode({"url": "https://x.example/", "_class": "os.system"}),
    "calls a private method": msgspec.msgpack.encode({"url": "https://x.example/", "callback": "__init__"}),
    "calls what is not there": msgspec.msgpack.encode({"url": "https://x.example/", "callback": "parse_nothing"}),
    "calls another method": msgspec.msgpack.encode({"url": "https://x.example/", "callback": "setup_redis"}),
    "priority is text": msgspec.msgpack.encode({"url": "https://x.example/", "priority": "high"}),
    "meta is a number": msgspec.msgpack.encode({"url": "https://x.example/", "meta": 5}),
    "truncated": msgspec.msgpack.encode({"url": "https://x.example/"})[:-3],
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_value_is_data_never_code(spider: ImmowebSpider, value: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode(value, spider)


def test_the_highest_priority_is_taken_first(server: Redis, spider: ImmowebSpider) -> None:
    queue = RequestQueue(server, spider, keys.requests("immoweb"))
    for priority in (0, 20, -5, 10):
        queue.push(Request(f"https://x.example/{priority}", priority=priority))
    assert len(queue) == 4
    taken = [decode(data, spider).priority for data in _all(queue)]
    assert taken == [20, 10, 0, -5]
    assert queue.pop() is None


def _all(queue: RequestQueue) -> Iterator[bytes]:
    while (data := queue.pop()) is not None:
        yield data
