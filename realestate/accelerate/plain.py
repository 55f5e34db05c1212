"""Middlewares of Scrapy's that have something to do with few pages, and let the others go at once."""

from typing import Any

from scrapy import Request, Spider
from scrapy.downloadermiddlewares import cookies, redirect
from scrapy.http import Response
from scrapy.spidermiddlewares.referer import RefererMiddleware

from realestate.accelerate.headers import has

_TOLD = ("Set-Cookie", "Set-Cookie2")


class RedirectMiddleware(redirect.RedirectMiddleware):
    """Scrapy's, for what is a redirect."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        return super().process_response(request, response) if 300 <= response.status < 400 else response

    def _engine_started(self) -> None:
        """Without Scrapy's warning at every start that referers are off: they are on purpose."""
        self._referer_spider_middleware = self.crawler.get_spider_middleware(RefererMiddleware)


class CookiesMiddleware(cookies.CookiesMiddleware):
    """Scrapy's, for who has cookies or is given some."""

    def process_request(self, request: Request, spider: Spider | None = None) -> Any:
        if request.cookies or has(request.headers, "Cookie") or self.jars.get(request.meta.get("cookiejar")):
            return super().process_request(request)
        return None

    def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Any:
        if any(has(response.headers, name) for name in _TOLD):
            return super().process_response(request, response)
        return response
