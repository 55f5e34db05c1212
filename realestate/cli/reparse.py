"""The commands over pages that were kept."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from realestate import settings
from realestate.cli import house
from realestate.cli.local import known
from realestate.jobs import reparse as room
from realestate.storage.snapshots import pages

T = TypeVar("T")


def reparse(
    portal: str, since: datetime | None, progress: Callable[[str, int], object], *, dry_run: bool
) -> room.Reparsed:
    known([portal])
    kept = pages(
        settings.SNAPSHOTS_URL,
        portal,
        since=since.replace(tzinfo=UTC) if since else None,
        spool=settings.REALESTATE_HOME / "spool",
    )
    with house.opened() as store:
        return room.reparse(portal, _counted(kept, portal, progress), store, dry_run=dry_run)


def _counted(items: Iterable[T], what: str, progress: Callable[[str, int], object]) -> Iterator[T]:
    for count, item in enumerate(items, start=1):
        progress(what, count)
        yield item
