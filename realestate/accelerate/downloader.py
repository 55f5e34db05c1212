"""The downloader: a request through the middlewares, to the download handler, and back.

The rate limit was applied when the request was taken from the queue. Requests wait in Scrapy's download slots only if
Scrapy's own settings for that are used.
"""

from collections.abc import Coroutine
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.core import downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, ensure_awaitable
from twisted.internet.defer import Deferred

from realestate.accelerate.methods import inspected
from realestate.accelerate.signals import Signals

_PAGE_OR_REQUEST = (Response, Request)


class Downloader(downloader.Downloader):
    """Scrapy's downloader, with the methods of the middlewares inspected once."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        methods = self.middleware.methods
        self._request_methods = inspected(methods["process_request"], crawler)
        self._response_methods = inspected(methods["process_response"], crawler)
        self._exception_methods = inspected(methods["process_exception"], crawler)
        self._has_slots = (
            settings.getfloat("DOWNLOAD_DELAY") > 0
            or settings.getbool("AUTOTHROTTLE_ENABLED")
            or bool(settings.getdict("DOWNLOAD_SLOTS"))
            or self.domain_concurrency < self.total_concurrency
        )

    def fetch(self, request: Request, spider: Spider | None = None) -> "Deferred[Response | Request]":
        return deferred_from_coro(self.fetching(request))

    def fetching(self, request: Request) -> Coroutine[Any, Any, Response | Request]:
        """Start a request. It counts as active from now on."""
        self.active.add(request)
        return self._fetch(request)

    async def _fetch(self, request: Request) -> Response | Request:
        try:
            try:
                result = await self._send(request)
            except Exception as error:
                result = await self._failed(request, error)
            return result if isinstance(result, Request) else await self._respond(request, result)
        finally:
            self.active.remove(request)

    async def _send(self, request: Request) -> Response | Request:
        for method, is_async in self._request_methods:
            result = method(request=request)
            if is_async:
                result = await result
            elif result is not None and not isinstance(result, _PAGE_OR_REQUEST):
                result = await ensure_awaitable(result)
            if result is not None:
                return _checked(method, result)
        return await (self._enqueue_request(request) if self._has_slots else self._downloaded(request))

    async def _downloaded(self, request: Request) -> Response:
        self._signal(signals.request_reached_downloader, request=request)
        try:
            response: Response = await self._handled(request)
            self._signal(signals.response_downloaded, response=response, request=request)
        finally:
            self._signal(signals.request_left_downloader, request=request)
        return response

    def _handled(self, request: Request) -> Coroutine[Any, Any, Response]:
        """By the handler of its scheme. Scrapy parses the whole URL to find it."""
        scheme = request.url.partition(":")[0]
        handler = self.handlers._handlers.get(scheme)
        if handler is None or scheme in self.handlers._old_style_handlers:
            return self.handlers.download_request_async(request)
        return handler.download_request(request)

    async def _respond(self, request: Request, response: Response) -> Response | Request:
        for method, is_async in self._response_methods:
            result = method(request=request, response=response)
            if is_async or not isinstance(result, _PAGE_OR_REQUEST):
                result = _checked(method, await ensure_awaitable(result))
            if isinstance(result, Request):
                return result
            response = result
        return response

    async def _failed(self, request: Request, error: Exception) -> Response | Request:
        for method, is_async in self._exception_methods:
            result = method(request=request, exception=error)
            if is_async or not (result is None or isinstance(result, _PAGE_OR_REQUEST)):
                result = await ensure_awaitable(result)
            if result is not None:
                return _checked(method, result)
        raise error

    def _signal(self, signal: object, **arguments: Any) -> None:
        if not isinstance(self.signals, Signals) or self.signals.has_receivers(signal):
            self.signals.send_catch_log(signal=signal, spider=self.crawler.spider, **arguments)


def _checked(method: Any, result: object) -> Response | Request:
    if not isinstance(result, _PAGE_OR_REQUEST):
        raise TypeError(f"{method} returned neither a response nor a request but {type(result)}")
    return result
