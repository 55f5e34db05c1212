"""A saved document through its portal's parser: a page, an API's answer, or the bare object behind a page's script."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from realestate.authoring import Unfit, addresses, reading
from realestate.authoring.reading import Stage
from realestate.items.others import OTHERS


@dataclass(frozen=True)
class Parsed:
    """What the parser made of it."""

    told: dict[str, Any]
    """The `listing` or what else the portal has, the word that it is `gone`, or what is `found`, with the `total` and
    the further `searches`."""
    url: str
    is_made_up: bool
    """Whether the document tells nothing of its address, and so of the listing's id."""


def parse(
    portal: str,
    document: bytes,
    *,
    url: str | None = None,
    stage: Stage | None = None,
    hints: dict[str, Any] | None = None,
    file_name: str = "",
) -> Parsed:
    """Unless told, whatever its parsers can read it as: a listing, or else a page of a search."""
    spider = reading.spider(portal)
    if url is not None and not spider.owns(url := urljoin(spider.site, url)):
        raise Unfit(f"{url} is not a URL of {portal}")
    read: list[Parsed] = []
    reasons: list[str] = []
    for each in _stages(spider, url, stage):
        try:
            read.append(_parsed(spider, document, url, each, hints, file_name))
        except Exception as error:  # whatever a document does to a parser, a person wants one line
            reasons.append(f"{each}: {_line(error)}")
    if not read:
        raise Unfit("; ".join(reasons))
    return next((each for each in read if _tells_something(each.told)), read[0])


def _parsed(
    spider: Any, document: bytes, url: str | None, stage: Stage, hints: dict[str, Any] | None, file_name: str
) -> Parsed:
    if stage == "discover":
        return max((_search(spider, document, at) for at in _searches(spider, url)), key=_found)
    text = document.decode("utf-8-sig", "replace")
    at, is_told = (url, True) if url else addresses.of_listing(spider, text, file_name)
    response = reading.response(spider, at, spider.wrapped(document), stage)
    return Parsed(reading.read(spider, response, stage, hints), at, not is_told)


def _search(spider: Any, document: bytes, url: str) -> Parsed:
    response = reading.response(spider, url, document, "discover")
    return Parsed(reading.read(spider, response, "discover"), url, False)


def _searches(spider: Any, url: str | None) -> list[str]:
    """Which of its searches a document answers, nobody knows; those it does not answer find less in it. Anything can be
    read as robots.txt: what it leads to is a sitemap."""
    searches: list[str] = [url] if url else spider.seed_urls()
    return [search.replace("/robots.txt", "/sitemap.xml") for search in searches]


def _found(parsed: Parsed) -> int:
    return len(parsed.told["found"])


def _stages(spider: Any, url: str | None, stage: Stage | None) -> Iterator[Stage]:
    if stage or url:
        yield stage or ("extract" if spider.ref_of(url) else "discover")
    else:
        yield from ("extract", "discover")


def _tells_something(told: dict[str, Any]) -> bool:
    return any(told.get(name) for name in ("listing", *OTHERS, "found"))


def _line(error: Exception) -> str:
    words = " ".join(str(error).split())[:300]
    return words if isinstance(error, ValueError) and words else f"{type(error).__name__}: {words}"
