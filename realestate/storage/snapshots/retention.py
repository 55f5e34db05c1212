"""How long pages are kept, by why they were."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from realestate.storage.snapshots.filenames import FileName
from realestate.storage.snapshots.page import Kind
from realestate.storage.snapshots.places import Place, open_place


def expired(place: Place, keep_days: Mapping[Kind, float], now: datetime) -> list[str]:
    """Files whose first page is older than its kind is kept; a kind that is not named is kept for ever.

    Its last page is younger by SNAPSHOTS_FILE_SECONDS at most. A file that a worker still writes to stays."""
    found = []
    for name in place.names():
        told = FileName.parse(name)
        days = keep_days.get(told.kind) if told else None
        if told and days is not None and told.begun < now - timedelta(days=days) and not place.is_in_use(name):
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
