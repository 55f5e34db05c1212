"""How a request is stored in Redis: as data, never as code. No value in Redis can make a worker run code."""

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest, XmlRpcRequest
from scrapy.spiders import CrawlSpider
from scrapy_redis.spiders import RedisCrawlSpider

from realestate.queue.plain_urls import request_to
from realestate.queue.schemes import Schemes

#: The first byte of every value. It changes with the format, so that workers of two versions cannot misread a value.
VERSION = b"\x01"
#: The longest request that we know has 4 KB. A longer value than this is refused.
MAX_BYTES = 256 * 1024

#: The parts of a request that are stored. A value with any other part is refused.
_TRAVELS = frozenset(
    {"url", "method", "headers", "body", "cookies", "meta", "cb_kwargs", "priority", "dont_filter", "flags"}
    | {"callback", "errback"}
)
#: These differ from a plain request only in how they are made: their URL, body and headers say it all.
_LIKE_PLAIN = (Request, FormRequest, JsonRequest, XmlRpcRequest)
#: Callbacks that Scrapy's own spiders have. No stored request may call any other method of theirs.
_SCRAPYS_CALLBACKS = frozenset({"parse", "_parse", "parse_start_url", "_callback", "_errback"})
_NO_CALLBACKS = frozenset(dir(RedisCrawlSpider)) - _SCRAPYS_CALLBACKS
_ONLY_WEB = Schemes()


class MalformedRequest(ValueError):
    """A value in the queue that is not a request of this project."""


class NotShareable(ValueError):
    """A request that no other process could run: its callback is not a method of the spider (as in `scrapy shell`), or
    its meta holds an object."""


_PLAIN_KINDS: tuple[type[Any], ...] = (str, bytes, int, float, dict, list, tuple)


def _plain(value: Any) -> Any:
    """The plain value of a subclass, such as the text of a link that lxml found."""
    for kind in _PLAIN_KINDS:
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError(f"a {type(value).__name__} in meta or cb_kwargs")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)


def encode(request: Request, spider: Spider, *, meta: Mapping[str, Any] | None = None) -> bytes:
    """The request as bytes. If `meta` is given, it is stored instead of the request's meta."""
    if type(request) not in _LIKE_PLAIN:
        raise NotShareable(f"a {type(request).__name__} cannot be stored; use Request, FormRequest or JsonRequest")
    # Not `Request.to_dict`: it looks through all members of the spider, twice a request, which takes longer than
    # everything else between a page and Redis.
    parts = {
        "url": request.url,
        "method": request.method if request.method != "GET" else None,
        "headers": dict(request.headers),
        "body": request.body,
        "cookies": request.cookies,
        "meta": request.meta if meta is None else meta,
        "cb_kwargs": request.cb_kwargs,
        "priority": request.priority,
        "dont_filter": request.dont_filter,
        "flags": request.flags,
        "callback": _name(request.callback, spider),
        "errback": _name(_own_errback(request, spider), spider),
    }
    try:
        data = VERSION + _ENCODER.encode({name: value for name, value in parts.items() if value})
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError) as error:
        raise NotShareable(str(error)) from error
    if len(data) > MAX_BYTES:
        raise NotShareable(f"the request has {len(data)} bytes, more than the limit of {MAX_BYTES}")
    return data


def decode(data: bytes, spider: Spider, schemes: Schemes = _ONLY_WEB) -> Request:
    """The request. Raises MalformedRequest, also if the scheme of its URL is not one of `schemes`."""
    if data[:1] != VERSION or len(data) > MAX_BYTES:
        raise MalformedRequest(f"not a request of this version: {data[:20]!r}")
    try:
        parts = msgspec.msgpack.decode(data[1:], type=dict[str, Any])
        if unknown := parts.keys() - _TRAVELS:
            raise MalformedRequest(f"unknown parts: {', '.join(sorted(unknown))}")
        for role in ("callback", "errback"):
            if role in parts:
                parts[role] = _method(spider, parts[role])
        request = request_to(**parts)
        schemes.check(request.url)
        return request
    except (msgspec.MsgspecError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise MalformedRequest(str(error)) from error


def _name(method: Any, spider: Spider) -> str | None:
    if method is None:
        return None
    name: str = getattr(method, "__name__", "")
    function = getattr(method, "__func__", None)
    if function is None or getattr(type(spider), name, None) is not function:
        raise NotShareable(f"{method} is not a method of {spider}")
    return name


def _own_errback(request: Request, spider: Spider) -> Any:
    """The errback of the request, or None: a CrawlSpider whose rule has no errback gives one that hides failures."""
    errback = getattr(request.errback, "wrapped", request.errback)  # that of `LeasedErrback`
    if isinstance(spider, CrawlSpider) and errback == spider._errback:
        rule = spider._rules[request.meta["rule"]]
        return errback if rule.errback else None
    return errback


def _method(spider: Spider, name: object) -> Any:
    kind: Any = type(spider)
    if not isinstance(name, str) or not _may_be_called(kind, name):
        raise MalformedRequest(f"{spider.name} has no callback {name!r}")
    return getattr(spider, name)


@lru_cache(maxsize=1024)
def _may_be_called(spider: Any, name: str) -> bool:
    """Whether a stored request may call this method: a callback, and nothing else that a spider can do."""
    prefixes: tuple[str, ...] = getattr(spider, "callback_prefixes", ("",))
    is_callback = name.startswith(prefixes) and not name.startswith("__") and name not in _NO_CALLBACKS
    return is_callback and inspect.isfunction(getattr(spider, name, None))
