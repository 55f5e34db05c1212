"""How a listing comes into the store whose page was too bad for it when it was fetched: pure rules, for every store."""

from datetime import datetime

from realestate.items import Listing
from realestate.storage.changes import correct, decide
from realestate.storage.history import Outcome, State
from realestate.storage.keeping import SLACK


def release(before: State | None, listing: Listing, run: str, now: datetime) -> Outcome:
    """What the page says, at the time it was fetched (`last_fetched_at`).

    Where the listing was seen later, or has left since, the page still says best what the home is like: that is a
    correction. What it costs, and whether it is offered, others have told since."""
    fetched_at = fetched(listing, now)
    if before is None or not _is_known_since(before.listing, fetched_at):
        return decide(before, [(listing, run)], fetched_at)
    return correct(before, listing, run, now, repriced=True)


def fetched(listing: Listing, now: datetime) -> datetime:
    """A worker's clock may be ahead of the database's."""
    return min(listing.last_fetched_at or now, now)


def _is_known_since(known: Listing, fetched_at: datetime) -> bool:
    if known.delisted_at is not None and known.delisted_at[1] > fetched_at:
        return True
    return known.last_seen_at is not None and known.last_seen_at > fetched_at + SLACK
