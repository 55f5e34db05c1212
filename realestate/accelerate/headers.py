"""Headers by their names, which Scrapy spells anew each time it is asked; a page's are asked for some twenty times."""

from collections.abc import Iterable
from functools import lru_cache

from scrapy.http import Headers


def last(headers: Headers, name: str) -> bytes | None:
    """As `headers.get(name)`."""
    values = dict.get(headers, spelled(name))
    return values[-1] if values else None


def has(headers: Headers, name: str) -> bool:
    """As `name in headers`."""
    return dict.__contains__(headers, spelled(name))


def take_off(headers: Headers, name: str) -> None:
    """As `headers.pop(name, None)`."""
    dict.pop(headers, spelled(name), None)


def put_on(headers: Headers, given: Iterable[tuple[str, str]]) -> list[str]:
    """As `headers.setdefault(name, value)` with each; the names of those that were not there."""
    missing = []
    for name, value in given:
        key = spelled(name)
        if not dict.__contains__(headers, key):
            dict.__setitem__(headers, key, [value.encode()])
            missing.append(name)
    return missing


@lru_cache(maxsize=1024)
def spelled(name: str) -> bytes:
    """As Scrapy keeps it."""
    return name.title().encode()
