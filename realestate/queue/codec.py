"""How a request is written in Redis: data, never code, so that no value there can make a worker run anything."""

from typing import Any

import msgspec
from scrapy import Request, Spider

#: The first byte of every value; raised when its form changes, so that a fleet of two versions cannot misread.
VERSION = b"\x01"
#: The longest request we know of has 4 KB; a value beyond this is no request of ours.
MOST_BYTES = 256 * 1024

#: What travels. Anything else a stored value names is refused, so it can name no class and no code.
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


def encode(request: Request, spider: Spider) -> bytes:
    try:
        told = request.to_dict(spider=spider)
    except ValueError as error:
        raise NotShareable(str(error)) from error
    if "_class" in told:
        raise NotShareable(f"only plain requests travel, not {told['_class']}")
    try:
        data = VERSION + msgspec.msgpack.encode({name: told[name] for name in _TRAVELS if told[name]})
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotShareable(str(error)) from error
    if len(data) > MOST_BYTES:
        raise NotShareable(f"{len(data)} bytes are too many for a request")
    return data


def decode(data: bytes, spider: Spider) -> Request:
    if data[:1] != VERSION or len(data) > MOST_BYTES:
        raise MalformedRequest(f"no request of this version: {data[:20]!r}")
    try:
        told = msgspec.msgpack.decode(data[1:], type=dict[str, Any])
        if unknown := told.keys() - _TRAVELS:
            raise MalformedRequest(f"unknown parts: {', '.join(sorted(unknown))}")
        for role in ("callback", "errback"):
            if role in told:
                told[role] = _method(spider, told[role])
        return Request(**told)
    except (msgspec.MsgspecError, TypeError, ValueError, AttributeError) as error:
        raise MalformedRequest(str(error)) from error


def _method(spider: Spider, name: object) -> Any:
    if not isinstance(name, str) or not name.startswith(_CALLABLE) or not hasattr(type(spider), name):
        raise MalformedRequest(f"{spider.name} has no callback {name!r}")
    return getattr(spider, name)
