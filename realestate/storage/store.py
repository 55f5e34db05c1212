"""What every store can do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Protocol, Self

from realestate.items import Listing, Part, Status, as_record
from realestate.items.others import Other, other_record
from realestate.storage.contacts import Sealed, Source
from realestate.storage.history import Event, Observed, PriceSeen
from realestate.storage.other_kinds import StoredOther
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.validators import PageRead, Validators

#: Only a job over the whole portal can miss a listing,
WHOLE = "all"
#: and of these modes: the others do not look everywhere.
SWEEPS = ("full", "sweep")
#: A job that would delist a larger share of its portal's offers delists none: it is more often us than the market.
MASS = 0.2
#: Complete sweeps without a listing, before a direct check that shows something else than it counts as its end.
ABSENCES = 2
#: A listing is read again between so many days after the last time.
DUE_SOONEST, DUE_LATEST = 1, 14
#: Listings that one refresh asks for.
DUE_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """An item that failed validation: what was made of the page, and what is wrong with it."""

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
        ref, url = str(item.ref), str(item.url)
        return cls(portal=item.portal, ref=ref, url=url, errors=errors, record=record)


@dataclass(frozen=True, slots=True)
class Batch:
    """What is written together. What was observed is in the order in which it was seen, each with its job (job)."""

    observed: Sequence[tuple[Observed, str]] = ()
    quarantined: Sequence[Quarantined] = ()
    snapshots: Sequence[SnapshotRef] = ()
    others: Sequence[tuple[Other, str]] = ()
    """What is no home, each with its job."""


@dataclass(frozen=True, slots=True)
class Written:
    """What one batch did. `new` and `known` count listings that were read, `seen` those on search pages, `others` what
    is no home."""

    new: int = 0
    known: int = 0
    seen: int = 0
    quarantined: int = 0
    events: Mapping[str, int] = field(default_factory=dict)
    """Events made, by type."""
    others: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """A job, as far as it decides what is gone."""

    job: str
    portal: str
    mode: str
    scope: str
    """WHOLE, or whatever else names a part of the portal."""
    started_at: datetime
    swept_at: datetime | None = None
    """When all its search pages had been read, or given up."""
    complete: bool | None = None
    """Whether every search page was read; None while it is not over."""
    reason: str | None = None
    """Why it is not complete."""
    verdict: Literal["applied", "withheld"] | None = None
    """Whether what it found gone was delisted, or was too much to be believed."""
    departures: int = 0
    concluded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What decides whether a listing on a search page has to be read again."""

    status: Status
    price: Decimal | None
    currency: str | None
    last_fetched_at: datetime
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a job's evidence came to: `found` listings gone, of `offered` in the portal."""

    verdict: Literal["applied", "withheld"]
    found: int
    offered: int
    delisted: int


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event with its place in the order in which readers see them."""

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


class Unread(NamedTuple):
    """A listing whose own page is to be read, and what some portals tell on search pages alone."""

    ref: str
    url: str
    rent_period: str | None = None


class Store(Protocol):
    """Listings with their history. Writing the same twice changes nothing but the time it was seen.

    A store belongs to one thread at a time. Calls raise StoreAway when the database does not answer. All times are the
    database's own, so that no worker's clock matters.
    """

    def migrate(self) -> None:
        """Bring the schema up to date; safe while others do the same or write."""

    def close(self) -> None: ...

    # ----- writing

    def write(self, batch: Batch) -> Written:
        """Each listing wholly or not at all, by the rules of `changes.decide`; what is gone is noted as evidence of its
        job. What is no home likewise, by those of `other_kinds.decide_other`. A row the database refuses goes to
        quarantine instead."""

    def keep_contacts(self, contacts: Sequence[Sealed], days: int) -> None:
        """Beside their listings, for so many days; but for who was erased."""

    def keep_validators(self, read: Sequence[PageRead]) -> None:
        """Of pages whose listings are written already: the last word counts. Not of what was erased."""

    def correct(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]:
        """What a better parser made of pages read before: corrections, no events of the market."""

    # ----- jobs: what is gone

    def begin_job(self, job: str, portal: str, mode: str, scope: str) -> bool:
        """Told by every seed of the job; the first counts. Whether this was the first."""

    def end_sweep(self, job: str, *, complete: bool, reason: str | None = None) -> Sequence[Unread]:
        """All search pages were read or given up. Answers the listings that are offered as far as
        we know and were not seen: of a complete job over the whole portal, else none. Safe to ask again."""

    def conclude(self, job: str, *, force: bool = False) -> Conclusion:
        """Delist what the job found gone, unless it is too much (MASS) and not forced. Safe to ask again, and after a
        crash in the middle. Evidence is void if the listing was seen after it; `absent` counts only after ABSENCES
        complete sweeps of the whole portal without the listing."""

    def jobs(self, portal: str | None = None, limit: int = 20) -> Sequence[Job]:
        """The newest first."""

    def keep_part(self, job: str, part: Part) -> None:
        """Store the part, once for each job and search: a later one replaces an earlier one."""

    def parts(self, job: str) -> Sequence[Part]:
        """By their searches."""

    # ----- what spiders ask

    def known(self, portal: str, refs: Sequence[str]) -> Mapping[str, Known]: ...

    def validators(
        self, portal: str, refs: Sequence[str], parser_version: int, contacts: Source | None = None
    ) -> Mapping[str, Validators]:
        """By ref, of the listings that are offered, not in doubt, and as this version of the parser read them, not too
        long ago; with `contacts`, only of those whose contacts of this source are kept."""

    def due(self, portal: str, limit: int = DUE_AT_ONCE) -> Sequence[Unread]:
        """The offered listings whose own pages are to be read again, the longest overdue first. A
        listing is due after half the mean time between its changes, within DUE_SOONEST and DUE_LATEST."""

    def erased(self, portal: str) -> frozenset[str]:
        """The refs of the portal's listings that were erased."""

    def watermark(self, portal: str, scope: str) -> str | None: ...

    def set_watermark(self, portal: str, scope: str, value: str, job: str) -> None: ...

    # ----- reading

    def counts(self) -> dict[str, tuple[int, int]]:
        """Per portal: what is kept, homes or not, and what is in quarantine."""

    def records(self, portal: str) -> Iterator[dict[str, Any]]:
        """The portal's listings as records (`items.as_record`), by ref."""

    def others(self, portal: str) -> Iterator[StoredOther]:
        """What the portal has that is no home, by ref."""

    def events(self, after: int = 0, limit: int = 1000) -> Sequence[Numbered]:
        """The next events after a number. A reader who asks with the last number it saw never misses one."""

    def history(self, portal: str, ref: str) -> Sequence[Event]: ...

    def prices(self, portal: str, ref: str) -> Sequence[PriceSeen]: ...

    def market(self, country: str | None = None) -> list[MarketRow]:
        """Median asking prices by place and operation, the largest markets first."""

    def medians(self) -> list[MedianRow]:
        """What a square metre of the listings on offer costs, wherever a city is known; the smallest groups too."""
