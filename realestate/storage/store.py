"""The interface of a store, and the records it takes and returns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Protocol, Self

from realestate.items import Listing, Part, PriceBasis, RentPeriod, Status, as_record
from realestate.items.others import Other, other_record
from realestate.storage.clock import Seen
from realestate.storage.contacts import Sealed, Source
from realestate.storage.history import ALL_EVENTS, Event, EventFilter, Observed, PriceSeen
from realestate.storage.homes import PhotoHash
from realestate.storage.occurrences import Occurrences
from realestate.storage.orders import Orders
from realestate.storage.other_kinds import SeenOther, StoredOther
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.validators import PageRead, Validators

#: The scope of a job over the whole portal. Listings can be missing only from such a job,
WHOLE = "all"
#: and only in these modes. The others do not read all search pages.
SWEEPS = ("full", "sweep")
#: A job that would delist a larger share of its portal's listings delists none: that is more often our error.
MASS = 0.2
#: This many complete sweeps must miss a listing before evidence of the kind `absent` counts.
ABSENCES = 2
#: A listing is read again at the earliest, and at the latest, this many days after the last time.
DUE_EARLIEST = 1
DUE_LATEST = 14
#: The most listings that one refresh requests.
DUE_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """An item that failed validation: its record and its errors."""

    portal: str
    ref: str
    url: str
    errors: tuple[str, ...]
    record: Mapping[str, Any]

    @classmethod
    def of(cls, item: Listing | Other, *errors: str) -> Self:
        try:
            record = as_record(item) if isinstance(item, Listing) else other_record(item)
        except (TypeError, ValueError, ArithmeticError):
            record = {each.name: repr(getattr(item, each.name)) for each in fields(item)}
        ref = str(item.ref)
        url = str(item.url)
        return cls(portal=item.portal, ref=ref, url=url, errors=errors, record=record)


@dataclass(frozen=True, slots=True)
class Batch:
    """What is written together. Each observation comes with its job and the time of its request; an observation without
    a time was made now."""

    observed: Sequence[Seen | tuple[Observed, str]] = ()
    quarantined: Sequence[Quarantined] = ()
    snapshots: Sequence[SnapshotRef] = ()
    others: Sequence[SeenOther | tuple[Other, str]] = ()
    """Items of other kinds, each with its job and the time of its request."""


@dataclass(frozen=True, slots=True)
class Written:
    """The result of writing a batch. `new` and `known` count listings whose page was read, `seen` those on search
    pages, `others` items of other kinds."""

    new: int = 0
    known: int = 0
    seen: int = 0
    quarantined: int = 0
    events: Mapping[str, int] = field(default_factory=dict)
    """Number of new events, by type."""
    others: int = 0
    late: int = 0
    """Observations that were older than what is stored, and differ from it. They changed nothing."""


@dataclass(frozen=True, slots=True)
class Job:
    """The record of a job. It decides which listings are gone. Portal and name identify it."""

    job: str
    portal: str
    mode: str
    scope: str
    """WHOLE, or a name for a part of the portal."""
    started_at: datetime
    swept_at: datetime | None = None
    """When all its search pages had been read or had failed."""
    complete: bool | None = None
    """Whether every search page was read; None until then."""
    reason: str | None = None
    """Why it is not complete."""
    verdict: Literal["applied", "withheld"] | None = None
    """`applied`: the listings it found gone were delisted. `withheld`: they were too many, so none was."""
    departures: int = 0
    concluded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """The stored values that decide whether a listing on a search page is read again."""

    status: Status
    price: Decimal | None
    currency: str | None
    price_basis: PriceBasis | None
    rent_period: RentPeriod | None
    charges: Decimal | None
    last_fetched_at: datetime
    updated_at: datetime | None
    card: str | None
    """What the search page showed when its own page was last read: see `CardRead`."""


@dataclass(frozen=True, slots=True)
class CardRead:
    """The page of a listing was read, or need not be read. `card` has hashes of what the search page showed of the
    listing then; the spider compares them."""

    portal: str
    ref: str
    card: str


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The result of a job's evidence: it `found` listings gone, of those `offered` in the portal."""

    verdict: Literal["applied", "withheld"]
    found: int
    offered: int
    delisted: int


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event with its number. Readers see events in the order of their numbers."""

    seq: int
    event: Event


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
    """The median price of a square metre of listings with the same values in all other fields."""

    country: str
    city: str
    district: str | None
    operation: str
    property_type: str
    rent_period: str | None
    currency: str
    price_per_m2: float
    listings: int


class Unread(NamedTuple):
    """A listing whose detail page is to be read. Some portals show the rent period on search pages only."""

    ref: str
    url: str
    rent_period: str | None = None


class JobKey(NamedTuple):
    """What identifies a job."""

    portal: str
    job: str


@dataclass(frozen=True, slots=True)
class ServerState:
    """What the database server says about itself."""

    now: datetime
    free_connections: int | None = None
    """Connections that it would still accept; None if it does not say."""


class Store(Orders, Occurrences, Protocol):
    """Listings with their history. Writing the same batch twice changes only the time at which listings were seen.

    A store is used by one thread at a time. Calls raise StoreAway when the database is not available. All times are
    those of the database, so that no worker's clock matters: see `clock`.
    """

    def migrate(self) -> None:
        """Bring the schema up to date. Safe while others migrate or write. Only reads if it is up to date, so the role
        need not own the tables. Raises StoreError if it is too new, or too old and the role may not change it."""

    def schema_version(self) -> int:
        """The version of the schema; 0 if the database is empty. Changes nothing."""

    def close(self) -> None: ...

    # ----- writing

    def write(self, batch: Batch) -> Written:
        """Write each listing completely or not at all, by the rules of `changes.decide`. An observation that is older
        than what is stored changes no listing. `Gone` becomes evidence of its job. Items of other kinds
        follow the rules of `other_kinds.decide_other`. An item that the database refuses goes to quarantine."""

    def keep_contacts(self, contacts: Sequence[Sealed], days: int) -> None:
        """Store contacts for this many days, except those that were erased."""

    def keep_validators(self, read: Sequence[PageRead]) -> None:
        """Store the validators of pages whose listings are written already. Those of erased listings are not stored."""

    def keep_cards(self, read: Sequence[CardRead]) -> None:
        """Store what search pages showed of listings that are written already. Those of erased listings are not
        stored."""

    def keep_photo_hashes(self, read: Sequence[PhotoHash]) -> None:
        """Store hashes of photos. Those of erased listings are not stored."""

    def photo_hashes(self, portal: str, refs: Sequence[str] | None = None) -> Mapping[str, Mapping[str, int]]:
        """The hashes of the photos of these listings, or of all: ref -> photo -> hash."""

    def correct(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]:
        """Correct listings by what a better parser read from kept pages. Makes only `corrected` events."""

    # ----- jobs, and which listings are gone

    def begin_job(self, job: str, portal: str, mode: str, scope: str) -> bool:
        """Record the job of the portal, once: every seed of the job calls this. Return whether this was the first
        call. Jobs of two portals may have the same name."""

    def end_sweep(self, job: str, portal: str, *, complete: bool, reason: str | None = None) -> Sequence[Unread]:
        """Record that all search pages were read or have failed. Of a complete job over the whole portal, return the
        offered listings that it did not see; of any other, none. Safe to repeat."""

    def conclude(self, job: str, portal: str, *, force: bool = False) -> Conclusion:
        """Delist what the job found gone, unless it is too much (MASS) and not forced. Safe to repeat, also after a
        crash in the middle. Evidence does not count if the listing was seen after it. `absent` counts only after
        ABSENCES complete sweeps of the whole portal without the listing."""

    def jobs(
        self,
        portal: str | None = None,
        limit: int = 20,
        *,
        job: str | None = None,
        concluded_after: datetime | None = None,
    ) -> Sequence[Job]:
        """Jobs of the portal, or of all; only those of the name `job` if it is given, and only those concluded after a
        time. The newest first."""

    def keep_part(self, job: str, part: Part) -> None:
        """Store the part of its portal's job, once for each search: a later one replaces an earlier one."""

    def parts(self, job: str, portal: str) -> Sequence[Part]:
        """The parts of the job, sorted by search."""

    # ----- for spiders

    def known(self, portal: str, refs: Sequence[str]) -> Mapping[str, Known]: ...

    def validators(
        self, portal: str, refs: Sequence[str], parser_version: int, contacts: Source | None = None
    ) -> Mapping[str, Validators]:
        """The validators by ref, of listings that are offered, have no suspect price, and were read by this version of
        the parser not too long ago. With `contacts`, only of those whose contacts of this source are kept."""

    def due(self, portal: str, limit: int = DUE_AT_ONCE) -> Sequence[Unread]:
        """The listings on the market whose pages are to be read again, the longest overdue first. A listing is due
        after half the mean time between its changes, at least DUE_EARLIEST and at most DUE_LATEST days."""

    def erased(self, portal: str) -> frozenset[str]:
        """The refs of the portal's listings that were erased."""

    def watermark(self, portal: str, scope: str) -> str | None: ...

    def set_watermark(self, portal: str, scope: str, value: str, job: str) -> None: ...

    # ----- reading

    def server_state(self) -> ServerState:
        """The time of the server, and how many connections are free. Changes nothing."""

    def size(self) -> int:
        """The bytes that the database takes on the server's disk."""

    def counts(self) -> dict[str, tuple[int, int]]:
        """For each portal: the number of stored items of all kinds, and of entries in quarantine."""

    def statuses(self, portal: str) -> Mapping[str, int]:
        """Number of the portal's listings, by status."""

    def records(self, portal: str) -> Iterator[dict[str, Any]]:
        """The portal's listings as records (`items.as_record`), by ref."""

    def others(self, portal: str) -> Iterator[StoredOther]:
        """The portal's items of other kinds, by ref."""

    def events(self, after: int = 0, limit: int = 1000, wanted: EventFilter = ALL_EVENTS) -> Sequence[Numbered]:
        """The next wanted events after a number. A reader that passes the last number it saw misses none."""

    def last_event(self) -> int:
        """The number of the newest event; 0 if there is none."""

    def event_counts(self, after: int = 0) -> Mapping[JobKey, Mapping[str, int]]:
        """The number of events after a number: by job, then by type."""

    def history(self, portal: str, ref: str) -> Sequence[Event]: ...

    def prices(self, portal: str, ref: str) -> Sequence[PriceSeen]: ...

    def market(self, country: str | None = None) -> list[MarketRow]:
        """Median asking prices by place and operation, the largest markets first."""

    def medians(self) -> list[MedianRow]:
        """Median prices of a square metre of offered listings with a known city, also of the smallest groups."""
