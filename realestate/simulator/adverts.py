"""An advert of one seller for a home on one portal today, and the random numbers by which everything is invented."""

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
"""How a seller can edit an advert, other than its price. "blanks" changes only white space, which is not a change."""


@dataclass(slots=True, eq=False, kw_only=True)
class Advert:
    """One seller's advert for a home on one portal, as it is today."""

    portal: str
    ref: int
    home: Home
    key: str
    """The seed for this seller's choices: wording, what is left out, what is hidden."""
    asking: int
    """The asking price. The portal filters by it even if it shows 'on request'."""
    rent_period: RentPeriod | None
    on_request: bool
    is_reserved: bool
    posted_at: datetime
    updated_at: datetime
    reposted_at: datetime | None = None
    """When it was last published again after it had been removed."""
    old_price: int | None = None
    settles_at: int | None = None
    """After a price change that is suspect: tomorrow's price. It is the same, or the one before the typing error."""
    edits: tuple[Edit, ...] = ()
    """What the seller changed since it was posted, in order."""
    words: tuple[str, ...] | None = None
    """The sentences of its text. None: the portal's page chooses them by the key."""
    title: str | None = None
    """Its title. None: the portal's page makes one."""
    agency: str | None = None
    """The firm that advertises, where the world decides it. None: the portal's page chooses by the key."""
    gone: str | None = None
    gone_on_day: int = 0

    @property
    def price(self) -> int | None:
        """The price shown. A project shows a range instead."""
        return None if self.on_request or self.home.is_project else self.asking

    @property
    def dearest(self) -> int | None:
        """The upper end of a project's price range. It changes with the lower end."""
        dearest = self.home.dearest
        return None if dearest is None else rounded(self.asking * dearest / self.home.value)

    def ask(self, price: int) -> None:
        self.old_price = self.asking
        self.asking = price


def dice(*key: object) -> Random:
    """Return random numbers that depend on the key only and are the same in every process."""
    return Random("/".join(map(str, key)))


def rounded(price: float) -> int:
    """Round like a seller: to 5 below 1,000, to 10 below 5,000, to 500 below 200,000, to 1,000 above."""
    for below, step in ((1_000, 5), (5_000, 10), (200_000, 500)):
        if price < below:
            return max(step, round(price / step) * step)
    return round(price / 1_000) * 1_000


def corrected(count: int | None, true: int, rng: Random) -> int:
    """Return a room count after an edit: given for the first time, or one more or less."""
    if count is None:
        return true
    return count - 1 if count > 1 and rng.random() < 0.5 else count + 1


def with_edits(facts: Facts, advert: Advert, edits: Mapping[Edit, Callable[[Facts, Advert, Random], Facts]]) -> Facts:
    """Return the facts of an advert after all its edits."""
    for number, edit in enumerate(advert.edits):
        facts = edits[edit](facts, advert, dice(advert.key, "edit", number))
    return facts
