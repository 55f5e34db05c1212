"""Takes pages out of files for good."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from realestate.storage.snapshots import warc
from realestate.storage.snapshots.page import Page, SnapshotRef
from realestate.storage.snapshots.places import Replaced, open_place


@dataclass(slots=True)
class Rewritten:
    """What became of a file. `rows` is what its index is now, if it was `done`."""

    outcome: Replaced
    erased: int = 0
    rows: list[SnapshotRef] = field(default_factory=list)


def rewrite(url: str, file: str, is_erased: Callable[[Page], bool], *, spool: Path | None = None) -> Rewritten:
    """Leave these pages out of the file, and whatever in it cannot be read: it may be half of one of them.

    The file is replaced before the index is told. Cut short between, a row leads to another page than it says, which
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
