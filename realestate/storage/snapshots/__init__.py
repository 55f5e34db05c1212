"""Raw pages, kept in WARC files in a folder or a bucket. Each page has an index row in the store.

A SnapshotRef is returned only after its record is complete and on the disk (fsync), so the page survives a crash of the
process and a power cut. A file is uploaded to a bucket when it is finished, by size or age. Until then it is in this
machine's spool. The next worker that starts uploads the files that a dead worker left there.
"""

from realestate.storage.snapshots.destinations import open_place
from realestate.storage.snapshots.files import Located, expired, pages, prune, read
from realestate.storage.snapshots.page import KINDS, DamagedSnapshot, Kind, Page, SnapshotError, SnapshotRef
from realestate.storage.snapshots.recorder import Recorder
from realestate.storage.snapshots.writer import SnapshotWriter

__all__ = [
    "KINDS",
    "DamagedSnapshot",
    "Kind",
    "Located",
    "Page",
    "Recorder",
    "SnapshotError",
    "SnapshotRef",
    "SnapshotWriter",
    "expired",
    "open_place",
    "pages",
    "prune",
    "read",
]
