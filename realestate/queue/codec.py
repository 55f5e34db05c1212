"""How a request is stored in Redis: as data, never as code. No value in Redis can make a worker run code."""

from collections.abc import Mapping
from typing import Any

import msgspec
from scrapy import Request, Spider

from realestate.queue.plain_urls import request_to

#: The first byte of every value. It changes with the format, so that workers of two versions cannot misread a value.
VERSION = b"\x01"
#: The longest request that we know has 4 KB. A longer value than this is refused.
MAX_BYTES = 256 * 1024

#: The parts of a request that are stored. A value with any other part is refused.
_TRAVELS = frozenset(
    {"url", "method", "headers", "body", "cookies", "meta", "cb_kwargs", "priority", "dont_filter"}
    | {"callback", "errback"}
)
#: Methods a stored request may call; a portal's callbacks keep to these prefixes.
_CALLABLE = ("read_", "parse_", "on_")


class MalformedRequest(ValueError):
    """A value in the queue that is no request of ours."""


class NotShareable(ValueError):
    """A request no other process could run: `scrapy shell`'s, whose callback is not the spider's, or one that
    carries an object."""


def encode(request: Request, spider: Spider, *, meta: Mapping[str, Any] | None = None) -> bytes:
    """The request as bytes. If `meta` is given, it is stored instead of the request's own."""
    if type(request) is not Request:
        raise NotShareable(f"only scrapy.Request can be stored in the queue, not {type(request).__name__}")
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
        "callback": _name(request.callback, spider),
        "errback": _name(getattr(request.errback, "wrapped", request.errback), spider),
    }
    try:
        data = VERSION + msgspec.msgpack.encode({name: value for name, value in parts.items() if value})
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotShareable(str(error)) from error
    if len(data) > MAX_BYTES:
        raise NotShareable(f"the request has {len(data)} bytes, more than the limit of {MAX_BYTES}")
    return data


def decode(data: bytes, spider: Spider) -> Request:
    if data[:1] != VERSION or len(data) > MAX_BYTES:
        raise MalformedRequest(f"not a request of this version: {data[:20]!r}")
    try:
        parts = msgspec.msgpack.decode(data[1:], type=dict[str, Any])
        if unknown := parts.keys() - _TRAVELS:
            raise MalformedRequest(f"unknown parts: {', '.join(sorted(unknown))}")
        for role in ("callback", "errback"):
            if role in parts:
                parts[role] = _method(spider, parts[role])
        return request_to(**parts)
    except (msgspec.MsgspecError, TypeError, ValueError, AttributeError) as error:
        raise MalformedRequest(str(error)) from error


def _name(method: Any, spider: Spider) -> str | None:
    if method is None:
        return None
    name: str = getattr(method, "__name__", "")
    function = getattr(method, "__func__", None)
    if function is None or getattr(type(spider), name, None) is not function:
        raise NotShareable(f"{method} is no method of {spider}")
    return name


def _method(spider: Spider, name: object) -> Any:
    if not isinstance(name, str) or not name.startswith(_CALLABLE) or not hasattr(type(spider), name):
        raise MalformedRequest(f"{spider.name} has no callback {name!r}")
    return getattr(spider, name)
