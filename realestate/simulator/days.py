"""The changes of a day to the adverts of a portal: what can happen, how often, to which adverts.

Each share is a share of the adverts that can change so. At least one of them changes each day, so that a small world
has all kinds of changes too. Searches show the changes at once, like pages.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random

from realestate.simulator.adverts import Advert, Edit, rounded
from realestate.simulator.portals import PORTALS

NEW_A_DAY = 0.02
REMOVED_A_DAY = 0.015
RETURNED_A_DAY = 0.1  # of the removed adverts
REPRICED_ON_RETURN = 0.4
CHANGED_A_DAY = 0.03
LEAPT_A_DAY = 0.003
MISTYPED_A_DAY = 0.003
PUT_ON_REQUEST_A_DAY = 0.004
PRICED_AGAIN_A_DAY = 0.1  # of the adverts with the price on request
PERIOD_CHANGED_A_DAY = 0.01  # of the rents
EDITED_A_DAY = 0.015
RENEWED_A_DAY = 0.015
RESERVED_A_DAY = 0.006
RELEASED_A_DAY = 0.1  # of the reserved adverts

#: A price below this has no large change: rounding could undo it.
LEAST_TO_LEAP = 100

#: kind of change -> the adverts that changed so.
Changes = dict[str, list[Advert]]


@dataclass(frozen=True, slots=True)
class Act:
    """One kind of change of an advert that stays."""

    name: str
    share: float
    can_happen: Callable[[Advert], bool]
    happen: Callable[[Advert, Random], None]


class Day:
    """One day on one portal. `listed` and `gone` are the adverts at the end of yesterday."""

    def __init__(self, number: int, rng: Random, lately: Callable[[Random], datetime]) -> None:
        self.number = number
        self._rng = rng
        self._lately = lately

    def change(self, listed: list[Advert], gone: list[Advert]) -> Changes:
        """Change the adverts. A large price change of yesterday stays for today, or is corrected."""
        settling = [advert for advert in listed if advert.settles_at is not None]
        free = [advert for advert in listed if advert.settles_at is None]
        returned = self._some(gone, RETURNED_A_DAY)
        removed = self._some(free, REMOVED_A_DAY)
        staying = _without(free, removed)
        for advert in returned:
            self._return(advert)
        for advert in removed:
            advert.gone, advert.gone_on_day = self._rng.choice(PORTALS[advert.portal].gone), self.number
        changes = {"returned": returned, "removed": removed, "corrected": self._settle(settling)}
        return changes | self._act(MONEY, staying, once=True) | self._act(OTHERWISE, staying, once=False)

    def _act(self, acts: tuple[Act, ...], adverts: list[Advert], *, once: bool) -> Changes:
        """Apply each kind of change to some adverts. With `once`, an advert gets at most one of them."""
        changes: Changes = {}
        for act in acts:
            chosen = self._some([advert for advert in adverts if act.can_happen(advert)], act.share)
            for advert in chosen:
                act.happen(advert, self._rng)
                advert.updated_at = self._lately(self._rng)
            changes[act.name] = chosen
            if once:
                adverts = _without(adverts, chosen)
        return changes

    def _settle(self, moved: list[Advert]) -> list[Advert]:
        """Correct the typing errors of yesterday."""
        wrong = [advert for advert in moved if advert.settles_at != advert.asking]
        for advert in moved:
            price = advert.settles_at
            advert.settles_at = None
            if price is not None and advert in wrong:
                advert.ask(price)
                advert.updated_at = self._lately(self._rng)
        return wrong

    def _return(self, advert: Advert) -> None:
        advert.gone = None
        advert.is_reserved = False
        advert.updated_at = advert.reposted_at = self._lately(self._rng)
        if advert.price is not None and self._rng.random() < REPRICED_ON_RETURN:
            _reprice(advert, self._rng)

    def _some(self, adverts: list[Advert], share: float) -> list[Advert]:
        return self._rng.sample(adverts, share_of(len(adverts), share))


def share_of(count: int, share: float) -> int:
    return min(count, max(1, round(count * share)))


def _without(adverts: list[Advert], others: list[Advert]) -> list[Advert]:
    left_out = set(others)
    return [advert for advert in adverts if advert not in left_out]


def _is_priced(advert: Advert) -> bool:
    return advert.price is not None


def _can_leap(advert: Advert) -> bool:
    return advert.price is not None and advert.price >= LEAST_TO_LEAP


def _is_priced_rent(advert: Advert) -> bool:
    return advert.price is not None and advert.rent_period is not None


def _is_on_request(advert: Advert) -> bool:
    return advert.on_request and not advert.home.is_project


def _can_be_reserved(advert: Advert) -> bool:
    return PORTALS[advert.portal].shows_reserved and not advert.is_reserved


def _is_reserved(advert: Advert) -> bool:
    return advert.is_reserved


def _whichever(advert: Advert) -> bool:
    return True


def _reprice(advert: Advert, rng: Random) -> None:
    """Change the price: mostly a few per cent less, sometimes more, never the same."""
    factor = rng.uniform(0.92, 0.98) if rng.random() < 0.8 else rng.uniform(1.01, 1.05)
    new = rounded(advert.asking * factor)
    advert.ask(new if new != advert.asking else new + 5)


def _leap(advert: Advert, rng: Random) -> None:
    """Change the price by more than 60 %. It stays so."""
    factor = rng.uniform(0.2, 0.35) if rng.random() < 0.7 else rng.uniform(1.8, 3)
    advert.ask(rounded(advert.asking * factor))
    advert.settles_at = advert.asking


def _mistype(advert: Advert, rng: Random) -> None:
    """Make a typing error in the price for one day: a zero too many or too few."""
    advert.settles_at = advert.asking
    advert.ask(advert.asking // 10 if rng.random() < 0.5 else advert.asking * 10)


def _change_period(advert: Advert, rng: Random) -> None:
    assert advert.rent_period is not None
    advert.rent_period, factor = PORTALS[advert.portal].other_period[advert.rent_period]
    advert.old_price = None  # the old number had another meaning, so the portal does not show it as the old price
    advert.asking = max(1, round(advert.asking * factor))


def _hide_price(advert: Advert, rng: Random) -> None:
    advert.on_request = True


def _show_price(advert: Advert, rng: Random) -> None:
    advert.on_request = False


def _edit(advert: Advert, rng: Random) -> None:
    possible: tuple[Edit, ...] = ("text", "photos", "rooms")
    if advert.home.rooms is None or advert.words is not None:  # a world with traps decides which room counts are wrong
        possible = ("text", "photos")
    advert.edits += (rng.choice(possible),)


def _renew(advert: Advert, rng: Random) -> None:
    """Move the advert to the top of the list, without any change."""
    if rng.random() < 0.5:
        advert.edits += ("blanks",)


def _reserve(advert: Advert, rng: Random) -> None:
    advert.is_reserved = True


def _release(advert: Advert, rng: Random) -> None:
    advert.is_reserved = False


#: An advert gets at most one of these a day: two could undo or hide each other.
MONEY = (
    Act("price_changed", CHANGED_A_DAY, _is_priced, _reprice),
    Act("leapt", LEAPT_A_DAY, _can_leap, _leap),
    Act("mistyped", MISTYPED_A_DAY, _can_leap, _mistype),
    Act("period_changed", PERIOD_CHANGED_A_DAY, _is_priced_rent, _change_period),
    Act("put_on_request", PUT_ON_REQUEST_A_DAY, _is_priced, _hide_price),
    Act("priced_again", PRICED_AGAIN_A_DAY, _is_on_request, _show_price),
)
OTHERWISE = (
    Act("edited", EDITED_A_DAY, _whichever, _edit),
    Act("renewed", RENEWED_A_DAY, _whichever, _renew),
    Act("released", RELEASED_A_DAY, _is_reserved, _release),
    Act("reserved", RESERVED_A_DAY, _can_be_reserved, _reserve),
)
