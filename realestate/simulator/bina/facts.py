"""The facts that one bina advert shows of its home. The search, the page and the truth all use them."""

from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Literal

from realestate.simulator.adverts import Advert, Edit, corrected, dice, with_edits
from realestate.simulator.edits import in_azerbaijan
from realestate.simulator.homes import Home
from realestate.simulator.texts import AZ_NOUNS, AZ_SENTENCES, PERSONS_AZ

Form = Literal["current", "apollo", "old"]
"""The form of the page: with `currentItemData`, with Apollo's cache, or as before Next.js."""

AGENT = "vasitəçi (agent)"
OWNERS = ("mülkiyyətçi", "sahibi")
FIRMS = ("Günəş Əmlak", "Xəzər Daşınmaz", "Qala Evləri", "Mərkəz Əmlak MMC")
#: Thousands are separated by a space, which is sometimes a no-break space.
SPACES = (" ", " ", "\u00a0")
#: The ending of a place's name says its kind: metro, rayon (district), qəsəbə (settlement).
METRO = "m."
DISTRICT = "r."
SETTLEMENT = "q."


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts. A value that the advert does not show is None."""

    form: Form
    title: str
    rooms: int | None
    floor: int | None
    floors: int | None
    land_sot: int | None
    """The plot of a house."""
    has_repair: bool | None
    has_deed: bool | None
    has_mortgage: bool | None
    metro: str | None
    settlement: str | None
    shows_district: bool
    street: str | None
    is_address_split: bool
    """Whether the address is an object instead of a text."""
    is_mapped: bool
    paragraphs: tuple[str, ...]
    contact_type: str
    contact_name: str
    firm: str | None
    phones: tuple[str, ...]
    photos: int
    views: int
    is_vip: bool
    space: str

    def places(self, home: Home) -> list[str]:
        """Return the names of places, the nearest first, as the portal writes them. A home out of town has none."""
        named = (
            self.metro and f"{self.metro} {METRO}",
            self.settlement and f"{self.settlement} {SETTLEMENT}",
            home.place.district and self.shows_district and f"{home.place.district} {DISTRICT}",
        )
        return [name for name in named if name]


def facts_of(advert: Advert) -> Facts:
    """Return the facts, without price and dates. They are the same until the seller edits the advert."""
    return _edited(advert, advert.edits)


@lru_cache(maxsize=8192)
def _edited(advert: Advert, edits: tuple[Edit, ...]) -> Facts:
    """Return the facts from the cache. `edits` are those of the advert, and part of the cache key."""
    return with_edits(_posted(advert), advert, _EDITS)


def _posted(advert: Advert) -> Facts:
    home = advert.home
    rng = dice(advert.key, "facts")
    rooms = home.rooms if rng.random() < 0.95 else None
    shows_floor = home.floor is not None and home.floors is not None and rng.random() < 0.9
    is_agent = rng.random() < 0.75
    if advert.words is not None:
        is_agent = advert.agency is not None
    is_old = (form := rng.choice(("current", "current", "apollo", "apollo", "old"))) == "old"
    metro = home.metro if rng.random() < 0.85 else None
    firm = rng.choice((None, None, *FIRMS)) if is_agent and not is_old else None
    return Facts(
        form=form,  # type: ignore[arg-type]
        title=advert.title or _title(home, rooms, metro),
        rooms=rooms,
        floor=home.floor if shows_floor else None,
        floors=home.floors if shows_floor else None,
        land_sot=rng.randint(1, 12) if "house" in home.kind and rng.random() < 0.8 else None,
        has_repair=rng.choice((home.quality > 0.3, home.quality > 0.3, None)),
        has_deed=rng.choice((True, True, False, None)),
        has_mortgage=rng.choice((True, False, None)) if home.operation == "sale" else None,
        metro=metro,
        settlement=home.settlement,
        shows_district=rng.random() < 0.8,
        street=f"{home.street} {home.number}" if rng.random() < 0.6 else None,
        is_address_split=rng.random() < 0.3,
        is_mapped=rng.random() < 0.4,
        paragraphs=advert.words or _paragraphs(home, rng),
        contact_type=AGENT if is_agent else rng.choice(OWNERS),
        contact_name=rng.choice(PERSONS_AZ),
        firm=firm if advert.words is None or is_old else advert.agency,
        phones=_phones(rng),
        photos=rng.choice((0, 1, 3, 5, 8, 12)),
        views=rng.randint(0, 6000),
        is_vip=rng.random() < 0.03,
        space=rng.choice(SPACES),
    )


def area_text(home: Home) -> str:
    """Return the area, such as "85 m²" or "85.5 m²". The unit of land is the sot, 100 m²."""
    return f"{home.area_m2:g} m²" if home.area_m2 is not None else f"{(home.plot_m2 or 0) / 100:g} sot"


def grouped(number: int, space: str) -> str:
    """Return a number with separated thousands."""
    return f"{number:,}".replace(",", space)


def _title(home: Home, rooms: int | None, metro: str | None) -> str:
    verb = "Satılır" if home.operation == "sale" else "Kirayə verilir"
    counted = f"{rooms} otaqlı " if rooms else ""
    whereabouts = home.place.city
    if metro:
        whereabouts = f"{metro} {METRO}"
    elif home.settlement:
        whereabouts = f"{home.settlement} {SETTLEMENT}"
    elif home.place.district:
        whereabouts = f"{home.place.district} {DISTRICT}"
    return f"{verb} {counted}{AZ_NOUNS[home.kind]} {area_text(home)}, {whereabouts}"


def _paragraphs(home: Home, rng: Random) -> tuple[str, ...]:
    chosen = rng.sample(AZ_SENTENCES, rng.randint(2, 8))
    if rng.random() < 0.04:
        return ()
    words = {"city": home.place.city, "noun": AZ_NOUNS[home.kind], "area": area_text(home)}
    text = [sentence.format(**words) for sentence in chosen]
    return tuple(" ".join(text[at : at + 3]) for at in range(0, len(text), 3))


def _phones(rng: Random) -> tuple[str, ...]:
    """Return telephone numbers that are not assigned."""
    return tuple(
        f"({rng.choice(('050', '055', '070'))}) 000-{rng.randint(0, 99):02}-00" for _ in range(rng.randint(1, 2))
    )


def _with_rooms(facts: Facts, advert: Advert, rng: Random) -> Facts:
    """Change the room count. The portal makes the title from it, so the title changes too."""
    rooms = corrected(facts.rooms, advert.home.rooms or 1, rng)
    return replace(facts, rooms=rooms, title=advert.title or _title(advert.home, rooms, facts.metro))


_EDITS = in_azerbaijan(_with_rooms)
