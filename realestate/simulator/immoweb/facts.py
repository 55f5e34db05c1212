"""The facts that one immoweb advert shows of its home. The page and the truth both use them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import TypeVar

from realestate.simulator.adverts import START, Advert, Edit, corrected, dice, with_edits
from realestate.simulator.homes import Home
from realestate.simulator.texts import (
    ADDED,
    AGENCIES,
    DEVELOPERS,
    MISLEADING_TEXTS,
    NOTARIES,
    NOUNS,
    PERSONS_BE,
    SENTENCES,
    TITLES,
)

#: feature -> (share of houses that have it, share of flats, share of adverts that do not show it)
FLAGS = {
    "garden": (0.8, 0.12, 0.2),
    "terrace": (0.7, 0.55, 0.2),
    "balcony": (0.1, 0.4, 0.5),
    "swimming_pool": (0.05, 0.01, 0.3),
    "lift": (0.01, 0.6, 0.3),
    "fireplace": (0.25, 0.06, 0.1),
    "double_glazing": (0.8, 0.85, 0.2),
    "heat_pump": (0.1, 0.08, 0.4),
    "photovoltaic_panels": (0.22, 0.05, 0.4),
    "air_conditioning": (0.06, 0.08, 0.5),
    "basement": (0.5, 0.5, 0.3),
    "armored_door": (0.02, 0.15, 0.6),
}
CONDITIONS = ("TO_RESTORE", "TO_RENOVATE", "TO_BE_DONE_UP", "GOOD", "JUST_RENOVATED", "AS_NEW")
HEATINGS = ("GAS", "GAS", "GAS", "FUELOIL", "ELECTRIC", "PELLET", "CARBON", "SOLAR", "WOOD")
EPC = ("A++", "A+", "A", "B", "C", "D", "E", "F", "G")
PARKING = ("parkingCountIndoor", "parkingCountOutdoor", "parkingCountClosedBox")


Value = TypeVar("Value", int, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts. A value that the advert does not show is None."""

    language: str
    own_title: str | None
    og_title: str
    description: str
    translated: str
    has: dict[str, bool | None]
    parking: dict[str, int | None]
    is_newly_built: bool | None
    is_furnished: bool | None
    charges: int | None
    area_m2: int | None
    plot_m2: int | None
    rooms: int | None
    bedrooms: int | None
    bathrooms: int | None
    floor: int | None
    floors: int | None
    year: int | None
    condition: str | None
    epc_score: str | None
    energy_kwh_m2: int | None
    heating: str | None
    facades: int | None
    is_address_hidden: bool
    is_approximate: bool | None
    number: str | None
    seller: str
    seller_id: int
    seller_name: str | None
    seller_ref: str | None
    pictures: int
    has_plain_utc: bool
    """Whether its dates end in Z instead of +0000."""
    is_new: bool


def facts_of(advert: Advert) -> Facts:
    """Return the facts, without price, dates and option. They are the same until the seller edits the advert."""
    return _edited(advert, advert.edits)


def charges_of(advert: Advert) -> int | None:
    """Return the charges. Only a monthly rent has them."""
    return facts_of(advert).charges if advert.price is not None and advert.rent_period == "month" else None


@lru_cache(maxsize=8192)
def _edited(advert: Advert, edits: tuple[Edit, ...]) -> Facts:
    """Return the facts from the cache. `edits` are those of the advert, and part of the cache key."""
    return with_edits(_posted(advert), advert, _EDITS)


def _posted(advert: Advert) -> Facts:
    home = advert.home
    of_home = dice(advert.home.id, "immoweb")
    own = dice(advert.key, "facts")
    dwelling = home.bedrooms is not None
    kwh = int(of_home.triangular(-20, 620, 230)) if dwelling else None
    built = dwelling or home.kind != "land"
    seller, name = _seller(advert, own)
    language = own.choice((home.place.language,) * 4 + ("en",))
    is_new = home.year is not None and home.year >= 2024
    return Facts(
        language=language,
        own_title=_own_title(advert, language, own),
        og_title=_og_title(advert.home, advert.home.bedrooms),
        description=_description(advert, language, own),
        translated=_sentences(advert, "en", own),
        has=_flags(advert, of_home, own),
        parking=_parking(home.kind, of_home, own),
        is_newly_built=own.choice((is_new, is_new, None)),
        is_furnished=own.choice((True, False, None, None)) if home.operation == "rent" else None,
        charges=_charges(advert, own),
        area_m2=_sometimes(own, 0.95, None if home.area_m2 is None else round(home.area_m2)),
        plot_m2=_sometimes(own, 0.9, None if home.plot_m2 is None else round(home.plot_m2)),
        rooms=_sometimes(own, 0.35, home.rooms),
        bedrooms=_sometimes(own, 0.98, home.bedrooms),
        bathrooms=_sometimes(own, 0.9, home.bathrooms),
        floor=_sometimes(own, 0.8, home.floor),
        floors=_sometimes(own, 0.6, home.floors),
        year=_sometimes(own, 0.65, home.year if built else None),
        condition=_sometimes(own, 0.75, CONDITIONS[int(home.quality * 5.99)] if built else None),
        epc_score=_sometimes(own, 0.8, None if kwh is None else _score(kwh)),
        # The site writes -1 for unknown, so no home has this value.
        energy_kwh_m2=_sometimes(own, 0.85, -2 if kwh == -1 else kwh),
        heating=_sometimes(own, 0.7, of_home.choice(HEATINGS) if dwelling else None),
        facades=_sometimes(own, 0.7, of_home.randint(2, 4) if dwelling else None),
        is_address_hidden=own.random() < 0.25,
        is_approximate=own.choice((None, None, None, None, None, False, False, True)),
        number=_number(home.number, own),
        seller=seller,
        seller_id=own.randint(1_000_000, 9_999_999),
        seller_name=name,
        seller_ref=f"{own.randint(100_000, 9_999_999)}" if seller != "PRIVATE" and own.random() < 0.7 else None,
        pictures=own.choice((0, 1, 4, 8, 12, 15, 18, 22)),
        has_plain_utc=own.random() < 0.7,
        is_new=(START - advert.posted_at).days < 14,
    )


def _sometimes(rng: Random, share: float, value: Value | None) -> Value | None:
    """Return the value in this share of adverts, else None."""
    return value if rng.random() < share else None


def _score(kwh: int) -> str:
    return EPC[min(8, 0 if kwh < 0 else 1 + kwh // 65)]


def _number(number: int, rng: Random) -> str | None:
    """Return a house number, sometimes with a box or a letter, or None."""
    forms = (str(number),) * 6 + (f"{number}, 01", f"{number} A", f"{number}-{number + 2}", None)
    return rng.choice(forms)


def _charges(advert: Advert, rng: Random) -> int | None:
    share = rng.uniform(0.05, 0.15)
    if rng.random() < 0.4 or advert.home.operation == "sale":
        return None
    return max(20, round(advert.home.value * share / 5) * 5)


def _seller(advert: Advert, rng: Random) -> tuple[str, str | None]:
    if advert.home.is_project:
        return "DEVELOPER", rng.choice(DEVELOPERS)
    chance = rng.random()
    if chance < 0.2:
        return "PRIVATE", rng.choice((*PERSONS_BE, None, None))
    if chance < 0.24:
        return "NOTARY", rng.choice(NOTARIES)
    return "AGENCY", rng.choice(AGENCIES)


def _flags(advert: Advert, of_home: Random, own: Random) -> dict[str, bool | None]:
    """Return the features. Land has none. They depend on the home, and the seller decides which are shown."""
    column = 0 if advert.home.floor is None else 1
    if advert.home.bedrooms is None:
        return dict.fromkeys(FLAGS)
    return {
        word: None if own.random() < shares[2] else of_home.random() < shares[column] for word, shares in FLAGS.items()
    }


def _parking(kind: str, of_home: Random, own: Random) -> dict[str, int | None]:
    counts = {key: of_home.choice((0, 0, 0, 1, 2)) for key in PARKING}
    return {key: None if kind == "land" or own.random() < 0.5 else count for key, count in counts.items()}


def _own_title(advert: Advert, language: str, rng: Random) -> str | None:
    title = rng.choice(TITLES[language])
    if rng.random() < 0.55:
        return None
    filled = title.format(noun=NOUNS[advert.home.kind][language], city=advert.home.place.city)
    return filled[0].upper() + filled[1:]


def _og_title(home: Home, bedrooms: int | None) -> str:
    place = home.place
    title = f"{NOUNS[home.kind]['en'].capitalize()} for {home.operation} in {place.city} ({place.postal_code})"
    return f"{title} with {bedrooms} bedrooms" if bedrooms else title


def _description(advert: Advert, language: str, rng: Random) -> str:
    """Return the description with the blanks that people leave in it. Without one immoweb shows "-"."""
    text = _sentences(advert, language, rng)
    misleading = rng.choice(MISLEADING_TEXTS)
    chance = rng.random()
    if chance < 0.04:
        return "-"
    if chance < 0.12:
        return f"{text}\n{misleading.format(city=advert.home.place.city)}"
    return f" {text}  \n" if chance < 0.3 else text


def _sentences(advert: Advert, language: str, rng: Random) -> str:
    chosen = rng.sample(SENTENCES[language], rng.randint(3, 7))
    text = "\n\n".join(" ".join(chosen[at : at + 2]) for at in range(0, len(chosen), 2))
    home = advert.home
    area = round(home.area_m2 or home.plot_m2 or 0)
    return text.format(noun=NOUNS[home.kind][language], city=home.place.city, area=area)


def _with_text(facts: Facts, advert: Advert, rng: Random) -> Facts:
    said = "" if facts.description == "-" else f"{facts.description.rstrip()}\n\n"
    return replace(facts, description=said + rng.choice(ADDED[facts.language]))


def _with_blanks(facts: Facts, advert: Advert, rng: Random) -> Facts:
    said = facts.description
    return replace(facts, description=said if said == "-" else said.replace(" ", "  ", 2) + " ")


def _with_rooms(facts: Facts, advert: Advert, rng: Random) -> Facts:
    bedrooms = corrected(facts.bedrooms, advert.home.bedrooms or 0, rng)
    return replace(facts, bedrooms=bedrooms, og_title=_og_title(advert.home, bedrooms))


def _with_photos(facts: Facts, advert: Advert, rng: Random) -> Facts:
    return replace(facts, pictures=facts.pictures + rng.randint(1, 3))


_EDITS: dict[Edit, Callable[[Facts, Advert, Random], Facts]] = {
    "text": _with_text,
    "blanks": _with_blanks,
    "rooms": _with_rooms,
    "photos": _with_photos,
}
