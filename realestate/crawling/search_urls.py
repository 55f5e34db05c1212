"""Searches as addresses: a page, a price band or a cursor is one more parameter of the same address.

A portal whose searches are no plain addresses (a GraphQL body, say) still has one for each, which only it understands:
`PortalSpider.ask` makes the request of it.
"""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit


def parameters(search: str) -> dict[str, str]:
    return dict(_parameters(search))


@lru_cache(maxsize=256)
def _parameters(search: str) -> tuple[tuple[str, str], ...]:
    """Asked for again with each result of a page."""
    return tuple(parse_qsl(urlsplit(search).query))


def whole_number(search: str, name: str) -> int | None:
    """The value of a parameter, if it is one."""
    value = parameters(search).get(name)
    return int(value) if value and value.isascii() and value.isdecimal() else None


def with_parameters(search: str, changed: Mapping[str, object]) -> str:
    """The same search with these parameters, in their old places; one that is None is left out."""
    parts = urlsplit(search)
    told: dict[str, list[object]] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        told.setdefault(name, []).append(value)
    told |= {name: [] if value is None else [value] for name, value in changed.items()}
    return parts._replace(query=urlencode(told, doseq=True)).geturl()
