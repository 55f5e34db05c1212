"""Field coverage: how many listings have a value of each field, by portal and by the day on which their page was read.

A new page layout shows here first: from one day on, a field is missing that nearly every listing had.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

#: The fields that are counted: those that most portals show of most homes.
COVERED = (
    "price",
    "area_m2",
    "rooms",
    "floor",
    "city",
    "district",
    "latitude",
    "year_built",
    "seller_type",
    "posted_at",
    "title",
    "description",
    "photos",
)


@dataclass(frozen=True, slots=True)
class FieldCoverage:
    """The listings of a portal whose page was last read on this day (UTC), and how many of them have each field."""

    portal: str
    day: date
    listings: int
    known: Mapping[str, int]

    def share(self, field: str) -> float:
        return self.known[field] / self.listings


class CoverageStore(Protocol):
    """The part of a store that counts fields."""

    def field_coverage(self, since: datetime) -> Sequence[FieldCoverage]:
        """The coverage of each portal and day since this time, by portal and day. PostgreSQL estimates it from a
        sample if there are more than 100,000 listings. A server asks this seldom and keeps the answer."""
