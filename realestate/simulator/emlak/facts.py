"""The facts that one emlak advert shows of its home. The page and the truth both use them."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from realestate.simulator.adverts import Advert, Edit, corrected, dice, with_edits
from realestate.simulator.edits import in_azerbaijan
from realestate.simulator.homes import Home
from realestate.simulator.texts import AZ_NOUNS, AZ_SENTENCES, PERSONS_AZ

KINDS = {
    "new_building": "Yeni tikili",
    "old_building": "Köhnə tikili",
    "yard_house": "Həyət evi",
    "garden_house": "Bağ evi",
    "villa": "Villa",
    "office": "Ofis",
    "garage": "Qaraj",
    "land": "Torpaq",
    "shop": "Obyekt",
}
DEED = "Çıxarış (Kupça)"
CONTRACT = "Müqavilə"
REPAIRS = ("Təmirsiz", "Orta təmirli", "Yaxşı təmirli", "Əla təmirli")
AGENT = "Vasitəçi"
OWNER = "Mülkiyyətçi"

#: Thousands are separated by a space, which is sometimes a no-break or a thin space.
SPACES = (" ", " ", " ", "\u00a0", "\u2009")

_LATIN = str.maketrans("əıöüğşçƏIİÖÜĞŞÇ", "eiougsceiiougsc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts. A value that the advert does not show is None."""

    title: str
    """The title as plain text, with m2 instead of m²."""
    slug: str
    rooms: int | None
    floor: int | None
    floors: int | None
    repair: str | None
    document: str | None
    address: "Address"
    title_metro: str | None
    is_mapped: bool
    paragraphs: tuple[str, ...]
    seller: str
    seller_name: str
    phones: str
    photos: int
    views: int
    is_urgent: bool
    is_shuffled: bool
    space: str

    @property
    def metro(self) -> str | None:
        return self.address.metro or self.title_metro


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The parts that the seller wrote. All may be missing."""

    city: str | None = None
    district: str | None = None
    settlement: str | None = None
    metro: str | None = None
    street: str | None = None

    def __str__(self) -> str:
        parts = (
            self.city and f"{self.city} ş.",
            self.district and f"{self.district} r.",
            self.settlement and f"{self.settlement} q.",
            self.metro and f"{self.metro} m.",
            self.street,
        )
        return ", ".join(filter(None, parts))


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
    shows_floor = rng.random() < 0.92
    shows_repair = rng.random() < 0.85
    shows_metro = rng.random() < 0.8
    built = home.kind not in ("land", "garage")
    title = _title(home, rooms, shows_metro)
    return Facts(
        title=title,
        slug=_slug(title),
        rooms=rooms,
        floor=home.floor if shows_floor else None,
        floors=home.floors if rng.random() < 0.9 else None,
        repair=REPAIRS[int(home.quality * 3.99)] if built and shows_repair else None,
        document=rng.choice((DEED, DEED, DEED, CONTRACT, None)),
        address=_address(home, rng),
        title_metro=home.metro if shows_metro else None,
        is_mapped=rng.random() < 0.8,
        paragraphs=advert.words or _paragraphs(home, rng),
        seller=_seller(advert, rng),
        seller_name=rng.choice(PERSONS_AZ),
        phones=_phones(rng),
        photos=rng.choice((0, 1, 3, 5, 8, 12, 16)),
        views=rng.randint(0, 6000),
        is_urgent=rng.random() < 0.08,
        is_shuffled=rng.random() < 0.3,
        space=rng.choice(SPACES),
    )


def area_text(home: Home) -> str:
    """Return the area, such as "85 m2" or "85,5 m2". The unit of land is the sot, 100 m²."""
    number, unit = (home.area_m2, "m2") if home.kind != "land" else ((home.plot_m2 or 0) / 100, "sot")
    return f"{number or 0:g} {unit}".replace(".", ",")


def grouped(number: int, space: str) -> str:
    """Return a number with separated thousands."""
    return f"{number:,}".replace(",", space)


def _title(home: Home, rooms: int | None, shows_metro: bool) -> str:
    verb = "Satılır" if home.operation == "sale" else "İcarəyə verilir"
    counted = f"{rooms} otaqlı " if rooms else ""
    return f"{verb} {counted}{area_text(home)} {AZ_NOUNS[home.kind]} {_whereabouts(home, shows_metro)}"


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.translate(_LATIN).lower()).strip("-")


def _whereabouts(home: Home, shows_metro: bool) -> str:
    if home.metro and shows_metro:
        return f"{home.metro} m."
    if home.settlement:
        return f"{home.settlement} q."
    return f"{home.place.district} r." if home.place.district else f"{home.place.city} ş."


def _address(home: Home, rng: Random) -> Address:
    chances = [rng.random() for _ in range(5)]
    if chances[0] < 0.03:
        return Address()
    numbered = f"{home.street} {home.number}" if chances[1] < 0.7 else home.street
    return Address(
        city=home.place.city,
        district=home.place.district if chances[2] < (0.5 if home.settlement else 0.9) else None,
        settlement=home.settlement,
        metro=home.metro if chances[3] < 0.8 else None,
        street=numbered if chances[4] < 0.7 else None,
    )


def _paragraphs(home: Home, rng: Random) -> tuple[str, ...]:
    chosen = rng.sample(AZ_SENTENCES, rng.randint(2, 8))
    if rng.random() < 0.04:
        return ()
    text = [
        sentence.format(city=home.place.city, noun=AZ_NOUNS[home.kind], area=area_text(home)) for sentence in chosen
    ]
    return tuple(" ".join(text[at : at + 3]) for at in range(0, len(text), 3))


def _seller(advert: Advert, rng: Random) -> str:
    is_agent = rng.random() < 0.6
    if advert.words is not None:
        is_agent = advert.agency is not None
    return AGENT if is_agent else OWNER


def _phones(rng: Random) -> str:
    """Return telephone numbers that are not assigned."""
    numbers = [f"({rng.choice(('050', '055', '070'))}) 000-{rng.randint(0, 99):02}-00" for _ in range(2)]
    return ", ".join(numbers[: rng.randint(1, 2)])


def _with_rooms(facts: Facts, advert: Advert, rng: Random) -> Facts:
    """Change the room count. The portal makes the title from it, and the URL from the title, so both change too."""
    rooms = corrected(facts.rooms, advert.home.rooms or 1, rng)
    title = _title(advert.home, rooms, facts.title_metro is not None)
    return replace(facts, rooms=rooms, title=title, slug=_slug(title))


_EDITS = in_azerbaijan(_with_rooms)
