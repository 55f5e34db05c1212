"""The commands over pages that were kept."""

from datetime import UTC, datetime

from realestate import settings
from realestate.cli.local import connected, known
from realestate.jobs import reparse as room
from realestate.storage import StoreError, open_store
from realestate.storage.snapshots import pages


def reparse(portal: str, since: datetime | None, *, dry_run: bool) -> room.Reparsed:
    known([portal])
    kept = pages(
        settings.SNAPSHOTS_URL,
        portal,
        since=since.replace(tzinfo=UTC) if since else None,
        spool=settings.REALESTATE_HOME / "spool",
    )
    with connected() as at:
        store = open_store(at.store_url)
        try:
            if not isinstance(store, room.Corrections):
                raise StoreError("this store takes no corrections")
            return room.reparse(portal, kept, store, dry_run=dry_run)
        finally:
            store.close()
