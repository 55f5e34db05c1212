"""Reading a search page by page: where it ends, and at which watermark an incremental job may stop.

The watermark of a search is the place of the newest result that is already stored, in the portal's own order.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from zlib import crc32

from realestate.crawling.paging import Paging
from realestate.crawling.results import AnyLink, Result, Results
from realestate.items import Listing

Newest = Literal["date", "ref"]
"""What a portal sorts by. Refs grow, but old adverts that were renewed stand among the new ones."""

#: After this many pages without anything new, nothing new is expected, even if old adverts stand among the new ones.
QUIET_PAGES = 2


def mark_of(each: Result, newest: Newest | None) -> int | None:
    """A result's place in the portal's order: greater is newer. None if it is not in order."""
    if isinstance(each, AnyLink) and each.is_promoted:
        return None
    if newest == "ref":
        return int(each.ref) if each.ref.isdecimal() else None
    dated = each.dated if isinstance(each, AnyLink) else None
    if isinstance(each, Listing):
        dated = each.updated_at or each.posted_at
    return None if dated is None or newest is None else int(dated.timestamp() * 1000)


def watermark_of(results: Results, newest: Newest | None, now: datetime) -> int | None:
    """The watermark to store once the search has been read from this first page on.

    A date in the future is a mistake: it would hide everything until then, so it is left out."""
    latest = int(now.timestamp() * 1000) if newest == "date" else None
    marks = [mark for each in results.found if (mark := mark_of(each, newest)) is not None]
    return max((mark for mark in marks if latest is None or mark <= latest), default=None)


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """What has to be remembered from page to page of a search. It is part of each request's meta, as `walk`."""

    until: int | None = None
    """The watermark at which to stop; None: read all pages."""
    first: tuple[int, ...] = ()
    """Hashes of the refs on the first page. A page past the end may show them again."""
    previous: tuple[int, ...] = ()
    """Hashes of the refs on the page before this one."""
    quiet: int = 0
    """How many pages in a row showed nothing new."""

    @classmethod
    def from_meta(cls, value: Any) -> "SearchProgress":
        """Read it from a request's meta."""
        if value is None:
            return cls()
        until, first, previous, quiet = value
        return cls(until, tuple(first), tuple(previous), quiet)

    def as_meta(self) -> list[Any]:
        """The value for a request's meta."""
        return [self.until, list(self.first), list(self.previous), self.quiet]

    def next_pages(self, paging: Paging, newest: Newest | None, search: str, results: Results) -> list[str]:
        """The pages to request now: all that are left, if they are known and all are wanted; otherwise the next."""
        if self.until is None and (rest := paging.rest(search, results)) is not None:
            return rest
        following = self.next_page(paging, newest, search, results)
        return [following] if following is not None else []

    def next_page(self, paging: Paging, newest: Newest | None, search: str, results: Results) -> str | None:
        """The page after this one; None if this is the last that is wanted."""
        if results.is_last or not self._shows_others(results) or self._is_known_from_here(results, newest):
            return None
        return paging.next(search, results)

    def after(self, results: Results, newest: Newest | None) -> "SearchProgress":
        """The progress after this page."""
        shown = tuple(_ref_hashes(results))
        quiet = self.quiet + 1 if self._is_quiet(results, newest) else 0
        return SearchProgress(self.until, self.first or shown, shown, quiet)

    def _shows_others(self, results: Results) -> bool:
        return bool(set(_ref_hashes(results)) - set(self.first) - set(self.previous))

    def _is_known_from_here(self, results: Results, newest: Newest | None) -> bool:
        """Promoted adverts stand first, whatever their date: only the last result decides."""
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


def _ref_hashes(results: Results) -> list[int]:
    """Hashes instead of refs, because they are sent with each request."""
    return [crc32(each.ref.encode()) for each in results.found]
