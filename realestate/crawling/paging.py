"""Ways of paging. A portal names its own; it does not write the loop."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil
from urllib.parse import urljoin

from realestate.crawling.results import Results
from realestate.crawling.search_urls import whole_number, with_parameters

#: Pages that are read of one search of a portal that names no limit. All pages are requested at once: a total that a
#: site has made up must not fill the queue.
MOST_PAGES = 20_000


class Paging(ABC):
    """How one page of a search leads to the others."""

    @property
    @abstractmethod
    def reach(self) -> int | None:
        """How many results of one search can be read; a search with more is split. None: no limit."""

    @abstractmethod
    def key(self, search: str) -> str:
        """The search without its page: the same for all its pages."""

    @abstractmethod
    def is_first(self, search: str) -> bool: ...

    @abstractmethod
    def next(self, search: str, results: Results) -> str | None:
        """The page after this one, if there can be one."""

    def rest(self, search: str, results: Results) -> list[str] | None:
        """On the first page, all other pages, if they are known beforehand; otherwise None."""
        return None


@dataclass(frozen=True)
class Numbers(Paging):
    """`page=2`. With a total, all pages are requested at once; without one, each leads to the next."""

    parameter: str = "page"
    size: int = 20
    last: int | None = None
    """The last page the portal shows of any search."""
    most: int | None = None
    """How many results it shows of any search, if it limits results instead of pages."""
    first: int = 1
    step: int = 1
    """What the parameter grows by: 1, or the results of a page (`index=24`, with `first=0`)."""

    @property
    def reach(self) -> int:
        if self.last is not None:
            return self.last * self.size
        return self.most if self.most is not None else MOST_PAGES * self.size

    def key(self, search: str) -> str:
        return with_parameters(search, {self.parameter: None})

    def is_first(self, search: str) -> bool:
        return self.number(search) <= 1

    def next(self, search: str, results: Results) -> str | None:
        number = self.number(search) + 1
        is_past_the_end = results.total is not None and (number - 1) * self.size >= results.total
        return None if is_past_the_end or number > self.most_pages else self.page(search, number)

    def rest(self, search: str, results: Results) -> list[str] | None:
        if results.total is None:
            return None
        if not self.is_first(search):
            return []
        pages = min(ceil(results.total / self.size), self.most_pages)
        return [self.page(search, number) for number in range(2, pages + 1)]

    def before(self, search: str) -> int:
        """How many results are on the pages before this one."""
        return (self.number(search) - 1) * self.size

    @property
    def most_pages(self) -> int:
        """The last page of a search that can be read."""
        return ceil(self.reach / self.size)

    def number(self, search: str) -> int:
        """The number of a page; the first is 1."""
        value = whole_number(search, self.parameter)
        return 1 if value is None else (value - self.first) // self.step + 1

    def page(self, search: str, number: int) -> str:
        """The page of the search with this number."""
        return with_parameters(search, {self.parameter: self.first + (number - 1) * self.step})


def Offsets(parameter: str, size: int, *, most: int | None = None) -> Numbers:  # noqa: N802
    """`index=24`: the parameter is the number of results to skip."""
    return Numbers(parameter, size, most=most, first=0, step=size)


@dataclass(frozen=True)
class Cursors(Paging):
    """Each page contains the cursor of the next. A search is split into parts, so that several workers can read it."""

    parameter: str = "cursor"
    part: int | None = 500
    """A search with more results is split."""

    @property
    def reach(self) -> int | None:
        return self.part

    def key(self, search: str) -> str:
        return with_parameters(search, {self.parameter: None})

    def is_first(self, search: str) -> bool:
        return self.key(search) == with_parameters(search, {})

    def next(self, search: str, results: Results) -> str | None:
        return with_parameters(search, {self.parameter: results.after}) if results.after else None


@dataclass(frozen=True)
class Links(Paging):
    """Each page links to the next."""

    parameter: str = "page"
    """The parameter of the page in the links. A search without it is the first page."""

    @property
    def reach(self) -> int | None:
        return None

    def key(self, search: str) -> str:
        return with_parameters(search, {self.parameter: None})

    def is_first(self, search: str) -> bool:
        return self.key(search) == with_parameters(search, {})

    def next(self, search: str, results: Results) -> str | None:
        try:
            return urljoin(search, results.after) if results.after else None
        except ValueError:  # it is no URL
            return None


def page_range(pages: str) -> tuple[int, int]:
    """The first and the last page of a range such as `1-50`."""
    first, _, last = pages.partition("-")
    return int(first), int(last)
