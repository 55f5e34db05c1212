"""What a search page shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from realestate.items import Listing, Sighting
from realestate.items.others import Other


@dataclass(frozen=True, slots=True)
class Link:
    """A link to an item on a search page. All values of the item are on its own page."""

    ref: str
    url: str
    carried: dict[str, Any] = field(default_factory=dict)
    """Values for the parser of its own page."""
    dated: datetime | None = None
    """The date by which the portal sorts."""
    is_promoted: bool = False
    """Whether it is a paid advert, shown out of order."""


@dataclass(frozen=True, slots=True)
class Found:
    """A listing on a search page, with the values that only the search page has."""

    sighting: Sighting
    hints: dict[str, Any] = field(default_factory=dict)
    """Values for the parser of its own page."""
    dated: datetime | None = None
    """The date by which the portal sorts."""
    is_promoted: bool = False
    """Whether it is a paid advert, shown out of order."""
    shows_others: bool = False
    """Whether its own page shows listings that no search shows, such as the flats of a project."""
    city: str | None = None
    """The city, if the search page shows it: a job of another city does not fetch the page."""
    card: str | None = None
    """Hashes of all that the search page shows of it: see `Card`. By them a sweep decides whether to read its page."""
    shows_charges: bool = False
    """Whether the charges of a rent are among the values of `card`."""

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
        """Values for the parser of its own page."""
        return self.hints | ({"rent_period": self.rent_period} if self.rent_period else {})


_CARD_ENCODER = msgspec.json.Encoder(order="deterministic", enc_hook=str)


class Card(NamedTuple):
    """Hashes of what a search page shows of a listing. The store keeps them as one text."""

    amount: str
    """Of the number of its price."""
    dated: str
    """Of its dates."""
    others: str
    """Of all other values."""

    @classmethod
    def of(cls, sighting: Sighting, dates: Sequence[datetime | None], others: Any) -> str | None:
        """Return the text; None if the page shows nothing but the address of the listing, as a sitemap does."""
        meaning = (sighting.currency, sighting.price_basis, sighting.rent_period, sighting.status)
        if sighting.price is None and others is None and not any((*meaning, *dates)):
            return None
        return "-".join(map(_hashed, (sighting.price, dates, (meaning, others))))

    @classmethod
    def read(cls, text: str) -> "Card | None":
        """Return the hashes of the text; None if another version of this program wrote it."""
        parts = text.split("-")
        return cls(*parts) if len(parts) == len(cls._fields) else None


def _hashed(value: Any) -> str:
    return blake2b(_CARD_ENCODER.encode(value), digest_size=4).hexdigest()


#: A result whose own page has to be fetched; and everything that a search page may show.
AnyLink = Link | Found
Result = AnyLink | Listing | Other


@dataclass(frozen=True, slots=True)
class Results:
    """One page of a search, as the portal's parser returns it."""

    found: Sequence[Result] = ()
    """In the portal's order. For an item instead of a link, no further page is fetched."""

    total: int | None = None
    """How many results the whole search has, as the portal says."""

    after: str | None = None
    """The cursor or the URL of the next page, if the portal gives one."""

    is_last: bool | None = None
    """Whether the portal says that this is the last page; None if it says nothing."""

    searches: Sequence[str] = ()
    """URLs of other searches that together show the same, such as the files of a sitemap."""

    unreadable: int = 0
    """How many results could not be read."""

    is_cut: bool = False
    """Whether the page shows more than we read of one page, such as a sitemap with millions of URLs."""

    @property
    def prices(self) -> list[int]:
        """The prices on this page."""
        found = [
            each.sighting.price if isinstance(each, Found) else getattr(each, "price", None) for each in self.found
        ]
        return [int(price) for price in found if price is not None]
