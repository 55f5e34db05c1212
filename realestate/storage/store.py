"""What every store can do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, Self

from realestate.items import FIELDS, Listing, as_record


class StoreError(RuntimeError):
    """The store cannot be used as configured; the text is for a person."""


class StoreAway(StoreError):
    """The database does not answer; the same call may succeed later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A listing that failed validation: what was made of the page, and what is wrong with it."""

    portal: str
    ref: str
    url: str
    errors: tuple[str, ...]
    record: Mapping[str, Any]

    @classmethod
    def of(cls, listing: Listing, *errors: str) -> Self:
        try:
            record = as_record(listing)
        except (TypeError, ValueError, ArithmeticError):
            record = {name: repr(getattr(listing, name)) for name in FIELDS}
        ref, url = str(listing.ref), str(listing.url)
        return cls(portal=listing.portal, ref=ref, url=url, errors=errors, record=record)


@dataclass(frozen=True, slots=True)
class Written:
    """What one batch did."""

    new: int = 0
    known: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class MarketRow:
    """The asking prices of one place."""

    country: str
    city: str
    district: str
    operation: str
    currency: str
    listings: int
    median_price: Decimal
    median_price_per_m2: Decimal | None


class MedianRow(NamedTuple):
    """The median price of a square metre of the listings that are alike in all else."""

    country: str
    city: str
    district: str | None
    operation: str
    property_type: str
    rent_period: str | None
    currency: str
    price_per_m2: float
    listings: int


class Store(Protocol):
    """Listings and quarantine. Writing the same twice changes nothing but the time it was seen.

    A store belongs to one thread at a time. Calls raise StoreAway when the database does not answer.
    """

    def migrate(self) -> None:
        """Bring the schema up to date; safe while others do the same or write."""

    def write(self, listings: Sequence[Listing], quarantined: Sequence[Quarantined] = ()) -> Written:
        """All of a batch or nothing; a row the database refuses goes to quarantine instead."""

    def counts(self) -> dict[str, tuple[int, int]]:
        """Per portal: listings kept, and in quarantine."""

    def records(self, portal: str) -> Iterator[dict[str, Any]]:
        """The portal's listings as records (`items.as_record`), by ref."""

    def market(self, country: str | None = None) -> list[MarketRow]:
        """Median asking prices by place and operation, the largest markets first."""

    def medians(self) -> list[MedianRow]:
        """What a square metre of the listings on offer costs, wherever a city is known; the smallest groups too."""

    def close(self) -> None: ...
