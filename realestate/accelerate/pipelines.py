"""The manager of the item pipelines."""

from collections.abc import Coroutine
from functools import lru_cache
from typing import Any

from scrapy.crawler import Crawler
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from twisted.internet.defer import Deferred

from realestate.accelerate.methods import Method, inspected


class Pipelines(ItemPipelineManager):
    """Scrapy's, with the methods of the pipelines inspected once."""

    _methods: tuple[Method, ...] | None = None

    async def process_item_async(self, item: Any) -> Any:
        if self._methods is None:
            assert isinstance(self.crawler, Crawler)
            self._methods = inspected(self.methods["process_item"], self.crawler)
        for method, is_async in self._methods:
            item = method(item)
            if is_async:
                item = await item
            elif _is_awaitable(item.__class__):
                item = await ensure_awaitable(item)
        return item


@lru_cache(maxsize=256)
def _is_awaitable(kind: type) -> bool:
    return issubclass(kind, Deferred | Coroutine)
