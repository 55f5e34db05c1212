"""What a store returns to a question, and the interface of a store that can be asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from realestate.items import Listing
from realestate.storage.history import Event, PriceSeen
from realestate.storage.query.conditions import EVERYTHING, Box, Filter
from realestate.storage.query.errors import QueryError
from realestate.storage.query.fields import FACETS
from realestate.storage.query.listing_query import ListingQuery
from realestate.storage.snapshots import SnapshotRef

#: Matches are counted up to this number: "10,000+".
COUNTED = 10_000
#: The most points of one map.
MOST_POINTS = 5000
#: A question that takes longer is given up.
LONGEST_SECONDS = 10
#: The sizes of hexagons: resolutions of H3.
RESOLUTIONS = range(2, 10)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a search."""

    rows: Sequence[dict[str, Any]]
    """Each has the wanted fields, with values as `Listing` has them."""
    next: str | None
    """The cursor of the next page; None if this is the last one."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many listings match: exactly, or at least this many."""

    number: int
    is_exact: bool

    def __str__(self) -> str:
        return f"{self.number:,}" if self.is_exact else f"{self.number:,}+"


@dataclass(frozen=True, slots=True)
class FacetValue:
    value: str | int | None
    """None: the listings without a value."""
    count: int


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of a field among the matches, the most frequent first."""

    field: str
    values: Sequence[FacetValue]
    is_exact: bool
    """Whether all matches were counted. Otherwise the first COUNTED of them were."""


@dataclass(frozen=True, slots=True)
class Hexagon:
    """The listings within one cell of H3."""

    cell: str
    """The name of the cell, as the library h3 writes it."""
    count: int


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A listing on the map."""

    portal: str
    ref: str
    longitude: float
    latitude: float
    price: Any
    currency: str | None


@dataclass(frozen=True, slots=True)
class ListingDetail:
    """One listing with all that is known of it."""

    listing: Listing
    facts: dict[str, Any]
    """The values derived from it and its events: see `fields.DERIVED`."""
    events: Sequence[Event]
    prices: Sequence[PriceSeen]
    pages: Sequence[SnapshotRef]
    """The index of its raw pages, the newest first."""


class TooSlow(QueryError):
    """The question takes longer than LONGEST_SECONDS."""

    def __init__(self) -> None:
        super().__init__(f"this takes longer than {LONGEST_SECONDS} seconds: add a condition")


class QueryStore(Protocol):
    """Questions about listings. None of them changes anything. Filters that take too long raise TooSlow."""

    def search(self, query: ListingQuery) -> Page: ...

    def count(self, filter: Filter = EVERYTHING) -> Count:
        """How many match: exactly up to COUNTED."""

    def facets(self, filter: Filter = EVERYTHING, fields: Sequence[str] = FACETS) -> Sequence[Facet]:
        """The values of these fields among the matches. QueryError if one is not in FACETS."""

    def hexagons(self, filter: Filter, resolution: int, box: Box | None = None) -> Sequence[Hexagon]:
        """The matches with coordinates, by cell; with a box, the cells whose centres are in it, each with all its
        matches. The resolution is one of RESOLUTIONS."""

    def points(self, filter: Filter, box: Box, limit: int = MOST_POINTS) -> Sequence[MapPoint]:
        """The matches within the box, at most this many."""

    def detail(self, portal: str, ref: str) -> ListingDetail | None:
        """The listing; None if there is none."""

    def facts(self, portal: str, refs: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The facts of these listings (see `matching.facts_of`), by ref."""

    def matching(self, filter: Filter = EVERYTHING) -> Iterator[Listing]:
        """All matches, by portal and ref. Read piece by piece: a slow reader holds no transaction open, and a listing
        that is changed meanwhile comes once, in its old or its new state."""

    def query_time(self) -> datetime:
        """The time of the server, from which `7d` is counted."""


#: The most values that a facet shows.
MOST_VALUES_OF_A_FACET = 200


def demand_facets(fields: Sequence[str]) -> None:
    """Raise QueryError if one of the fields is not in FACETS."""
    if unknown := [name for name in fields if name not in FACETS]:
        raise QueryError(f"the values of {unknown[0][:50]!r} are not counted; those of {', '.join(FACETS)} are")
    if not fields:
        raise QueryError(f"name at least one of {', '.join(FACETS)}")


def most_frequent(counts: Mapping[Any, int]) -> Sequence[FacetValue]:
    """The values of a facet in their order. A missing value comes after others of the same count."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0] is None, each[0] or 0))
    return [FacetValue(value, count) for value, count in ordered[:MOST_VALUES_OF_A_FACET]]
