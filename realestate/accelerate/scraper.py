"""A page through the spider, and its callback's output, one after the other.

Scrapy starts a hundred tasks and a queue for each page, so that items can be processed side by side. Here one task
handles the output in order.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable
from functools import lru_cache
from typing import Any

from scrapy import Request
from scrapy.core import scraper, spidermw
from scrapy.http import Response
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import _process_pending_io
from scrapy.utils.python import MutableAsyncChain
from twisted.python.failure import Failure


class SpiderMiddlewares(spidermw.SpiderMiddlewareManager):
    """Scrapy's manager, without its iterators around a callback for errors that no middleware would handle."""

    async def _process_callback_output(self, response: Response, result: AsyncIterator[Any]) -> Any:
        outputs = self.methods["process_spider_output"]
        last = outputs[-1] if outputs else None
        if last is None or last in self._mw_methods_requiring_spider or any(list(outputs)[:-1]):
            return await super()._process_callback_output(response, result)
        # Only the middleware nearest to the engine reads the output. No other could handle what it raises.
        recovered: MutableAsyncChain[Any] = MutableAsyncChain()
        caught = self._evaluate_iterable(response, result, 0, recovered)
        return MutableAsyncChain(last(response=response, result=caught), recovered)


class Scraper(scraper.Scraper):
    """Scrapy's scraper. `accelerate.engine.take_over` puts it in place."""

    async def scraped(self, result: Response | Failure, request: Request) -> None:
        """Like `enqueue_scrape`, without a queue."""
        assert self.slot is not None
        self.slot.add_response_request(result, request)
        self.slot.next_response_request_deferred()
        try:
            await self._scrape(result, request)
        finally:
            self.slot.finish_response(result, request)
            self._check_if_closing()

    async def call_spider_async(
        self, result: Response | Failure, request: Request
    ) -> Iterable[Any] | AsyncIterator[Any]:
        """Like Scrapy's, without its checks of the callback's output if the callback is an async generator."""
        own_request = result.request or request if isinstance(result, Response) else request
        callback = own_request.callback
        if not isinstance(result, Response) or callback is None or not _is_async_generator(callback):
            return await super().call_spider_async(result, request)
        await _process_pending_io()
        return callback(result, **own_request.cb_kwargs)  # type: ignore[no-any-return]

    async def handle_spider_output_async(
        self, result: Iterable[Any] | AsyncIterator[Any], request: Request, response: Response | Failure
    ) -> None:
        """Like Scrapy's, one after the other."""
        try:
            async for each in result if isinstance(result, AsyncIterator) else as_async_generator(result):
                if isinstance(each, Request):
                    self.crawler.engine.crawl(each)
                elif each is not None:
                    await self.start_itemproc_async(each, response=response)
        except Exception:
            self.handle_spider_error(Failure(), request, response)  # type: ignore[no-untyped-call]


def _is_async_generator(callback: Callable[..., Any]) -> bool:
    return _is_async_generator_function(getattr(callback, "__func__", callback))


@lru_cache(maxsize=1024)
def _is_async_generator_function(function: Callable[..., Any]) -> bool:
    return inspect.isasyncgenfunction(function)
