"""What a search page shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from realestate.items import Listing, Sighting


@dataclass(frozen=True, slots=True)
class Found:
    """A listing on a search page, and what that page tells of it and its own page does not."""

    sighting: Sighting
    hints: dict[str, Any] = field(default_factory=dict)
    dated: datetime | None = None
    """The date by which the portal puts the newest first."""
    is_promoted: bool = False
    """Whether it stands where it does because somebody paid for it."""
    shows_others: bool = False
    """Whether its own page shows listings that no search does, as a project's shows its flats."""

    @property
    def ref(self) -> str:
        return self.sighting.ref


@dataclass(frozen=True, slots=True)
class Results:
    """One page of a search, as the portal's parser reads it."""

    found: Sequence[Found | Listing] = ()
    """In the portal's order. A Listing is one of which the page tells everything: its own page is not asked for."""

    total: int | None = None
    """How many the whole search has, by the portal's word."""

    after: str | None = None
    """The cursor or the address of the next page, where the portal gives one."""

    is_last: bool | None = None
    """Whether the portal says that this is the last page; None where it says nothing."""

    searches: Sequence[str] = ()
    """Addresses of other searches that together show the same, such as a sitemap's files."""

    unreadable: int = 0
    """Results of which not even the address could be read."""

    @property
    def prices(self) -> list[int]:
        told = [each.price if isinstance(each, Listing) else each.sighting.price for each in self.found]
        return [int(price) for price in told if price is not None]
