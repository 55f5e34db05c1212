"""The state of a stored listing, its events and its prices."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any, Literal, get_args

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

EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)

#: Where a price was read.
Source = Literal["listing", "search", "correction"]
#: What a spider may observe of a listing.
Observed = Listing | Sighting | Gone


@dataclass(frozen=True, slots=True)
class Suspect:
    """A price too far from the last one to be accepted at once, and the job that saw it."""

    price: Decimal
    job: str


@dataclass(frozen=True, slots=True)
class State:
    """The stored state of one listing. `revision` grows with every change, not with every sighting. It is 0 if an old
    version without history stored the listing."""

    listing: Listing
    revision: int = 0
    suspect: Suspect | None = None


@dataclass(slots=True)  # not frozen: that takes five times as long to create, and every new listing has one
class Event:
    """One thing that happened to a listing. `revision` and `type` identify it within its listing."""

    portal: str
    ref: str
    revision: int
    type: EventType
    at: datetime
    job: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted. None: all."""

    portal: str | None = None
    type: EventType | None = None
    since: datetime | None = None
    """Those at this time and later."""
    until: datetime | None = None
    """Those before this time."""

    def matches(self, event: Event) -> bool:
        return (
            self.portal in (None, event.portal)
            and self.type in (None, event.type)
            and (self.since is None or event.at >= self.since)
            and (self.until is None or event.at < self.until)
        )


ALL_EVENTS = EventFilter()


@dataclass(slots=True)  # not frozen, as Event
class PriceSeen:
    """A new price of a listing."""

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
    """What is to be written. `state` is None if no detail page was ever read: a sighting alone is not a listing."""

    state: State | None
    events: list[Event] = field(default_factory=list)
    prices: list[PriceSeen] = field(default_factory=list)
    evidence: list[tuple[Gone, str]] = field(default_factory=list)
    """Evidence that the listing is gone, each with its job. It is judged at the end of the job: see `depart`."""

    def changed(self, before: State | None) -> bool:
        """Whether more has to be written than the time of the sighting."""
        return self.state is not None and (before is None or self.state.revision != before.revision)


_values = attrgetter(*FIELDS)


def altered(listing: Listing, **changes: Any) -> Listing:
    """Return a copy with other values. `dataclasses.replace` takes three times as long, and this is called for every
    new listing."""
    copy = Listing.__new__(Listing)
    for name, value in zip(FIELDS, _values(listing), strict=True):
        setattr(copy, name, value)
    for name, value in changes.items():
        setattr(copy, name, value)
    return copy
