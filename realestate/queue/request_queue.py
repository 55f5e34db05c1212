"""The portal's queue in Redis, and how a request is written there."""

from typing import Any

import msgspec
from redis import Redis
from scrapy import Request, Spider
from scrapy_redis.queue import PriorityQueue

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


class RequestQueue(PriorityQueue):  # type: ignore[misc]
    """scrapy-redis' priority queue, with msgpack in place of pickle: a value from Redis is data, never code."""

    server: Redis
    spider: Spider
    key: str

    def push(self, request: Request) -> None:
        self.server.zadd(self.key, {encode(request, self.spider): -request.priority})

    def pop(self, timeout: int = 0) -> bytes | None:
        """The next request as it is stored; `decode` reads it. The timeout is scrapy-redis' and unused here too."""
        popped: Any = self.server.zpopmin(self.key)
        return popped[0][0] if popped else None


def encode(request: Request, spider: Spider) -> bytes:
    try:
        told = request.to_dict(spider=spider)
    except ValueError as error:
        raise NotShareable(str(error)) from error
    if "_class" in told:
        raise NotShareable(f"only plain requests travel, not {told['_class']}")
    try:
        return msgspec.msgpack.encode({name: told[name] for name in _TRAVELS if told[name]})
    except TypeError as error:
        raise NotShareable(str(error)) from error


def decode(data: bytes, spider: Spider) -> Request:
    try:
        told = msgspec.msgpack.decode(data, type=dict[str, Any])
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
