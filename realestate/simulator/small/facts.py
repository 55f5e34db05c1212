"""The facts that one advert of a small portal shows of its home. The page and the truth both use them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from realestate.simulator.adverts import Advert, Edit, corrected, dice, with_edits
from realestate.simulator.small.words import ADDED, AGENCIES, NOUNS, PERSONS, SENTENCES, TITLES


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts. A value that the advert does not show is None."""

    title: str
    paragraphs: tuple[str, ...]
    rooms: int | None
    bedrooms: int | None
    bathrooms: int | None
    area_m2: float | None
    plot_m2: float | None
    floor: int | None
    floors: int | None
    year: int | None
    energy: str | None
    energy_kwh: int | None
    street: str | None
    is_mapped: bool
    is_private: bool
    agency: str
    agency_ref: str
    person: str
    photos: int


def facts_of(advert: Advert) -> Facts:
    """Return the facts. They are the same until the seller edits the advert."""
    return _edited(advert, advert.edits)


@lru_cache(maxsize=8192)
def _edited(advert: Advert, edits: tuple[Edit, ...]) -> Facts:
    """Return the facts from the cache. `edits` are those of the advert, and part of the cache key."""
    return with_edits(_posted(advert), advert, _EDITS)


def _posted(advert: Advert) -> Facts:
    home = advert.home
    rng = dice(advert.key, "facts")
    language = home.place.language
    noun = NOUNS[language][home.kind]
    kwh = rng.randint(30, 420)
    chances = [rng.random() for _ in range(9)]
    texts = rng.sample(SENTENCES[language], rng.randint(1, 5))
    built = home.kind != "land"
    return Facts(
        title=rng.choice(TITLES[language]).format(noun=noun, city=home.place.city),
        paragraphs=tuple(text.format(noun=noun, city=home.place.city) for text in texts) if chances[0] < 0.95 else (),
        rooms=home.rooms if chances[1] < 0.95 else None,
        bedrooms=home.bedrooms if chances[1] < 0.95 else None,
        bathrooms=home.bathrooms if chances[2] < 0.9 else None,
        area_m2=home.area_m2 if chances[3] < 0.9 else None,
        plot_m2=home.plot_m2 if chances[3] < 0.9 else None,
        floor=home.floor if chances[4] < 0.8 else None,
        floors=home.floors if chances[4] < 0.8 else None,
        year=home.year if built and chances[5] < 0.6 else None,
        energy="ABCDEFG"[min(6, kwh // 60)] if built and chances[6] < 0.7 else None,
        energy_kwh=kwh if built and chances[6] < 0.7 else None,
        street=f"{home.street} {home.number}" if chances[7] < 0.7 else None,
        is_mapped=chances[8] < 0.85,
        is_private=rng.random() < 0.25,
        agency=rng.choice(AGENCIES[language]),
        agency_ref=f"R{rng.randint(1000, 9999)}",
        person=rng.choice(PERSONS),
        photos=rng.choice((0, 1, 2, 4, 7)),
    )


def _with_text(facts: Facts, advert: Advert, rng: Random) -> Facts:
    return replace(facts, paragraphs=(*facts.paragraphs, rng.choice(ADDED[advert.home.place.language])))


def _with_blanks(facts: Facts, advert: Advert, rng: Random) -> Facts:
    return replace(facts, paragraphs=tuple(text.replace(" ", "  ", 2) for text in facts.paragraphs))


def _with_rooms(facts: Facts, advert: Advert, rng: Random) -> Facts:
    rooms = corrected(facts.rooms, advert.home.rooms or 1, rng)
    return replace(facts, rooms=rooms, bedrooms=corrected(facts.bedrooms, (advert.home.bedrooms or 0) + 1, rng))


def _with_photos(facts: Facts, advert: Advert, rng: Random) -> Facts:
    return replace(facts, photos=facts.photos + rng.randint(1, 3))


_EDITS: dict[Edit, Callable[[Facts, Advert, Random], Facts]] = {
    "text": _with_text,
    "blanks": _with_blanks,
    "rooms": _with_rooms,
    "photos": _with_photos,
}
