"""What a search page shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from realestate.items import Listing, Sighting
from realestate.items.others import Other


@dataclass(frozen=True, slots=True)
class Link:
    """An item on a search page that tells nothing of it worth storing: its own page does."""

    ref: str
    url: str
    carried: dict[str, Any] = field(default_factory=dict)
    """What its own page's parser is told."""
    dated: datetime | None = None
    """The date by which the portal puts the newest first."""
    is_promoted: bool = False
    """Whether it stands where it does because somebody paid for it."""


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

    @property
    def url(self) -> str:
        return self.sighting.url

    @property
    def rent_period(self) -> str | None:
        return self.sighting.rent_period

    @property
    def carried(self) -> dict[str, Any]:
        """What its own page's parser is told."""
        return self.hints | ({"rent_period": self.rent_period} if self.rent_period else {})


#: A result whose own page tells the rest; and whatever a search page may show.
AnyLink = Link | Found
Result = AnyLink | Listing | Other


@dataclass(frozen=True, slots=True)
class Results:
    """One page of a search, as the portal's parser reads it."""

    found: Sequence[Result] = ()
    """In the portal's order. An item is one of which the page tells everything: its own page is not asked for."""

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
        told = [each.sighting.price if isinstance(each, Found) else getattr(each, "price", None) for each in self.found]
        return [int(price) for price in told if price is not None]
