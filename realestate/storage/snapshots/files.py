"""Reads pages from files, removes files past their days, and takes erased pages out of files."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from realestate.storage.snapshots import warc
from realestate.storage.snapshots.filenames import FileName
from realestate.storage.snapshots.page import KINDS, DamagedSnapshot, Kind, Page, SnapshotRef, digest_of
from realestate.storage.snapshots.places import Place, Replaced, open_place
from realestate.storage.snapshots.writer import LONGEST_SECONDS


class Located(Protocol):
    """A row of the index, or anything that says as much."""

    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def digest(self) -> str: ...


def read(url: str, where: Located, *, spool: Path | None = None) -> Page:
    """The page of a row: one seek, or one range request."""
    page = warc.decode(open_place(url, spool).read(where.file, where.offset, where.length))
    if digest_of(page.body) != where.digest:
        raise DamagedSnapshot(f"{where.file} at byte {where.offset} holds another page than its row says")
    return page


def pages(
    url: str,
    portal: str | None = None,
    *,
    kinds: Collection[Kind] = KINDS,
    since: datetime | None = None,
    spool: Path | None = None,
) -> Iterator[tuple[SnapshotRef, Page]]:
    """Every page that can be read, about in the order they were fetched; needs no index."""
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
    """Files whose first page is older than its kind is kept; a kind that is not named is kept for ever.

    Its last page is younger by SNAPSHOTS_FILE_SECONDS at most. A file that a worker still writes to stays."""
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
    forget: Callable[[Sequence[str]], object] = lambda files: None,
    spool: Path | None = None,
) -> list[str]:
    """Remove what is expired, and return the files' names. `forget` deletes their rows from the index, before the files
    go: if this is cut short, the next run finds the files again; it would never find rows without a file."""
    place = open_place(url, spool)
    files = expired(place, keep_days, now)
    if files:
        forget(files)
        place.remove(files)
    return files


@dataclass(slots=True)
class Rewritten:
    """What became of a file. `rows` is what its index is now, if it was `done`."""

    outcome: Replaced
    erased: int = 0
    rows: list[SnapshotRef] = field(default_factory=list)


def rewrite(url: str, file: str, is_erased: Callable[[Page], bool], *, spool: Path | None = None) -> Rewritten:
    """Leave these pages out of the file, and whatever in it cannot be read: it may be half of one of them.

    The file is replaced before the index is changed. Cut short between, a row leads to another page than it says, which
    reading notices; to rewrite the file again sets it right."""
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
        kept, rows, erased, size = [], [], 0, 0
        for offset, length, page in warc.members(data, self.file):
            if self.is_erased(page):
                erased += 1
                continue
            rows.append(SnapshotRef.of(page, self.file, size, length))
            kept.append(data[offset : offset + length])
            size += length
        self.rows, self.erased = rows, max(erased, self.erased)
        return b"".join(kept)
