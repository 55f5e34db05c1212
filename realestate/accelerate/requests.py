"""Requests for plain addresses, as most are: Scrapy makes every address safe, which takes longer than all the rest."""

import re
from typing import Any

from scrapy import Request

_PORT = r"(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}))?"
_PLAIN = re.compile(rf"https?://[a-z0-9]+(?:[.-][a-z0-9]+)*{_PORT}(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+/?")
#: By which Scrapy is told that an address is as it should be.
_AS_IT_IS = "verbatim_url"


def is_plain(url: str) -> bool:
    """Whether nothing is left to be done to it: it is safe, and its own canonical form."""
    return len(url) < 2_000 and _PLAIN.fullmatch(url) is not None


def request_to(url: str, *, meta: dict[str, Any] | None = None, **told: Any) -> Request:
    """The same as `Request(url, …)`."""
    if not isinstance(url, str) or (meta and _AS_IT_IS in meta) or not is_plain(url):
        return Request(url, meta=meta, **told)
    request = Request(url, meta={**(meta or {}), _AS_IT_IS: True}, **told)
    del request.meta[_AS_IT_IS]
    return request
