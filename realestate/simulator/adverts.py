"""An advert: what one seller says of a home on one portal today, and the dice by which everything is invented."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Literal, TypeVar

from realestate.items import RentPeriod
from realestate.simulator.homes import Home

START = datetime(2026, 9, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)

Facts = TypeVar("Facts")
Edit = Literal["text", "rooms", "photos", "blanks"]
"""What a seller does to an advert beside its price; "blanks" moves white space alone, which tells nothing new."""


@dataclass(slots=True, eq=False, kw_only=True)
class Advert:
    """One seller's advert for a home on one portal, as it stands today."""

    portal: str
    ref: int
    home: Home
    key: str
    """Seeds this seller's dice: wording, what is left out, what is hidden."""
    asking: int
    """What the seller asks; the portal knows and filters by it even where it shows 'on request'."""
    rent_period: RentPeriod | None
    on_request: bool
    is_reserved: bool
    posted_at: datetime
    updated_at: datetime
    reposted_at: datetime | None = None
    """When it was last put up again after it had been taken down."""
    old_price: int | None = None
    settles_at: int | None = None
    """After a move too great to be believed at once, tomorrow's price: the same, or that before the typing error."""
    edits: tuple[Edit, ...] = ()
    """What the seller changed since it was posted, in order."""
    gone: str | None = None
    gone_on_day: int = 0

    @property
    def price(self) -> int | None:
        """The price shown. A project shows a range instead."""
        return None if self.on_request or self.home.is_project else self.asking

    @property
    def dearest(self) -> int | None:
        """The upper end of a project's range, which moves with the lower."""
        dearest = self.home.dearest
        return None if dearest is None else rounded(self.asking * dearest / self.home.value)

    def ask(self, price: int) -> None:
        self.old_price, self.asking = self.asking, price


def dice(*key: object) -> Random:
    """Random numbers that follow from the key alone, the same in every process."""
    return Random("/".join(map(str, key)))


def rounded(price: float) -> int:
    """As sellers round: to 5 below 1,000, to 10 below 5,000, to 500 below 200,000, to 1,000 above."""
    for below, step in ((1_000, 5), (5_000, 10), (200_000, 500)):
        if price < below:
            return max(step, round(price / step) * step)
    return round(price / 1_000) * 1_000


def corrected(count: int | None, true: int, rng: Random) -> int:
    """A room count after the seller edited it: given for the first time, or one more or less."""
    if count is None:
        return true
    return count - 1 if count > 1 and rng.random() < 0.5 else count + 1


def with_edits(facts: Facts, advert: Advert, edits: Mapping[Edit, Callable[[Facts, Advert, Random], Facts]]) -> Facts:
    """What an advert said when it was posted, and then every edit made to it."""
    for number, edit in enumerate(advert.edits):
        facts = edits[edit](facts, advert, dice(advert.key, "edit", number))
    return facts
