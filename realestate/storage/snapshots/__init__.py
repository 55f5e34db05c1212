"""The raw pages: kept as WARC files in a folder or a bucket, found again by an index row each.

When is a page safe? A SnapshotRef is handed out only after its record is whole and on the disk (fsync): it outlives
the process and the machine's power. In a bucket it is only when its file is finished, by size or age, and uploaded;
until then it lies in this machine's spool, and what a dead worker left there is uploaded by the next to start.
"""

from realestate.storage.snapshots.files import Located, expired, pages, prune, read
from realestate.storage.snapshots.page import KINDS, DamagedSnapshot, Kind, Page, SnapshotError, SnapshotRef
from realestate.storage.snapshots.places import open_place
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
