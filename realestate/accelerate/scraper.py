"""A page through the spider, and what its callback yields, one after the other.

Scrapy starts two tasks and a queue for each page, so that items can be processed side by side, and reads a callback
ahead of what it has handed on. Here nothing is read ahead: when a callback is over, the engine has had each of its
requests and the pipelines have let go of each of its items. That is what leases and snapshots are built on.

A spider middleware may have two methods more than Scrapy knows, called for each page of which something is read:

    def page_gives(self, response, each): "An item or a request on its way to the pipelines or the engine."
    def page_ends(self, response, error): "The callback is over; `error` is what it raised, if it did. May be async."

They come after all middlewares that change, drop or add what a callback yields, the nearest to the spider first.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import lru_cache
from typing import Any

from scrapy import Request
from scrapy.core import scraper, spidermw
from scrapy.http import Response
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import _process_pending_io
from twisted.python.failure import Failure

Gives = Callable[[Response, Any], None]
Ends = Callable[[Response, Exception | None], Awaitable[None] | None]


class SpiderMiddlewares(spidermw.SpiderMiddlewareManager):
    """Scrapy's, without its seven generators around a callback when no middleware wants to see what it yields."""

    async def _process_callback_output(self, response: Response, result: AsyncIterator[Any]) -> Any:
        if any(self.methods["process_spider_output"]):
            return await super()._process_callback_output(response, result)
        return self._whole(response, result)

    async def _whole(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            async for each in result:
                yield each
        except Exception as error:
            async for each in self._process_spider_exception(response, error):
                yield each


class Scraper(scraper.Scraper):
    """Scrapy's, once `lean.engine` has put it in its place."""

    _gives: tuple[Gives, ...] = ()
    _ends: tuple[Ends, ...] = ()

    def look(self) -> None:
        """Which middlewares there are never changes."""
        inner_first = self.spidermw.middlewares[::-1]
        self._gives = tuple(each.page_gives for each in inner_first if hasattr(each, "page_gives"))
        self._ends = tuple(each.page_ends for each in inner_first if hasattr(each, "page_ends"))

    async def scraped(self, result: Response | Failure, request: Request) -> None:
        """`enqueue_scrape` without what waits for it."""
        assert self.slot is not None
        self.slot.add_response_request(result, request)
        self.slot.next_response_request_deferred()
        try:
            await self._scrape(result, request)
        finally:
            self.slot.finish_response(result, request)
            self._check_if_closing()

    async def _scrape(self, result: Response | Failure, request: Request) -> None:
        if not isinstance(result, Response):
            await super()._scrape(result, request)
            return
        error: Exception | None = None
        try:
            output = await self.spidermw.scrape_response_async(self.call_spider_async, result, request)
            await self._handed_on(output, result, self._gives)
        except Exception as raised:
            error = raised
            self.handle_spider_error(Failure(), request, result)  # type: ignore[no-untyped-call]
        for ends in self._ends:
            if (waiting := ends(result, error)) is not None:
                await waiting

    async def call_spider_async(
        self, result: Response | Failure, request: Request
    ) -> Iterable[Any] | AsyncIterator[Any]:
        """What an async generator gives needs no looking at."""
        asked = result.request or request if isinstance(result, Response) else request
        callback = asked.callback
        if not isinstance(result, Response) or callback is None or not _is_async_generator(callback):
            return await super().call_spider_async(result, request)
        await _process_pending_io()
        return callback(result, **asked.cb_kwargs)  # type: ignore[no-any-return]

    async def handle_spider_output_async(
        self, result: Iterable[Any] | AsyncIterator[Any], request: Request, response: Response | Failure
    ) -> None:
        """Of an errback."""
        try:
            await self._handed_on(result, response)
        except Exception:
            self.handle_spider_error(Failure(), request, response)  # type: ignore[no-untyped-call]

    async def _handed_on(
        self, result: Iterable[Any] | AsyncIterator[Any], response: Response | Failure, told: tuple[Gives, ...] = ()
    ) -> None:
        engine = self.crawler.engine
        async for each in result if isinstance(result, AsyncIterator) else as_async_generator(result):
            if each is None:
                continue
            for gives in told:
                gives(response, each)  # type: ignore[arg-type]
            if isinstance(each, Request):
                engine.crawl(each)
            else:
                await self.start_itemproc_async(each, response=response)


def _is_async_generator(callback: Callable[..., Any]) -> bool:
    return _is_async_generator_function(getattr(callback, "__func__", callback))


@lru_cache(maxsize=1024)
def _is_async_generator_function(function: Callable[..., Any]) -> bool:
    return inspect.isasyncgenfunction(function)
