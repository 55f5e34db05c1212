"""Maintenance of a store: quarantine, releases, retention, erasure, repair, backup and restore.

The commands of docs/keeping.md use these methods. As with `Store`, all times are those of the database.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, runtime_checkable

from realestate.items import Listing
from realestate.storage.coverage import CoverageStore
from realestate.storage.errors import StoreError
from realestate.storage.export import ExportStore
from realestate.storage.history import State
from realestate.storage.homes import HomesStore
from realestate.storage.lake import LakeStore
from realestate.storage.outbox import OutboxStore
from realestate.storage.query.places import PlaceStore
from realestate.storage.query.results import QueryStore
from realestate.storage.searches import SearchStore
from realestate.storage.snapshots import Kind, SnapshotRef
from realestate.storage.states import StateStore
from realestate.storage.store import Store

#: A page is stored at most this long after it was fetched. The two times come from two clocks.
SLACK = timedelta(minutes=10)
#: The flag of a listing that a person released from quarantine,
RELEASED = "released"
#: and of one whose texts were deleted, because it left the market long ago.
TRIMMED = "trimmed"
#: The fields of such a listing that events may contain too.
TEXTS = ("description", "photos")

Weight = Literal["fine", "repaired", "advice", "fault"]


class NotEmpty(StoreError):
    """The store is not empty, so nothing can be restored into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InQuarantine:
    """An entry of the quarantine."""

    id: str
    """A hash of its errors and its record, so that the same fault is kept once."""
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
    """The result of one check. A fault needs a person; `remedy` says what to do."""

    what: str
    found: str
    remedy: str = ""
    weight: Weight = "fine"


@dataclass(frozen=True, slots=True)
class Expired:
    """How much was deleted after its retention time."""

    quarantined: int = 0
    contacts: int = 0
    trimmed: int = 0
    """Listings whose texts were deleted."""


@dataclass(frozen=True, slots=True)
class Erased:
    """How many records of an erased listing were deleted, by kind: `listings`, `events`, `prices` …"""

    portal: str
    ref: str
    removed: Mapping[str, int] = field(default_factory=dict)


def fault_of(error: str) -> str:
    """The field or rule of an error: of `photos.0: "x" is no address` it is `photos`."""
    return error.partition(":")[0].partition(".")[0]


def without_texts(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """The data of an event with None for the old and new values of TEXTS; None if it has none of them."""
    fields = data.get("fields")
    if not isinstance(fields, dict) or fields.keys().isdisjoint(TEXTS):
        return None
    return {**data, "fields": {name: [None, None] if name in TEXTS else each for name, each in fields.items()}}


@runtime_checkable
class MaintenanceStore(Protocol):
    """The methods of a store for its maintenance."""

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
        """The entries that match, the newest first. `fault` is a field or rule, as `fault_of` returns it."""

    def faults(self, portal: str | None = None) -> Mapping[str, Mapping[str, int]]:
        """portal -> fault -> number of entries with it, the most frequent first."""

    def drop_quarantined(self, ids: Sequence[str]) -> int:
        """Delete these entries, and return how many there were."""

    # ----- pages parsed again

    def current(self, portal: str, refs: Sequence[str]) -> Mapping[str, Current]:
        """The stored listings, by ref."""

    def release(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]:
        """Store listings that failed validation when their page was fetched (`last_fetched_at`), by the rules of
        `changes.release`, and delete their quarantine entries up to that time. Return how many were `released`,
        `refused` by the database, and skipped because they are `erased`. Safe to repeat."""

    # ----- the index of raw pages

    def snapshots(self, portal: str, ref: str) -> Sequence[SnapshotRef]:
        """The newest first."""

    def reindex(self, file: str, rows: Sequence[SnapshotRef]) -> None:
        """Replace all index rows of the file by these."""

    def drop_snapshots(self, files: Sequence[str]) -> None:
        """Delete the index rows of these files."""

    def drop_old_pages(self, kind: Kind, days: float) -> None:
        """Delete the index rows of pages that were fetched this long ago, also if their files were on a machine
        that does not exist any more."""

    # ----- retention

    def expire(self, *, quarantine_days: float | None, delisted_days: float | None, dry_run: bool = False) -> Expired:
        """Delete quarantine entries older than `quarantine_days`, expired contacts, and the texts of listings off the
        market that were last seen `delisted_days` ago: description, photos, `extra`, contacts. Rows and history of such
        listings stay, with TRIMMED among their flags and without an event. None is for ever."""

    # ----- erasure

    def erase(self, portal: str, ref: str) -> Erased:
        """Delete everything about the listing in one transaction, and record that it was erased: no later write stores
        it again. The index rows of its raw pages stay until their files are rewritten: see `erased_pages`.

        MongoDB has no transactions: there the erasure is recorded first. If it is interrupted, the same call or
        `expire` finishes it.
        """

    def erased(self, portal: str) -> frozenset[str]:
        """The refs of the portal's erased listings."""

    def erased_pages(self) -> Sequence[SnapshotRef]:
        """The index rows of raw pages of erased listings."""

    def erase_contact(self, mark: str) -> Sequence[tuple[str, str]]:
        """Record that the contact with this mark was erased. Return portal and ref of the listings that have it: the
        caller erases them one by one."""

    def erased_contacts(self, marks: Sequence[str]) -> frozenset[str]:
        """Those of the marks that were erased. Such contacts must not be stored."""

    # ----- health

    def upkeep(self) -> Iterator[Finding]:
        """Check the database, repair what can be repaired while workers run, and yield a finding for each check."""

    # ----- backup

    def everything(self) -> Iterator[tuple[str, Any]]:
        """Yield every record with its part, in the order of `records.PARTS`, as of one point in time. In MongoDB that
        holds for each listing with its events and prices, not for all of them together. Others may write meanwhile."""

    def restore(self, records: Iterable[tuple[str, Any]]) -> None:
        """Load the records into an empty store, all or none; raises NotEmpty if it is not empty. If `records` raises,
        or the process is killed, the store stays empty."""


@runtime_checkable
class FullStore(
    Store,
    MaintenanceStore,
    OutboxStore,
    StateStore,
    QueryStore,
    ExportStore,
    LakeStore,
    SearchStore,
    HomesStore,
    PlaceStore,
    CoverageStore,
    Protocol,
):
    """A store with all its commands, which can be searched."""
