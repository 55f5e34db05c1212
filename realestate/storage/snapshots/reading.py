"""Finds pages again: one by its row in the index, or all of a portal."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from realestate.storage.snapshots import warc
from realestate.storage.snapshots.filenames import FileName
from realestate.storage.snapshots.page import KINDS, DamagedSnapshot, Kind, Page, SnapshotRef, digest_of
from realestate.storage.snapshots.places import Place, open_place
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
        told = FileName.parse(name)
        assert told is not None
        if told.kind in kinds and not (since and told.begun < since - timedelta(seconds=LONGEST_SECONDS)):
            yield from _pages_of(place, name, since)


def _pages_of(place: Place, name: str, since: datetime | None) -> Iterator[tuple[SnapshotRef, Page]]:
    for offset, length, page in warc.members(place.read(name), name):
        if since is None or page.fetched_at >= since:
            yield SnapshotRef.of(page, name, offset, length), page
