"""Asks for a page only if it is another than the one we have read: by its ETag, by its Last-Modified."""

from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from realestate.accelerate.headers import take_off

#: Where a request carries what its page was known by: `url`, `etag`, `last_modified`, beside the listing's `ref`.
VALIDATORS = "validators"
#: On the answer to what was asked: the page is the one we have read.
UNCHANGED = "unchanged"
NOT_MODIFIED = 304
_HEADERS = {"etag": "If-None-Match", "last_modified": "If-Modified-Since"}


class ConditionalMiddleware:
    """What was said of one address is said to no other: after a redirect it is asked for as if we knew nothing."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls()

    def process_request(self, request: Request) -> None:
        if "stage" not in request.meta:
            return  # robots.txt is not ours
        told = self._told(request)
        for name, header in _HEADERS.items():
            take_off(request.headers, header)
            if value := told.get(name):
                request.headers[header] = value

    def process_response(self, request: Request, response: Response) -> Response:
        if response.status == NOT_MODIFIED and self._told(request):
            response.flags.append(UNCHANGED)
            request.meta["handle_httpstatus_list"] = [NOT_MODIFIED]  # HttpError lets through only what was asked for
        return response

    def _told(self, request: Request) -> dict[str, Any]:
        told = request.meta.get(VALIDATORS) or {}
        return told if request.method == "GET" and told.get("url") == request.url else {}
