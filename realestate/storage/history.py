"""What is kept of a listing, and of what happened to it."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any, Literal

from realestate.items import FIELDS, Gone, Listing, Sighting

EventType = Literal[
    "listed",
    "price_changed",
    "price_meaning_changed",
    "updated",
    "reserved",
    "sold",
    "rented",
    "delisted",
    "relisted",
    "corrected",
    "appeared",
]

#: Where a price was read.
Source = Literal["listing", "search", "correction"]
#: What a page may show of a listing.
Observed = Listing | Sighting | Gone


@dataclass(frozen=True, slots=True)
class Suspect:
    """A price too far from the last to be believed at once, and the job that saw it."""

    price: Decimal
    job: str


@dataclass(frozen=True, slots=True)
class State:
    """What a store knows of one listing. `revision` grows with every change, not with every sighting; 0 is a listing
    stored by a version of ours that kept no history."""

    listing: Listing
    revision: int = 0
    suspect: Suspect | None = None


@dataclass(slots=True)  # a frozen one takes five times as long to make, and every new listing has one
class Event:
    """One thing that happened to a listing. `revision` and `type` identify it within its listing."""

    portal: str
    ref: str
    revision: int
    type: EventType
    at: datetime
    job: str
    data: dict[str, Any]


@dataclass(slots=True)  # as Event
class PriceSeen:
    """A price that was not there before."""

    portal: str
    ref: str
    revision: int
    at: datetime
    job: str
    source: Source
    price: Decimal | None
    currency: str | None
    price_basis: str | None
    rent_period: str | None
    suspect: bool


@dataclass(slots=True)
class Outcome:
    """What is to be written. `state` is None for what nobody has ever read: a sighting alone is no listing."""

    state: State | None
    events: list[Event] = field(default_factory=list)
    prices: list[PriceSeen] = field(default_factory=list)
    evidence: list[tuple[Gone, str]] = field(default_factory=list)
    """That it is gone, each with its job; weighed when the job is over: see `depart`."""

    def changed(self, before: State | None) -> bool:
        """Whether more is to be written than that it was seen."""
        return self.state is not None and (before is None or self.state.revision != before.revision)


_values = attrgetter(*FIELDS)


def altered(listing: Listing, **changes: Any) -> Listing:
    """A copy with other values: `dataclasses.replace` takes three times as long, and every new listing is copied."""
    copy = Listing.__new__(Listing)
    for name, value in zip(FIELDS, _values(listing), strict=True):
        setattr(copy, name, value)
    for name, value in changes.items():
        setattr(copy, name, value)
    return copy
