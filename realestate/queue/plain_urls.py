"""Requests for plain URLs: Scrapy need not escape them, and escaping is the slowest part of making a request."""

import re
from typing import Any

from scrapy import Request

_PORT = r"(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}))?"
_PLAIN = re.compile(rf"https?://[a-z0-9]+(?:[.-][a-z0-9]+)*{_PORT}(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+/?")
#: Scrapy takes the URL of a request with this meta key as it is.
_VERBATIM = "verbatim_url"


def is_plain(url: str) -> bool:
    """Whether a URL needs no escaping and is its own canonical form."""
    return len(url) < 2_000 and _PLAIN.fullmatch(url) is not None


def request_to(url: str, *, meta: dict[str, Any] | None = None, **arguments: Any) -> Request:
    """The same as `Request(url, …)`."""
    if not isinstance(url, str) or (meta and _VERBATIM in meta) or not is_plain(url):
        return Request(url, meta=meta, **arguments)
    request = Request(url, meta={**(meta or {}), _VERBATIM: True}, **arguments)
    del request.meta[_VERBATIM]
    return request
