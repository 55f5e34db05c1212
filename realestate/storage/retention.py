"""Delete data after its retention time. The table of times is in docs/keeping.md."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from realestate.storage.erasure import RawPages, erase_pages
from realestate.storage.maintenance import Expired, MaintenanceStore
from realestate.storage.snapshots import Kind, expired, open_place, prune
from realestate.storage.snapshots.filenames import FileName
from realestate.storage.snapshots.writer import LONGEST_SECONDS

#: The last page of a file is at most this much younger than the file.
_LONGEST_DAYS = LONGEST_SECONDS / 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """How long each kind of data is kept; None is for ever. Contacts are stored with their expiry time."""

    failed: float | None
    sampled: float | None
    all: float | None
    quarantine: float | None
    delisted: float | None

    @property
    def raw(self) -> Mapping[Kind, float]:
        days: dict[Kind, float | None] = {"failed": self.failed, "sampled": self.sampled, "all": self.all}
        return {kind: each for kind, each in days.items() if each is not None}


@dataclass(frozen=True, slots=True)
class Retained:
    """What was deleted, or would be."""

    files: Mapping[str, int]
    """Files of raw pages, by kind."""
    expired: Expired
    erased: RawPages = field(default_factory=RawPages)
    """Raw pages of erased listings whose files were in use at the time of the erasure."""


def retain(
    store: MaintenanceStore, days: Days, url: str, now: datetime, *, spool: Path | None = None, dry_run: bool = False
) -> Retained:
    """Delete what is older than its retention time, and finish interrupted erasures of raw pages."""
    if dry_run:
        files = expired(open_place(url, spool), days.raw, now)
    else:
        files = prune(url, days.raw, now, drop_rows=store.drop_snapshots, spool=spool)
        for kind, each in days.raw.items():
            store.drop_old_pages(kind, each + _LONGEST_DAYS)
    gone = store.expire(quarantine_days=days.quarantine, delisted_days=days.delisted, dry_run=dry_run)
    erased = RawPages() if dry_run else erase_pages(store, url, spool=spool)
    return Retained(_by_kind(files), gone, erased)


def _by_kind(files: list[str]) -> Mapping[str, int]:
    parsed = (FileName.parse(name) for name in files)
    return dict(Counter(name.kind for name in parsed if name))
