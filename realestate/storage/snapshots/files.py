"""Read pages from files, delete old files, and remove erased pages from files."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from realestate.storage.snapshots import warc
from realestate.storage.snapshots.destinations import Place, Replaced, open_place
from realestate.storage.snapshots.filenames import FileName
from realestate.storage.snapshots.page import KINDS, DamagedSnapshot, Kind, Page, SnapshotRef, digest_of
from realestate.storage.snapshots.writer import LONGEST_SECONDS


class Located(Protocol):
    """A row of the index, or anything with these fields."""

    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def digest(self) -> str: ...


def read(url: str, where: Located, *, spool: Path | None = None) -> Page:
    """Return the page of an index row. It takes one seek, or one range request."""
    page = warc.decode(open_place(url, spool).read(where.file, where.offset, where.length))
    if digest_of(page.body) != where.digest:
        raise DamagedSnapshot(f"{where.file} at byte {where.offset} is not the page of its index row")
    return page


def pages(
    url: str,
    portal: str | None = None,
    *,
    kinds: Collection[Kind] = KINDS,
    since: datetime | None = None,
    spool: Path | None = None,
) -> Iterator[tuple[SnapshotRef, Page]]:
    """Yield every readable page, roughly in the order of fetching. Needs no index."""
    place = open_place(url, spool)
    for name in place.names(portal):
        parsed = FileName.parse(name)
        assert parsed is not None
        if parsed.kind in kinds and not (since and parsed.begun < since - timedelta(seconds=LONGEST_SECONDS)):
            yield from _pages_of(place, name, since)


def _pages_of(place: Place, name: str, since: datetime | None) -> Iterator[tuple[SnapshotRef, Page]]:
    for offset, length, page in warc.members(place.read(name), name):
        if since is None or page.fetched_at >= since:
            yield SnapshotRef.of(page, name, offset, length), page


def expired(place: Place, keep_days: Mapping[Kind, float], now: datetime) -> list[str]:
    """The files whose first page is older than `keep_days` of their kind. A kind that is not in it is kept for ever.

    The last page of a file is at most SNAPSHOTS_FILE_SECONDS younger. A file that a worker still writes to stays."""
    found = []
    for name in place.names():
        parsed = FileName.parse(name)
        days = keep_days.get(parsed.kind) if parsed else None
        if parsed and days is not None and parsed.begun < now - timedelta(days=days) and not place.is_in_use(name):
            found.append(name)
    return found


def prune(
    url: str,
    keep_days: Mapping[Kind, float],
    now: datetime,
    *,
    drop_rows: Callable[[Sequence[str]], object] = lambda files: None,
    spool: Path | None = None,
) -> list[str]:
    """Delete expired files, and return their names. `drop_rows` deletes their index rows first: if this is interrupted,
    the next run finds the files again, but it would never find rows without a file."""
    place = open_place(url, spool)
    files = expired(place, keep_days, now)
    if files:
        drop_rows(files)
        place.remove(files)
    return files


@dataclass(slots=True)
class Rewritten:
    """The result for one file. If the outcome is `done`, `rows` are its index rows from now on."""

    outcome: Replaced
    erased: int = 0
    rows: list[SnapshotRef] = field(default_factory=list)


def rewrite(url: str, file: str, is_erased: Callable[[Page], bool], *, spool: Path | None = None) -> Rewritten:
    """Write the file again without erased pages, and without what cannot be read: it may be part of an erased page.

    The file is replaced before the index is changed. If this is interrupted in between, a row points to another page;
    `read` notices that, and a second call of `rewrite` repairs it."""
    writing = _Rewriting(file, is_erased)
    outcome = open_place(url, spool).replace(file, writing)
    return Rewritten(outcome, writing.erased, writing.rows)


class _Rewriting:
    def __init__(self, file: str, is_erased: Callable[[Page], bool]) -> None:
        self.file = file
        self.is_erased = is_erased
        self.erased = 0
        self.rows: list[SnapshotRef] = []

    def __call__(self, data: bytes) -> bytes:
        kept = []
        rows = []
        erased = 0
        size = 0
        for offset, length, page in warc.members(data, self.file):
            if self.is_erased(page):
                erased += 1
                continue
            rows.append(SnapshotRef.of(page, self.file, size, length))
            kept.append(data[offset : offset + length])
            size += length
        self.rows = rows
        self.erased = max(erased, self.erased)
        return b"".join(kept)
