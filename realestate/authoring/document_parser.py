"""Parses a saved document with its portal's parser: a page, a response of an API, or the bare object of a script."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin

from realestate.authoring import AuthoringError, document_checks, document_url, parser_output
from realestate.authoring.parser_output import Stage
from realestate.crawling import sitemaps
from realestate.crawling.page_outcomes import OtherItem
from realestate.items.others import OTHERS


@dataclass(frozen=True)
class Parsed:
    """What the parser returned, and what would happen to it."""

    values: dict[str, Any]
    """The `listing`, or the item of another kind; `gone` with the reason; or `found` with the `total` and the further
    `searches`."""
    url: str
    is_made_up: bool
    """Whether the document has no URL and no id, so that both are invented."""
    is_derived: bool = False
    """Whether the URL was made from the id on the page: the real one may be longer."""
    item: Any = None
    """The listing itself, if there is one."""
    notes: tuple[str, ...] = ()
    """What the author of a portal has to know, one line each."""


def parse(
    portal: str,
    document: bytes,
    *,
    url: str | None = None,
    stage: Stage | None = None,
    hints: dict[str, Any] | None = None,
    file_name: str = "",
) -> Parsed:
    """Parse a document as `stage` says; without one, as a listing, or else as a search page.

    Raises AuthoringError if it can be parsed as neither."""
    spider = parser_output.spider(portal)
    if url is not None:
        url = urljoin(spider.site, url)
        if not spider.owns(url):
            raise AuthoringError(f"{url} is not a URL of {portal}")
    ban = document_checks.ban_page(document)
    results: list[Parsed] = []
    reasons: list[str] = []
    for each in _stages(spider, document, url, stage):
        try:
            results.append(_parsed(spider, document, url, each, hints, file_name))
        except Exception as error:  # whatever a parser raises, the author gets one line
            reasons.append(f"{each}: {_line(error)}")
    if not results:
        raise AuthoringError("; ".join([*([ban] if ban else []), *reasons]))
    best = next((each for each in results if _has_items(each.values)), results[0])
    return replace(best, notes=tuple(_notes(spider, best, ban)))


def _notes(spider: Any, parsed: Parsed, ban: str | None) -> Iterator[str]:
    if ban:
        yield ban
    if parsed.is_made_up:
        yield f"the document contains no address and no id: `ref` and `url` are made up ({parsed.url})"
    elif parsed.is_derived and parsed.values.get("listing", {}).get("url") == parsed.url:
        yield f"the document contains no address: `url` is made from its id ({parsed.url})"
    yield from document_checks.fate(spider, parsed.item)


def _parsed(
    spider: Any, document: bytes, url: str | None, stage: Stage, hints: dict[str, Any] | None, file_name: str
) -> Parsed:
    if stage == "discover":
        results = [_parsed_search(spider, document, search) for search in _searches(spider, url)]
        return max(results, key=_found)
    is_known = is_given = url is not None
    is_derived = False
    if url is None:
        text = document.decode("utf-8-sig", "replace")
        url, is_known = document_url.url_of_listing(spider, text, file_name)
        is_derived = is_known and not document_url.is_written_in(spider, text, url)
    page = spider.wrapped(document)
    try:
        values, item = parser_output.read_with_item(spider, parser_output.response(spider, url, page, stage), hints)
    except OtherItem as other:
        of_page = document_url.url_of_ref(spider, other.ref)
        if is_given or of_page is None:
            raise
        url = of_page
        is_known = True
        is_derived = True
        values, item = parser_output.read_with_item(spider, parser_output.response(spider, url, page, stage), hints)
    return Parsed(values, url, is_made_up=not is_known, is_derived=is_derived, item=item)


def _parsed_search(spider: Any, document: bytes, url: str) -> Parsed:
    response = parser_output.response(spider, url, document, "discover")
    try:
        values = parser_output.read(spider, response, "discover")
    except Exception:
        wrapped = spider.wrapped(document)
        if wrapped == document:
            raise
        values = parser_output.read(spider, parser_output.response(spider, url, wrapped, "discover"), "discover")
    return Parsed(values, url, is_made_up=False)


def _searches(spider: Any, url: str | None) -> list[str]:
    """The searches that the document may belong to. With a wrong one, the parser finds fewer results.

    A sitemap is named instead of robots.txt: anything can be parsed as robots.txt."""
    searches: list[str] = [url] if url else spider.seed_urls()
    return [search.replace("/robots.txt", "/sitemap.xml") for search in searches]


def _found(parsed: Parsed) -> int:
    return len(parsed.values["found"])


def _stages(spider: Any, document: bytes, url: str | None, stage: Stage | None) -> Iterator[Stage]:
    if stage:
        yield stage
    elif url:
        yield "extract" if spider.ref_of(url) else "discover"
    else:
        yield "extract"
        if _is_readable_as_search(spider, document):
            yield "discover"


def _is_readable_as_search(spider: Any, document: bytes) -> bool:
    """Whether the portal has searches in this form: one that is searched by its sitemaps has none in HTML or JSON."""
    is_page = parser_output.is_json(document) or sitemaps.is_html(document)
    return not (is_page and all(sitemaps.is_sitemap_url(search) for search in spider.seed_urls()))


def _has_items(values: dict[str, Any]) -> bool:
    return any(values.get(name) for name in ("listing", *OTHERS, "found"))


def _line(error: Exception) -> str:
    words = " ".join(str(error).split())[:300]
    return words if isinstance(error, ValueError) and words else f"{type(error).__name__}: {words}"
