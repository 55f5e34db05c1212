"""What a store can do with what it keeps: look at what was refused, set right, let go, forget, mend, hand over whole.

The commands of docs/keeping.md are made of these. As with `Store`, all times are the database's own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, runtime_checkable

from realestate.items import Listing
from realestate.storage.errors import StoreError
from realestate.storage.history import State
from realestate.storage.snapshots import Kind, SnapshotRef
from realestate.storage.store import Store

#: A page is stored with its batch, by the database's clock: so much after its worker says it was fetched, at most.
SLACK = timedelta(minutes=10)
#: On a listing that a person let pass,
RELEASED = "released"
#: and on one whose texts have gone, for it left the market long ago.
TRIMMED = "trimmed"

Weight = Literal["fine", "repaired", "advice", "fault"]


class NotEmpty(StoreError):
    """Only an empty store can be restored into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InQuarantine:
    """What failed validation, as it is kept."""

    id: str
    """Of its errors and its record: the same fault is kept once."""
    portal: str
    ref: str
    url: str
    errors: tuple[str, ...]
    record: dict[str, Any]
    at: datetime
    """When it was first kept."""


@dataclass(frozen=True, slots=True)
class Current:
    """A listing as it is stored, and whether its newest price was seen on a search page."""

    state: State
    repriced: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. A fault waits for a person, who finds the remedy here."""

    what: str
    found: str
    remedy: str = ""
    weight: Weight = "fine"


@dataclass(frozen=True, slots=True)
class Expired:
    """What is past its days."""

    quarantined: int = 0
    contacts: int = 0
    trimmed: int = 0
    """Listings whose texts go."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What was found of a listing that is erased, by kind: `listings`, `events`, `prices` …"""

    portal: str
    ref: str
    removed: Mapping[str, int] = field(default_factory=dict)


def fault_of(error: str) -> str:
    """The field or rule an error is about: `photos.0: "x" is no address` is about the photos."""
    return error.partition(":")[0].partition(".")[0]


@runtime_checkable
class MaintenanceStore(Protocol):
    """The part of a store that keeps house."""

    # ----- quarantine

    def quarantined(
        self,
        *,
        portal: str | None = None,
        ref: str | None = None,
        fault: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int = 20,
    ) -> Sequence[InQuarantine]:
        """All that fit, the newest first. `fault` is what `fault_of` says of one of its errors."""

    def faults(self, portal: str | None = None) -> Mapping[str, Mapping[str, int]]:
        """portal -> fault -> in how many entries it stands, the most first."""

    def drop_quarantined(self, ids: Sequence[str]) -> int:
        """Throw these away; how many there were."""

    # ----- pages read again

    def current(self, portal: str, refs: Sequence[str]) -> Mapping[str, Current]:
        """The listings as they are stored, by ref; without those that are not."""

    def release(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]:
        """Store what was too bad to be stored when its page was fetched (`last_fetched_at`), by the rules of
        `releasing.release`, and take out of quarantine what was kept of the listing up to then. How many were
        `released`, `refused` by the database, and are `erased`. Safe to do again."""

    # ----- the index of raw pages

    def snapshots(self, portal: str, ref: str) -> Sequence[SnapshotRef]:
        """The newest first."""

    def reindex(self, file: str, rows: Sequence[SnapshotRef]) -> None:
        """From now on these and no others are the rows of the file."""

    def drop_snapshots(self, files: Sequence[str]) -> None: ...

    def drop_old_pages(self, kind: Kind, days: float) -> None:
        """The rows of pages fetched so long ago, wherever their files were: those of a machine that is no more are
        removed by nobody."""

    # ----- what is past its days

    def expire(self, *, quarantine_days: float | None, delisted_days: float | None, dry_run: bool = False) -> Expired:
        """Drop what has been in quarantine for so long; contacts whose time is over; and of listings that were last
        seen so long ago and are off the market the description, the photographs, `extra` and the contacts. Those rows
        stay, with TRIMMED among their flags and without an event, and so does their history. None is for ever."""

    # ----- what stays away

    def erase(self, portal: str, ref: str) -> Erased:
        """Remove all that is known of the listing, in one go, and remember that it was erased: no write stores it
        again, whoever else writes now. Its raw pages' rows stay until their files are rewritten: `erased_pages`.

        A database without transactions (MongoDB) sees first to it that it is not stored again; what is then cut short
        is finished when the same is asked again, or by `expire`.
        """

    def erased(self, portal: str) -> frozenset[str]:
        """The refs of what was erased."""

    def erased_pages(self) -> Sequence[SnapshotRef]:
        """The rows of erased listings' raw pages."""

    def erase_contact(self, mark: str) -> Sequence[tuple[str, str]]:
        """Remember that whoever the mark stands for was erased. Portal and ref of the listings that had the contact:
        they are to be erased one by one."""

    def erased_contacts(self, marks: Sequence[str]) -> frozenset[str]:
        """Those of the marks that were erased: who stores contacts leaves them out."""

    # ----- health

    def upkeep(self) -> Iterator[Finding]:
        """Look after the database, repair what can be repaired without harm, and tell of the rest."""

    # ----- the whole

    def everything(self) -> Iterator[tuple[str, Any]]:
        """All there is, each with its part, in the order of `records.PARTS`, whoever writes meanwhile, and without ever
        holding all of it: as it was at one moment; where the database cannot show that (MongoDB), each listing with its
        events and prices is."""

    def restore(self, records: Iterable[tuple[str, Any]]) -> None:
        """The same into a store without any, wholly or not at all; raises NotEmpty if it is not empty. Whatever
        `records` raises, or a death in the middle, leaves it empty."""


@runtime_checkable
class FullStore(Store, MaintenanceStore, Protocol):
    """A store with all its commands."""
