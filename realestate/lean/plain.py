"""Middlewares of Scrapy's that have something to do with few pages, and let the others go at once."""

from typing import Any

from scrapy import Request, Spider
from scrapy.downloadermiddlewares import cookies, redirect
from scrapy.http import Response

_TOLD = ("Set-Cookie", "Set-Cookie2")


class RedirectMiddleware(redirect.RedirectMiddleware):
    """Scrapy's, for what is a redirect."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        return super().process_response(request, response) if 300 <= response.status < 400 else response


class CookiesMiddleware(cookies.CookiesMiddleware):
    """Scrapy's, for who has cookies or is given some."""

    def process_request(self, request: Request, spider: Spider | None = None) -> Any:
        if request.cookies or "Cookie" in request.headers or self.jars.get(request.meta.get("cookiejar")):
            return super().process_request(request)
        return None

    def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Any:
        if any(name in response.headers for name in _TOLD):
            return super().process_response(request, response)
        return response
