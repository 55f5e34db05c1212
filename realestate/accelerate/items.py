"""An item through the pipelines."""

from collections.abc import Coroutine
from functools import lru_cache
from typing import Any

from scrapy.crawler import Crawler
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from twisted.internet.defer import Deferred

from realestate.accelerate.methods import Method, known


class Pipelines(ItemPipelineManager):
    """Scrapy's, with the pipelines' methods looked at once."""

    _known: tuple[Method, ...] | None = None

    async def process_item_async(self, item: Any) -> Any:
        if self._known is None:
            assert isinstance(self.crawler, Crawler)
            self._known = known(self.methods["process_item"], self.crawler)
        for method, is_async in self._known:
            item = method(item)
            if is_async:
                item = await item
            elif _is_waited_for(item.__class__):
                item = await ensure_awaitable(item)
        return item


@lru_cache(maxsize=256)
def _is_waited_for(kind: type) -> bool:
    return issubclass(kind, Deferred | Coroutine)
