"""What a page can turn out to be."""

from datetime import datetime, timedelta
from typing import Any

from realestate.items import Evidence, Sighting

GONE_STATUSES = (404, 410)
#: Answers that are about us, not about the page.
REFUSALS = (401, 403, 429)
#: A listing is read again after so many days even if its search page shows nothing new.
STALE = timedelta(days=7)


class BrokenPage(ValueError):
    """A page that answers 200 and is not what its address promises."""


class Blocked(Exception):
    """The portal does not answer us, and says so in a page that answers 200: neither empty nor broken."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        """For the stat `ban/<portal>/<kind>`."""


class ItemGone(Exception):
    """The portal itself says that the item is no more; or, as `absent`, shows something else in its place."""

    outcome = "gone"

    def __init__(self, detail: str, evidence: Evidence = "marker") -> None:
        super().__init__(detail)
        self.evidence = evidence


#: What portals of homes call it.
ListingGone = ItemGone


def is_news(sighting: Sighting, known: Any, now: datetime) -> bool:
    """Whether the listing's own page has to be read, by what the store knows of it."""
    if known is None or known.status not in ("active", "reserved"):
        return True
    moved = sighting.price is not None and sighting.price != known.price
    return moved or bool(now - known.last_fetched_at > STALE)
