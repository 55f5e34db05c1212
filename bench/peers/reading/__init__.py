"""How a peer reads a portal: with parsel, as with Scrapy and Crawlee, or with selectolax, as in the bare loop."""

from importlib import import_module
from typing import Any, NamedTuple, Protocol

from parsel import Selector
from selectolax.lexbor import LexborHTMLParser


class Page(Protocol):
    """A response as Scrapy has it."""

    @property
    def url(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def selector(self) -> Selector: ...


class Links(NamedTuple):
    listings: list[str]
    pages: list[str]
    """Further search pages."""


class Reading(Protocol):
    """A module for one portal. A listing has at least thirteen fields."""

    SEARCHES: tuple[str, ...]

    def search(self, page: Page) -> Links: ...

    def listing(self, page: Page) -> dict[str, Any]:
        """`units` is not a field: it has the addresses of further listings."""

    def search_fast(self, text: str, url: str) -> Links: ...

    def listing_fast(self, tree: LexborHTMLParser, url: str) -> dict[str, Any]: ...


def reading_of(portal: str) -> Reading:
    found: Reading = import_module(f"{__name__}.{portal}")
    return found
