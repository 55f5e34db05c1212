"""The invented world: homes, the adverts for them on each portal, and how both change from day to day.

Everything follows from the seed. Each home and each advert has separate random numbers, so that nothing depends on the
order of requests or on the process.

A country is created when one of its portals is first requested, and then goes through all days so far. So portals that
are not used cost nothing.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import chain, repeat
from random import Random
from typing import TypeVar

from realestate.simulator.adverts import DAY, START, Advert, dice, rounded
from realestate.simulator.days import NEW_A_DAY, Changes, Day, share_of
from realestate.simulator.homes import Home, make_home
from realestate.simulator.hostile_texts import HOSTILE_TEXTS
from realestate.simulator.portals import PORTALS
from realestate.simulator.traps import COUNTRY as TRAPPED
from realestate.simulator.traps import ELSEWHERE_TOO as TRAPPED_ELSEWHERE
from realestate.simulator.traps import POSTED_ANEW_A_DAY, Traps
from realestate.simulator.traps import READVERTISED as TRAPPED_AGAIN

T = TypeVar("T")

READVERTISED = 0.09  # share of adverts for a home that has another advert on the same portal
ELSEWHERE_TOO = 0.1  # share of adverts for a home that other portals of the country show too
ON_REQUEST = 0.03
RESERVED = 0.03  # share of reserved adverts, if the portal can show it
SELLERS_A_PORTAL = 2


class World:
    """The world. It begins with `listings` adverts on every portal; `advance` lets a day pass. With `traps`, adverts of
    one home differ and homes look alike (`traps.py`). With `hostile_texts`, the first adverts of the Azerbaijani
    portals have the texts of `hostile_texts.py`, on bina as their titles too."""

    def __init__(self, seed: int, listings: int, traps: Traps | None = None, *, hostile_texts: bool = False) -> None:
        self.seed = seed
        self.traps = traps
        self.hostile_texts = hostile_texts
        self.day = 0
        self.adverts: _Opening[dict[int, Advert]] = _Opening(self._open)
        self.at_night: Callable[[list[str]], None] = _nobody_looks
        """Called with the portals of a country before a day changes them."""
        self.in_the_morning: Callable[[str, Changes], None] = _ignore_changes
        """Called with each portal and what the day changed on it."""
        self._listings = listings
        self._homes: dict[str, list[Home]] = {}
        self._shown: dict[str, list[Home]] = {name: [] for name in PORTALS}
        self._sellers: dict[tuple[str, str], int] = {}
        self._next_ref = {name: portal.first_ref for name, portal in PORTALS.items()}
        self._listed: dict[str, list[Advert]] = {}
        self._changes: _Opening[Changes] = _Opening(self._open)

    @property
    def now(self) -> datetime:
        """The world's time. It changes only from day to day, so that pages can be compared."""
        return START + self.day * DAY

    def listed(self, portal: str) -> list[Advert]:
        """Return the adverts that can be found on a portal today, the last changed first."""
        if portal not in self._listed:
            found = (advert for advert in self.adverts[portal].values() if advert.gone is None)
            self._listed[portal] = sorted(found, key=lambda each: (each.updated_at, each.ref), reverse=True)
        return self._listed[portal]

    def open_portals(self) -> list[str]:
        """The portals of the countries that exist already."""
        return [name for country in self._homes for name in _portals_of(country)]

    def true_home(self, advert: Advert) -> Home:
        """The home as it is, whatever its advert says."""
        number = int(advert.home.id.rpartition("-")[2])
        return self._homes[advert.home.country][number]

    def gone(self, portal: str) -> list[Advert]:
        return [advert for advert in self.adverts[portal].values() if advert.gone is not None]

    def advance(self) -> dict[str, Changes]:
        """Let a day pass: some adverts are posted, changed or removed, and some removed ones return. Return the changes
        of each portal that is in use. A portal that is read from the result for the first time is created then."""
        for country in self._homes:
            self.at_night(_portals_of(country))
        self.day += 1
        self._changes = _Opening(self._open)
        for country in self._homes:
            self._change(country)
        return self._changes

    def _open(self, portal: str) -> None:
        """Create the portal's country as of the first day, and let it go through all days so far."""
        country = PORTALS[portal].country
        today = self.day
        assert country not in self._homes, "the changes of earlier days are not kept"
        self._homes[country] = []
        self.day = 0
        self.adverts.update({name: {} for name in _portals_of(country)})
        self._post(country, dict.fromkeys(_portals_of(country), self._listings))
        while self.day < today:
            self.at_night(_portals_of(country))
            self.day += 1
            self._change(country)

    def _change(self, country: str) -> None:
        """Apply the changes of a day to the portals of a country."""
        names = _portals_of(country)
        before = {name: self.listed(name) for name in names}
        changes = {name: self._change_portal(name, before[name]) for name in names}
        posted = self._post(country, {name: share_of(len(before[name]), NEW_A_DAY) for name in names})
        for name, changed in changes.items():
            changed["listed"] = [advert for advert in posted if advert.portal == name]
            self._listed.pop(name, None)
            self.in_the_morning(name, changed)
        self._changes.update(changes)

    def _change_portal(self, portal: str, listed: list[Advert]) -> Changes:
        day = Day(self.day, dice(self.seed, "day", self.day, portal), self._lately)
        return day.change(listed, self.gone(portal))

    def _post(self, country: str, wanted: dict[str, int]) -> list[Advert]:
        """Add new adverts to the portals. Their refs grow with the time of posting."""
        rng = dice(self.seed, "post", self.day, country)
        turns = chain.from_iterable(repeat(name, count) for name, count in wanted.items())
        drafts = [self._draft(name, rng) for name in turns]
        drafts += self._posted_anew(country)
        drafts.sort(key=lambda advert: (advert.posted_at, advert.key))
        for advert in drafts:
            self._next_ref[advert.portal] += rng.randint(1, 7)
            advert.ref = self._next_ref[advert.portal]
            self.adverts[advert.portal][advert.ref] = advert
        if self.hostile_texts and country == "AZ" and not self.day:
            self._write_hostile_texts(country)
        return drafts

    def _write_hostile_texts(self, country: str) -> None:
        for portal in _portals_of(country):
            for advert, text in zip(self.adverts[portal].values(), HOSTILE_TEXTS, strict=False):
                advert.title = text
                advert.words = (text,)

    def _posted_anew(self, country: str) -> list[Advert]:
        """Return drafts of adverts that were removed, by the same sellers under a new reference."""
        if self.traps is None or country != TRAPPED or not self.day:
            return []
        drafts = []
        for portal in _portals_of(country):
            rng = dice(self.seed, "anew", self.day, portal)
            removed = self.gone(portal)
            for old in rng.sample(removed, share_of(len(removed), POSTED_ANEW_A_DAY)) if removed else ():
                again = self._draft_of(portal, self.true_home(old))
                again.home = old.home
                again.words = old.words
                again.agency = old.agency
                drafts.append(again)
        return drafts

    def _draft(self, portal: str, rng: Random) -> Advert:
        return self._draft_of(portal, self._home_for(portal, rng))

    def _draft_of(self, portal: str, home: Home) -> Advert:
        if (portal, home.id) not in self._sellers:
            self._shown[portal].append(home)
        seller = self._sellers[portal, home.id] = self._sellers.get((portal, home.id), 0) + 1
        key = f"{self.seed}/{portal}/{home.id}/{seller}"
        own = dice(key)
        shown = None
        level = 1.0
        if self.traps is not None and home.country == TRAPPED:
            shown = self.traps.show(home, self.seed, portal, seller)
            level = self.traps.level(self.day) * shown.price_factor
        asking = rounded(home.value * level * own.uniform(0.97, 1.03))
        if asking > 20_000 and own.random() < 0.2:
            asking -= 100  # 249,900 sounds less than 250,000
        posted_at = self._lately(own) if self.day else START - _ms(own.random() ** 2 * 180 * DAY + 3 * DAY / 24)
        updated_at = posted_at
        if own.random() < 0.35 and not self.day:
            updated_at = posted_at + _ms(own.random() * (START - posted_at))
        return Advert(
            portal=portal,
            ref=0,
            home=shown.home if shown else home,
            words=shown.words if shown else None,
            agency=shown.agency if shown else None,
            key=key,
            asking=asking,
            rent_period=home.rent_period,
            on_request=own.random() < ON_REQUEST,
            is_reserved=own.random() < RESERVED and PORTALS[portal].shows_reserved,
            posted_at=posted_at,
            updated_at=updated_at,
        )

    def _home_for(self, portal: str, rng: Random) -> Home:
        country = PORTALS[portal].country
        homes = self._homes[country]
        shown = self._shown[portal]
        has_traps = self.traps is not None and country == TRAPPED
        again = TRAPPED_AGAIN if has_traps else READVERTISED
        elsewhere = TRAPPED_ELSEWHERE if has_traps else ELSEWHERE_TOO
        chance = rng.random() if homes else 1.0
        if shown and chance < again:
            home = rng.choice(shown)
            if self._sellers[portal, home.id] < SELLERS_A_PORTAL:
                return home
        elif len(homes) > len(shown) and chance < again + elsewhere:
            home = rng.choice(homes)
            if (portal, home.id) not in self._sellers:
                return home
        number = len(homes)
        if self.traps is not None and has_traps:
            homes.append(self.traps.home(self.seed, number, self.day))
        else:
            homes.append(make_home(country, number, dice(self.seed, "home", country, number)))
        return homes[-1]

    def _lately(self, rng: Random) -> datetime:
        """Return a time since yesterday."""
        return self.now - _ms(rng.random() * DAY)


class _Opening(dict[str, T]):
    """A value for each portal. A portal is made at the first access."""

    def __init__(self, open_portal: Callable[[str], None]) -> None:
        super().__init__()
        self._open = open_portal

    def __missing__(self, portal: str) -> T:
        self._open(portal)
        return self[portal]


def _portals_of(country: str) -> list[str]:
    return [name for name, portal in PORTALS.items() if portal.country == country]


def _nobody_looks(portals: list[str]) -> None: ...


def _ignore_changes(portal: str, changes: Changes) -> None: ...


def _ms(delta: timedelta) -> timedelta:
    """Return the time cut to milliseconds, as portals show it."""
    return delta // timedelta(milliseconds=1) * timedelta(milliseconds=1)
