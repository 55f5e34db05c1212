"""Limits what a site can make us remember and send back as cookies, as browsers do."""

from collections.abc import Sequence
from http.cookiejar import Cookie
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.http import Response

from realestate.accelerate.headers import has

#: A browser keeps 180 cookies of a site.
MOST_COOKIES = 200
#: Names and values together. Servers refuse headers that are longer than 8 to 64 KB.
MOST_CHARACTERS = 32_000


class CookieLimitMiddleware:
    """Empties a cookie jar that has become too large: the site sees a new visitor.

    Without a limit, a site that sets new cookies with each page would use up the memory of a worker, and more and more
    time for each request.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        if not has(response.headers, "Set-Cookie"):
            return response
        cookies = self.crawler.get_downloader_middleware(CookiesMiddleware)
        jar = cookies.jars.get(request.meta.get("cookiejar")) if cookies is not None else None
        if jar is not None and is_too_large(list(jar)):
            jar.clear()
            self.stats.inc_value("cookies/too_many")
        return response


def is_too_large(cookies: Sequence[Cookie]) -> bool:
    characters = sum(len(each.name) + len(each.value or "") for each in cookies)
    return len(cookies) > MOST_COOKIES or characters > MOST_CHARACTERS
