"""Headers by name, without normalising the name at each access.

`scrapy.http.Headers` is a dictionary of normalised names. If a later Scrapy stores them in another way, the functions
use its public methods.
"""

from collections.abc import Iterable
from functools import lru_cache

from scrapy.http import Headers


@lru_cache(maxsize=1024)
def normalised(name: str) -> bytes:
    """The name as Scrapy stores it."""
    return name.title().encode()


#: Whether this Scrapy stores headers as the functions below expect.
STORED_AS_EXPECTED = dict.items(Headers({"x-Test": "1"})) == {normalised("x-Test"): [b"1"]}.items()


def last(headers: Headers, name: str) -> bytes | None:
    """Like `headers.get(name)`."""
    if not STORED_AS_EXPECTED:
        return headers.get(name)
    values = dict.get(headers, normalised(name))
    return values[-1] if values else None


def has(headers: Headers, name: str) -> bool:
    """Like `name in headers`."""
    if not STORED_AS_EXPECTED:
        return name in headers
    return dict.__contains__(headers, normalised(name))


def take_off(headers: Headers, name: str) -> None:
    """Like `headers.pop(name, None)`."""
    if STORED_AS_EXPECTED:
        dict.pop(headers, normalised(name), None)
    else:
        headers.pop(name, None)


def put_on(headers: Headers, given: Iterable[tuple[str, str]]) -> list[str]:
    """Like `headers.setdefault(name, value)` for each. Returns the names of those that were missing."""
    missing = []
    for name, value in given:
        if not has(headers, name):
            if STORED_AS_EXPECTED:
                dict.__setitem__(headers, normalised(name), [value.encode()])
            else:
                headers[name] = value
            missing.append(name)
    return missing
