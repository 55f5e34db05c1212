"""The base of the sites without homes: pages by path, the truth, and days that pass."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime
from html import escape
from random import Random
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote

from realestate.items.others import Other, other_record
from realestate.simulator.adverts import dice
from realestate.simulator.site import ROBOTS, TEXT, Response, page_number

#: The share of items that change in a day, and the share that is new.
CHANGED_A_DAY = 0.1
NEW_A_DAY = 0.02


class OtherSite(ABC):
    """One site at one base address, as it is today. Its items are kept in the order of its list."""

    portal: ClassVar[str]
    index: ClassVar[str]
    path: ClassVar[str]
    """The path of the list. Items are below it."""
    size: ClassVar[int]
    """Items on a page."""

    def __init__(self, seed: int, count: int, now: datetime, base: str) -> None:
        self.base = base
        self._seed = seed
        self.items: dict[str, Any] = {}
        self._add(count, now)

    def response(self, target: str, cookie: str = "", headers: Mapping[str, str] | None = None) -> Response:
        """Return the response to a request target, i.e. a path with its query, as it was received."""
        path, _, query = target.partition("?")
        path = unquote(path)
        if path == "/robots.txt":
            return Response("robots", ROBOTS, content_type=TEXT)
        if path == self.path:
            return Response("search", self._document(self._list(dict(parse_qsl(query)))))
        item = self.items.get(path.removeprefix(f"{self.path}/")) if path.startswith(f"{self.path}/") else None
        if item is None:
            return Response("listing", b"<title>404</title><h1>Not found</h1>", 404)
        return Response("listing", self._document(self.render(item)))

    def truths(self) -> Iterator[dict[str, Any]]:
        return (other_record(item) for item in list(self.items.values()))

    def advance(self, day: int, now: datetime) -> dict[str, Any]:
        """Let a day pass. Return what changed and what is new."""
        rng = dice(self._seed, self.portal, "day", day)
        refs = list(self.items)
        changed = rng.sample(refs, max(1, round(len(refs) * CHANGED_A_DAY)))
        for ref in refs:
            self.items[ref] = self.change(self.items[ref], rng, now, is_quiet=ref not in changed)
        self._add(max(1, round(len(refs) * NEW_A_DAY)), now)
        return {"changed": changed, "new": [ref for ref in self.items if ref not in refs]}

    @abstractmethod
    def make(self, number: int, rng: Random, now: datetime) -> Other: ...

    @abstractmethod
    def change(self, item: Any, rng: Random, now: datetime, *, is_quiet: bool) -> Other:
        """Return the item on the next day. On a quiet day nothing changes."""

    @abstractmethod
    def render(self, item: Any) -> str:
        """Return the page of an item."""

    @abstractmethod
    def listed(self, items: list[Any], total: int) -> str:
        """Return a page of the list."""

    def address(self, ref: str) -> str:
        return f"{self.base}{self.path}/{ref}"

    def _list(self, query: Mapping[str, str]) -> str:
        start = (page_number(query.get("page")) - 1) * self.size
        items = list(self.items.values())
        return self.listed(items[start : start + self.size], len(items))

    def _add(self, count: int, now: datetime) -> None:
        for number in range(len(self.items), len(self.items) + count):
            item = self.make(number, dice(self._seed, self.portal, number), now)
            self.items[item.ref] = item

    def _document(self, body: str) -> bytes:
        title = escape(self.portal)
        return f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}</body></html>".encode()
