"""The invented world: homes, the adverts for them on each portal, and how both change from day to day.

Everything follows from the seed. Each home and each advert has dice of its own, so that nothing depends on
which page is asked for first, nor on the process.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from random import Random
from typing import Any

from realestate.simulator.homes import Home, make_home

START = datetime(2026, 9, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)

READVERTISED = 0.09  # of the adverts are for a home that has one already: about a tenth of the homes
ON_REQUEST = 0.03
NEW_A_DAY = 0.02
CHANGED_A_DAY = 0.03
REMOVED_A_DAY = 0.015
RETURNED_A_DAY = 0.1  # of those gone
SELLERS_A_PORTAL = 2


@dataclass(frozen=True, slots=True)
class Portal:
    """What the world needs to know of a portal."""

    country: str
    first_ref: int
    gone: tuple[str, ...]
    """Ways a removed advert answers; one named twice is twice as likely."""


#: In the order of their ports: a new portal goes to the end.
PORTALS = {
    "immoweb": Portal("BE", 21_000_000, ("404", "404", "410", "sold")),
    "emlak": Portal("AZ", 940_000, ("redirect", "redirect", "expired")),
}


def dice(*key: object) -> Random:
    """Random numbers that follow from the key alone, the same in every process."""
    return Random("/".join(map(str, key)))


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
    on_request: bool
    posted_at: datetime
    updated_at: datetime
    old_price: int | None = None
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


@dataclass(slots=True)
class Changes:
    """What one day did to one portal."""

    listed: list[Advert] = field(default_factory=list)
    price_changed: list[Advert] = field(default_factory=list)
    removed: list[Advert] = field(default_factory=list)
    returned: list[Advert] = field(default_factory=list)

    def as_record(self) -> dict[str, Any]:
        return {
            "listed": _refs(self.listed),
            "price_changed": _refs(self.price_changed),
            "removed": {str(advert.ref): advert.gone for advert in self.removed},
            "returned": _refs(self.returned),
        }


class World:
    """`listings` adverts on every portal at first; `advance` moves it on by a day."""

    def __init__(self, seed: int, listings: int) -> None:
        self.seed = seed
        self.day = 0
        self.adverts: dict[str, dict[int, Advert]] = {name: {} for name in PORTALS}
        self._homes: dict[str, list[Home]] = {portal.country: [] for portal in PORTALS.values()}
        self._sellers: dict[tuple[str, str], int] = {}
        self._next_ref = {name: portal.first_ref for name, portal in PORTALS.items()}
        self._listed: dict[str, list[Advert]] = {}
        self._post(dict.fromkeys(PORTALS, listings))

    @property
    def now(self) -> datetime:
        """The world's time; it stands still within a day, so that pages can be compared."""
        return START + self.day * DAY

    def listed(self, portal: str) -> list[Advert]:
        """The adverts to be found on a portal today, the last changed first."""
        if portal not in self._listed:
            found = (advert for advert in self.adverts[portal].values() if advert.gone is None)
            self._listed[portal] = sorted(found, key=lambda each: (each.updated_at, each.ref), reverse=True)
        return self._listed[portal]

    def gone(self, portal: str) -> list[Advert]:
        return [advert for advert in self.adverts[portal].values() if advert.gone is not None]

    def advance(self) -> dict[str, Changes]:
        """Let a day pass: adverts are posted, repriced, removed, and some of the removed return."""
        before = {name: self.listed(name) for name in PORTALS}
        self.day += 1
        changes = {name: self._change(name, before[name]) for name in PORTALS}
        posted = self._post({name: _share(len(before[name]), NEW_A_DAY) for name in PORTALS})
        for advert in posted:
            changes[advert.portal].listed.append(advert)
        self._listed.clear()
        return changes

    def _change(self, portal: str, listed: list[Advert]) -> Changes:
        rng = dice(self.seed, "day", self.day, portal)
        gone = self.gone(portal)
        returned = rng.sample(gone, _share(len(gone), RETURNED_A_DAY))
        removed = rng.sample(listed, _share(len(listed), REMOVED_A_DAY))
        left = set(removed)
        priced = [advert for advert in listed if advert.price is not None and advert not in left]
        changed = rng.sample(priced, min(len(priced), _share(len(listed), CHANGED_A_DAY)))
        for advert in returned:
            advert.gone, advert.updated_at = None, self._lately(rng)
        for advert in removed:
            advert.gone, advert.gone_on_day = rng.choice(PORTALS[portal].gone), self.day
        for advert in changed:
            advert.old_price, advert.asking = advert.asking, _repriced(advert.asking, rng)
            advert.updated_at = self._lately(rng)
        return Changes(price_changed=changed, removed=removed, returned=returned)

    def _post(self, wanted: dict[str, int]) -> list[Advert]:
        """Put new adverts on the portals, their refs growing with the time of posting."""
        rng = dice(self.seed, "post", self.day)
        turns = chain.from_iterable(repeat(name, count) for name, count in wanted.items())
        drafts = [self._draft(name, rng) for name in turns]
        drafts.sort(key=lambda advert: (advert.posted_at, advert.key))
        for advert in drafts:
            self._next_ref[advert.portal] += rng.randint(1, 7)
            advert.ref = self._next_ref[advert.portal]
            self.adverts[advert.portal][advert.ref] = advert
        return drafts

    def _draft(self, portal: str, rng: Random) -> Advert:
        home = self._home_for(portal, rng)
        seller = self._sellers[portal, home.id] = self._sellers.get((portal, home.id), 0) + 1
        key = f"{self.seed}/{portal}/{home.id}/{seller}"
        own = dice(key)
        asking = rounded(home.value * own.uniform(0.97, 1.03))
        if asking > 20_000 and own.random() < 0.2:
            asking -= 100  # 249,900 sounds less than 250,000
        posted_at = self._lately(own) if self.day else START - _ms(own.random() ** 2 * 180 * DAY + 3 * DAY / 24)
        updated_at = posted_at
        if own.random() < 0.35 and not self.day:
            updated_at = posted_at + _ms(own.random() * (START - posted_at))
        return Advert(
            portal=portal,
            ref=0,
            home=home,
            key=key,
            asking=asking,
            on_request=own.random() < ON_REQUEST,
            posted_at=posted_at,
            updated_at=updated_at,
        )

    def _home_for(self, portal: str, rng: Random) -> Home:
        country = PORTALS[portal].country
        homes = self._homes[country]
        if homes and rng.random() < READVERTISED:
            home = rng.choice(homes)
            if self._sellers.get((portal, home.id), 0) < SELLERS_A_PORTAL:
                return home
        number = len(homes)
        homes.append(make_home(country, number, dice(self.seed, "home", country, number)))
        return homes[-1]

    def _lately(self, rng: Random) -> datetime:
        """Some time since yesterday."""
        return self.now - _ms(rng.random() * DAY)


def rounded(price: float) -> int:
    """As sellers round: to 5 below 1,000, to 10 below 5,000, to 500 below 200,000, to 1,000 above."""
    for below, step in ((1_000, 5), (5_000, 10), (200_000, 500)):
        if price < below:
            return max(step, round(price / step) * step)
    return round(price / 1_000) * 1_000


def _repriced(price: int, rng: Random) -> int:
    """Mostly a few per cent less, sometimes more, never the same."""
    factor = rng.uniform(0.92, 0.98) if rng.random() < 0.8 else rng.uniform(1.01, 1.05)
    new = rounded(price * factor)
    return new if new != price else price + 5


def _share(count: int, share: float) -> int:
    return min(count, max(1, round(count * share)))


def _ms(delta: timedelta) -> timedelta:
    """Portals tell times to the millisecond."""
    return delta // timedelta(milliseconds=1) * timedelta(milliseconds=1)


def _refs(adverts: list[Advert]) -> list[str]:
    return [str(advert.ref) for advert in adverts]
