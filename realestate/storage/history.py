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

#: Where a price was read. `late`: on a page that was stored after a newer one.
Source = Literal["listing", "search", "correction", "late"]
#: What a spider may observe of a listing.
Observed = Listing | Sighting | Gone


@dataclass(frozen=True, slots=True)
class Suspect:
    """A price too far from the last one to be accepted at once, and the job that saw it."""

    price: Decimal
    job: str


def _is_after(time: datetime | None, at: datetime) -> bool:
    return time is not None and time > at


@dataclass(frozen=True, slots=True)
class State:
    """The stored state of one listing. `revision` grows with every change, not with every sighting. It is 0 if an old
    version without history stored the listing."""

    listing: Listing
    revision: int = 0
    suspect: Suspect | None = None
    price_sighted_at: datetime | None = None
    """When a search page last showed the price."""

    def is_price_newer(self, at: datetime) -> bool:
        """Whether the price is known from a page that was fetched after this time."""
        return _is_after(self.listing.last_fetched_at, at) or _is_after(self.price_sighted_at, at)

    def is_content_newer(self, at: datetime) -> bool:
        """Whether a detail page that was fetched after this time was read, or the listing was delisted since."""
        gone = self.listing.delisted_at
        return _is_after(self.listing.last_fetched_at, at) or (gone is not None and gone[1] > at)

    def has_left_after(self, at: datetime) -> bool:
        """Whether it is sold or rented, and a page that was fetched after this time showed it."""
        return self.listing.status in ("sold", "rented") and self.is_price_newer(at)


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
    evidence: list[tuple[Gone, str, datetime]] = field(default_factory=list)
    """Evidence that the listing is gone, each with its job and the time of its fetch. It is judged at the end of the
    job: see `depart`."""
    late: int = 0
    """Observations that differ from the stored listing, but are older than it. They change nothing."""
    late_prices: list[PriceSeen] = field(default_factory=list)
    """Their prices, with the revision 0. See `changes.add_late_prices`."""

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
