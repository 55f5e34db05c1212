"""Conditional requests: a page that was parsed before is sent only if its ETag or Last-Modified has changed."""

from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from realestate.accelerate.headers import take_off

#: `request.meta` key: the validators of the page that was parsed before: `url`, `etag`, `last_modified`, and the
#: listing's `ref`.
VALIDATORS = "validators"
#: Flag of a response: the page has not changed.
UNCHANGED = "unchanged"
NOT_MODIFIED = 304
_HEADERS = {"etag": "If-None-Match", "last_modified": "If-Modified-Since"}


class ConditionalMiddleware:
    """Sends the validators of a page with its own URL only: after a redirect the page is fetched unconditionally."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls()

    def process_request(self, request: Request) -> None:
        if "stage" not in request.meta:
            return  # robots.txt
        validators = _validators(request)
        for name, header in _HEADERS.items():
            take_off(request.headers, header)
            if value := validators.get(name):
                request.headers[header] = value

    def process_response(self, request: Request, response: Response) -> Response:
        if response.status == NOT_MODIFIED and _validators(request):
            response.flags.append(UNCHANGED)
            request.meta["handle_httpstatus_list"] = [NOT_MODIFIED]  # otherwise HttpError drops it
        return response


def _validators(request: Request) -> dict[str, Any]:
    validators = request.meta.get(VALIDATORS) or {}
    return validators if request.method == "GET" and validators.get("url") == request.url else {}
