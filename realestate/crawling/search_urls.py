"""Searches as URLs: a page, a price band or a cursor is a parameter of the search's URL.

A portal whose searches are not plain URLs (but GraphQL bodies, for example) still has a URL for each search.
`SearchSpider.search_request` turns it into the request.
"""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit


def parameters(search: str) -> dict[str, str]:
    """The query parameters of a search. Of a repeated one, the last."""
    return dict(_parameters(search))


@lru_cache(maxsize=256)
def _parameters(search: str) -> tuple[tuple[str, str], ...]:
    """Cached, because it is needed again for each result of a page."""
    return tuple(parse_qsl(urlsplit(search).query))


def whole_number(search: str, name: str) -> int | None:
    """The value of a parameter, if it is a whole number."""
    value = parameters(search).get(name)
    return int(value) if value and value.isascii() and value.isdecimal() else None


def with_parameters(search: str, changed: Mapping[str, object]) -> str:
    """The search with some parameters changed, in their old places. A value of None removes the parameter."""
    parts = urlsplit(search)
    values: dict[str, list[object]] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        values.setdefault(name, []).append(value)
    for name, new in changed.items():
        values[name] = [] if new is None else [new]
    return parts._replace(query=urlencode(values, doseq=True)).geturl()
