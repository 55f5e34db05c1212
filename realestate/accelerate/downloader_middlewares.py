"""Scrapy's downloader middlewares, without the work that most pages do not need.

Cookies and redirects: they return at once for a page that has none. Offsite: nearly all URLs have the same few hosts,
and each URL is checked twice, so the results are remembered.
"""

import re
from typing import Any

from scrapy import Request, Spider
from scrapy.downloadermiddlewares import cookies, offsite, redirect
from scrapy.http import Response
from scrapy.spidermiddlewares.referer import RefererMiddleware

from realestate.accelerate.headers import has

_SET_COOKIE = ("Set-Cookie", "Set-Cookie2")
#: The length of "https://". With a shorter scheme the remembered origin is only longer.
_SCHEME_LENGTH = 8
_ORIGINS_MAX = 1_000


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


class OffsiteMiddleware(offsite.OffsiteMiddleware):
    """Scrapy's middleware. It remembers the result for each origin."""

    _known: dict[str, bool]

    def should_follow(self, request: Request, spider: Spider) -> bool:
        self._update_host_regex(spider)
        url = request.url
        end = url.find("/", _SCHEME_LENGTH)
        origin = url[:end] if end >= 0 else url
        is_own = self._known.get(origin)
        if is_own is None:
            if len(self._known) >= _ORIGINS_MAX:
                self._known.clear()
            is_own = self._known[origin] = super().should_follow(request, spider)
        return is_own

    def get_host_regex(self, spider: Spider) -> re.Pattern[str]:
        self._known = {}  # the domains have changed
        return super().get_host_regex(spider)
