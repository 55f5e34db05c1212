"""The methods of middlewares and pipelines, inspected once."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from scrapy.crawler import Crawler


class Method(NamedTuple):
    """What to call, and whether its result must always be awaited."""

    call: Callable[..., Any]
    is_async: bool


def inspected(methods: Iterable[Any], crawler: Crawler) -> tuple[Method, ...]:
    """The methods in their order. Old components that have a parameter `spider` get it."""
    return tuple(
        Method(_with_spider(method, crawler), inspect.iscoroutinefunction(method)) for method in methods if method
    )


def _with_spider(method: Callable[..., Any], crawler: Crawler) -> Callable[..., Any]:
    parameter = inspect.signature(method).parameters.get("spider")
    if parameter is None or parameter.default is not parameter.empty:
        return method
    return lambda *args, **kwargs: method(*args, **kwargs, spider=crawler.spider)
