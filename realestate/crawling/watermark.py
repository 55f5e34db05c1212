"""Reading a search page by page: where it ends, and where an incremental run may stop."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from zlib import crc32

from realestate.crawling.paging import Paging
from realestate.crawling.results import AnyLink, Result, Results
from realestate.items import Listing

Newest = Literal["date", "ref"]
"""What a portal sorts by. Refs grow, but old adverts that were renewed stand among the new ones."""

#: Pages in a row without anything new, after which nothing new is expected where old adverts stand among them.
QUIET_PAGES = 2


def mark_of(each: Result, newest: Newest | None) -> int | None:
    """Its place in the portal's order: the greater, the newer. None if it is out of order."""
    if isinstance(each, AnyLink) and each.is_promoted:
        return None
    if newest == "ref":
        return int(each.ref) if each.ref.isdecimal() else None
    dated = each.dated if isinstance(each, AnyLink) else None
    if isinstance(each, Listing):
        dated = each.updated_at or each.posted_at
    return None if dated is None or newest is None else int(dated.timestamp() * 1000)


def watermark_of(results: Results, newest: Newest | None, now: datetime) -> int | None:
    """How far everything is known once the search has been read from this first page on. A date to come is a mistake
    which would hide everything until then."""
    latest = int(now.timestamp() * 1000) if newest == "date" else None
    marks = [mark for each in results.found if (mark := mark_of(each, newest)) is not None]
    return max((mark for mark in marks if latest is None or mark <= latest), default=None)


@dataclass(frozen=True, slots=True)
class Walk:
    """What is to be remembered from page to page; it travels with the request."""

    until: int | None = None
    """The watermark at which to stop; None: read all."""
    first: tuple[int, ...] = ()
    previous: tuple[int, ...] = ()
    """What the first page and the one before showed: a page past the end may be one of them again."""
    quiet: int = 0

    @classmethod
    def read(cls, told: Any) -> "Walk":
        """As it came with a request."""
        if told is None:
            return cls()
        until, first, previous, quiet = told
        return cls(until, tuple(first), tuple(previous), quiet)

    def told(self) -> list[Any]:
        return [self.until, list(self.first), list(self.previous), self.quiet]

    def further(self, paging: Paging, newest: Newest | None, search: str, results: Results) -> list[str]:
        """The pages to be asked for now: all that are left, where they are known and all are wanted, or the next."""
        if self.until is None and (rest := paging.rest(search, results)) is not None:
            return rest
        if results.is_last or not self._shows_others(results) or self._is_known_from_here(results, newest):
            return []
        following = paging.next(search, results)
        return [following] if following is not None else []

    def then(self, results: Results, newest: Newest | None) -> "Walk":
        shown = tuple(_shown(results))
        quiet = self.quiet + 1 if self._is_quiet(results, newest) else 0
        return Walk(self.until, self.first or shown, shown, quiet)

    def _shows_others(self, results: Results) -> bool:
        return bool(set(_shown(results)) - set(self.first) - set(self.previous))

    def _is_known_from_here(self, results: Results, newest: Newest | None) -> bool:
        """Promoted adverts stand before the others, whatever their date: the last one tells."""
        if self.until is None:
            return False
        if newest == "date":
            marks = [mark for each in results.found if (mark := mark_of(each, newest)) is not None]
            return bool(marks) and marks[-1] < self.until
        return self._is_quiet(results, newest) and self.quiet + 1 >= QUIET_PAGES

    def _is_quiet(self, results: Results, newest: Newest | None) -> bool:
        if self.until is None:
            return False
        marks = (mark_of(each, newest) for each in results.found)
        return not any(mark is not None and mark > self.until for mark in marks)


def _shown(results: Results) -> list[int]:
    """Short enough to travel with a request."""
    return [crc32(each.ref.encode()) for each in results.found]
