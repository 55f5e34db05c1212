"""Middlewares of Scrapy that return at once for the many pages they have nothing to do with."""

from typing import Any

from scrapy import Request, Spider
from scrapy.downloadermiddlewares import cookies, redirect
from scrapy.http import Response
from scrapy.spidermiddlewares.referer import RefererMiddleware

from realestate.accelerate.headers import has

_SET_COOKIE = ("Set-Cookie", "Set-Cookie2")


class RedirectMiddleware(redirect.RedirectMiddleware):
    """Scrapy's middleware, called only for redirects."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        return super().process_response(request, response) if 300 <= response.status < 400 else response

    def _engine_started(self) -> None:
        """Without Scrapy's warning that the referer middleware is off: it is off on purpose."""
        self._referer_spider_middleware = self.crawler.get_spider_middleware(RefererMiddleware)


class CookiesMiddleware(cookies.CookiesMiddleware):
    """Scrapy's middleware, called only if there are cookies to send or to keep."""

    def process_request(self, request: Request, spider: Spider | None = None) -> Any:
        if request.cookies or has(request.headers, "Cookie") or self.jars.get(request.meta.get("cookiejar")):
            return super().process_request(request)
        return None

    def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Any:
        if any(has(response.headers, name) for name in _SET_COOKIE):
            return super().process_response(request, response)
        return response
