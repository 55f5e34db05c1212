"""The base of every simulated portal: routing, a cache of rendered pages, robots.txt."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, ClassVar, Literal, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote

from realestate.items import Listing, as_record
from realestate.simulator.adverts import Advert
from realestate.simulator.history import Sight
from realestate.simulator.world import World

Kind = Literal["search", "listing", "robots", "other"]

HTML = "text/html; charset=utf-8"
JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
XML = "application/xml; charset=utf-8"

#: The most pages in the cache, so that a large world does not fill the memory: about 160 MB for a portal.
PAGES_KEPT = 8_192
SEARCHES_KEPT = 1_000

ROBOTS = b"User-agent: *\nDisallow: /_private/\nAllow: /\n"
PRIVATE = "/_private/"
NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """A response, independent of HTTP: its content, and the kind of request it belongs to."""

    kind: Kind
    body: bytes
    status: int = 200
    content_type: str = HTML
    location: str | None = None
    set_cookie: str | None = None
    extra: Mapping[str, str] | None = None
    """Further headers."""


class Request(NamedTuple):
    """A request, independent of HTTP, for portals where the URL alone is not enough."""

    path: str
    """Unquoted."""
    query: Mapping[str, str]
    headers: Mapping[str, str] = NO_HEADERS
    """Header names, in lower case."""
    body: bytes | None = None
    """The body of a POST, or None."""

    @property
    def cookie(self) -> str:
        return self.headers.get("cookie", "")


class Found(NamedTuple):
    """The adverts that a search shows, and the total that it says."""

    adverts: list[Advert]
    total: int


Showing = Callable[[list[Advert]], Found]


def all_of_it(found: list[Advert]) -> Found:
    return Found(found, len(found))


class Query(Protocol):
    """A search without its page number. Equal searches find the same adverts."""

    def find(self, listed: list[Advert]) -> list[Advert]: ...
    def __hash__(self) -> int: ...


class Site(ABC):
    """One portal at one base address, showing the world as it is today."""

    portal: ClassVar[str]
    index: ClassVar[str]
    """The search to which requests for unknown pages are redirected."""
    takes_posts: ClassVar[bool] = False
    versions: ClassVar[Literal["etag", "date"] | None] = None
    """The validator for conditional requests (`versions.py`)."""

    def __init__(self, world: World, base: str) -> None:
        self.world = world
        self.base = base
        self._pages: dict[str, Response] = {}
        self._kept_at: dict[Advert, str] = {}
        self._dated: dict[Advert, tuple[str, datetime]] = {}
        self._searches: dict[Query, Found] = {}
        self._showing: Showing = all_of_it

    def response(
        self, target: str, cookie: str = "", headers: Mapping[str, str] = NO_HEADERS, body: bytes | None = None
    ) -> Response:
        """Return the response to a request target, i.e. a path with its query, as it was received."""
        page = self._pages.get(target) if body is None else None
        return page if page is not None else self._slow_answer(target, headers or {"cookie": cookie}, body)

    def truth(self, advert: Advert) -> dict[str, Any]:
        """Return the record that a perfect crawl would store, and the id of the home."""
        return {**as_record(self.listing(advert)), "_home": advert.home.id}

    def truths(self) -> Iterator[dict[str, Any]]:
        return map(self.truth, list(self.world.listed(self.portal)))

    def sights(self) -> Iterator[Sight]:
        """Yield what the page of every advert that ever existed says today, independent of the weather."""
        return map(self._sight, list(self.world.adverts[self.portal].values()))

    def show(self, showing: Showing) -> None:
        """Set a function that limits what searches show."""
        self._searches.clear()
        self._showing = showing

    def drop_pages(self, adverts: Iterable[Advert]) -> None:
        """Drop these pages and every search from the cache. An edit may have moved a page."""
        self._searches.clear()
        for advert in adverts:
            self._pages.pop(self._kept_at.pop(advert, ""), None)

    @abstractmethod
    def route(self, request: Request) -> Response | None:
        """Return the response, or None if the portal has no such page."""

    @abstractmethod
    def path(self, advert: Advert) -> str:
        """Return the canonical path of an advert's page, percent-encoded."""

    @abstractmethod
    def listing(self, advert: Advert) -> Listing:
        """Return the facts on the advert's page."""

    @abstractmethod
    def render(self, advert: Advert) -> bytes:
        """Return the advert's page."""

    def ref(self, advert: Advert) -> str:
        """Return its id as the portal writes it."""
        return str(advert.ref)

    def page(self, advert: Advert) -> Response:
        """Return the advert's page from the cache, or render it."""
        path = self.path(advert)
        page = self._pages.get(path)
        if page is None:
            if len(self._pages) >= PAGES_KEPT:
                del self._pages[next(iter(self._pages))]
            body = self.render(advert)
            page = self._pages[path] = Response("listing", body, extra=self._version(advert, body))
            self._kept_at[advert] = path
        return page

    def found(self, query: Query) -> Found:
        """Return what a search finds today, from the cache or by searching."""
        found = self._searches.get(query)
        if found is None:
            if len(self._searches) >= SEARCHES_KEPT:
                self._searches.clear()
            found = self._searches[query] = self._showing(query.find(self.searched()))
        return found

    def shown(self) -> Found:
        """Return the adverts that searches can find."""
        return self._showing(self.searched())

    def searched(self) -> list[Advert]:
        """Return the adverts that searches can find, the last changed first."""
        return self.world.listed(self.portal)

    def moved(self, advert: Advert) -> Response:
        """Return a redirect to the canonical URL of an advert."""
        return Response("listing", b"", 301, location=self.base + self.path(advert))

    def _version(self, advert: Advert, body: bytes) -> Mapping[str, str] | None:
        """Return the header with the validator, if the portal has one. Last-Modified is when this body was new."""
        if self.versions is None:
            return None
        digest = blake2b(body, digest_size=8).hexdigest()
        if self.versions == "etag":
            return {"ETag": f'"{digest}"'}
        known, day = self._dated.get(advert, (None, self.world.now))
        self._dated[advert] = digest, day if known == digest else self.world.now
        return {"Last-Modified": format_datetime(self._dated[advert][1], usegmt=True)}

    def _sight(self, advert: Advert) -> Sight:
        """Return what the advert's page says, or how the advert was removed: by the status or by what the page says."""
        ref = self.ref(advert)
        if advert.gone is None:
            return Sight(ref, self.truth(advert))
        response = self.response(self.path(advert))
        if response.status != HTTPStatus.OK:
            return Sight(ref, None, "redirect" if response.location else "410" if response.status == 410 else "404")
        return Sight(ref, self.truth(advert), "marker")

    def robots(self) -> bytes:
        """Return its robots.txt."""
        return ROBOTS

    def _slow_answer(self, target: str, headers: Mapping[str, str], body: bytes | None) -> Response:
        path, _, query = target.partition("?")
        path = unquote(path)
        if path == "/robots.txt":
            return Response("robots", self.robots(), content_type=TEXT)
        if path.startswith(PRIVATE):
            return Response("other", b"<title>Account</title>")
        response = self.route(Request(path, dict(parse_qsl(query)), headers, body))
        return response or Response("other", b"<title>404</title><h1>Not found</h1>", 404)


def whole_number(text: str | None) -> int | None:
    """Return the number in a query value, or None. As tolerant as real sites are."""
    found = re.fullmatch(r"\s*(\d{1,12})(?:\.\d*)?\s*", text or "", re.ASCII)
    return int(found[1]) if found else None


def page_number(text: str | None) -> int:
    """Return the requested page, counted from 1. A value that is not a number means the first."""
    found = re.fullmatch(r"\d+", text or "", re.ASCII)
    return max(1, int(found[0][:12])) if found else 1


def one_space(text: str) -> str:
    """Return the text with trimmed lines, single spaces (also for no-break spaces) and no empty lines."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
