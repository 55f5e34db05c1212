"""Scrapy's `downloader/*` statistics at a fifth of the cost.

Scrapy builds the whole text of a request to count its bytes. For plain addresses, which most are, the length is known
without that.
"""

from functools import lru_cache

from scrapy import Request, Spider
from scrapy.downloadermiddlewares import stats
from scrapy.http import Headers, Response
from scrapy.utils.request import request_httprepr

from realestate.queue.plain_urls import is_plain

#: The parts of the first two lines of a request that are always the same, and the empty line at its end.
_FIXED_BYTES = len(b"  HTTP/1.1\r\n") + len(b"Host: \r\n") + len(b"\r\n")
#: ": " between a name and its value, and the end of the line.
_PER_HEADER = len(b": ") + len(b"\r\n")


class DownloaderStats(stats.DownloaderStats):
    """Scrapy's middleware with the same names and values."""

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        count = self.stats.inc_value
        count("downloader/request_count")
        count(_method_count(request.method))
        count("downloader/request_bytes", request_bytes(request))

    def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Response:
        count = self.stats.inc_value
        count("downloader/response_count")
        count(_status_count(response.status))
        count("downloader/response_bytes", response_bytes(response))
        return response


def request_bytes(request: Request) -> int:
    """The length of `request_httprepr(request)`."""
    url = request.url
    if not is_plain(url):
        return len(request_httprepr(request))
    host_begin = url.index("//") + 2
    path_begin = url.index("/", host_begin)
    host = url[host_begin:path_begin].partition(":")[0]
    path = len(url) - path_begin
    return _FIXED_BYTES + len(request.method) + len(host) + path + _header_lines(request.headers) + len(request.body)


def response_bytes(response: Response) -> int:
    """As Scrapy estimates it: the body, the headers and the status line. Our download handler decompresses the body."""
    size = len(response.body) + _status_bytes(response.status)
    headers = response.headers
    for name, values in dict.items(headers):
        for value in values:
            size += len(name) + len(value) + 2
    return size + 2 * (len(headers) - 1)


def _header_lines(headers: Headers) -> int:
    size = 0
    for name, values in dict.items(headers):
        for value in values:
            size += len(name) + len(value) + _PER_HEADER
    if headers and not size:
        return len(b"\r\n")  # names without a value: Scrapy writes an empty line
    return size


@lru_cache(maxsize=64)
def _method_count(method: str) -> str:
    return f"downloader/request_method_count/{method}"


@lru_cache(maxsize=1024)
def _status_count(status: int) -> str:
    return f"downloader/response_status_count/{status}"


@lru_cache(maxsize=1024)
def _status_bytes(status: int) -> int:
    return stats.get_status_size(status) + 4
