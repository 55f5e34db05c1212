"""The facts that one lalafo advert shows of its home. Its documents and the truth both use them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from random import Random
from typing import Literal

from realestate.items import RentPeriod
from realestate.simulator.adverts import Advert, Edit, corrected, dice, with_edits
from realestate.simulator.homes import Home
from realestate.simulator.texts import ADDED_AZ, AZ_NOUNS, AZ_SENTENCES, PERSONS_AZ

#: city -> its id and its word in URLs. The id of Baku is real, the others are invented.
CITIES = {"Bakı": (103_261, "baku"), "Sumqayıt": (103_268, "sumgait"), "Gəncə": (103_262, "ganja")}

ROOT = 2029
#: kind of home -> its category for a sale, for a monthly rent and for a daily rent.
LEAVES: dict[str, dict[RentPeriod | None, int]] = {
    "new_building": {None: 4793, "month": 2044, "day": 2045},
    "old_building": {None: 4800, "month": 2044, "day": 2045},
    "yard_house": {None: 2031, "month": 2033, "day": 2034},
    "garden_house": {None: 5952, "month": 2033, "day": 2034},
    "villa": {None: 2031, "month": 2033, "day": 2034},
    "office": {None: 2056, "month": 2068, "day": 2068},
    "garage": {None: 5304, "month": 5305, "day": 5305},
    "land": {None: 2038, "month": 2039, "day": 2039},
    "shop": {None: 2057, "month": 2066, "day": 2066},
}
REPAIRS = ("Təmirsiz", "Orta təmirli", "Yaxşı təmirli", "Əla təmirli")
DEED = "Kupça (Çıxarış)"
CONTRACT = "Müqavilə"
OWNER = "Mülkiyyətçi"
AGENT = "Vasitəçi"
AMENITIES = ("Lift", "Balkon", "Kondisioner", "Hovuz", "Parkinq", "Mebel")
FIRMS = ("Nümunə Əmlak Evi", "Uydurma Daşınmaz Əmlak", "Sınaq Ev Agentliyi")

TITLE_LENGTH = 70
_LATIN = str.maketrans("əıöüğşçƏIİÖÜĞŞÇ", "eiougsceiiougsc")

Shape = Literal["text", "comma", "number"]
"""How a number is written in a param: "85.5", "85,5", or 85.5 as a JSON number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts. A value that the advert does not show is None."""

    text: str
    rooms: int | None
    floor: int | None
    floors: int | None
    repair: str | None
    document: str | None
    district: str | None
    metro: str | None
    settlement: str | None
    offerer: str | None
    firm: str | None
    """Name of the firm, if the seller has a professional account."""
    person: str
    phone: str
    amenities: tuple[str, ...]
    is_mapped: bool
    currency: str
    is_paid: bool
    """Whether it is a paid advert, shown in other searches too."""
    photos: int
    views: int
    is_shuffled: bool
    shape: Shape
    has_ms: bool
    """Whether the time of its last change is in milliseconds."""
    on_request: int | None
    """The value for a missing price: null or 0."""

    @property
    def title(self) -> str:
        """The title: the portal makes it from the beginning of the text."""
        return self.text[:TITLE_LENGTH]

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.translate(_LATIN).lower()).strip("-")


def facts_of(advert: Advert) -> Facts:
    """Return the facts, without price and dates. They are the same until the seller edits the advert."""
    return _edited(advert, advert.edits)


def category_of(advert: Advert) -> int:
    return LEAVES[advert.home.kind][advert.rent_period]


def created_at(advert: Advert) -> datetime:
    """Return the time of posting. An advert that was published again has a new date and its old id."""
    return (advert.reposted_at or advert.posted_at).replace(microsecond=0)


def changed_at(advert: Advert) -> datetime:
    return advert.updated_at if facts_of(advert).has_ms else advert.updated_at.replace(microsecond=0)


def has_period_of_its_own(advert: Advert) -> bool:
    """Whether a param shows the rent period, because monthly and daily rents are in the same category."""
    leaves = LEAVES[advert.home.kind]
    return advert.rent_period is not None and leaves["month"] == leaves["day"]


@lru_cache(maxsize=8192)
def _edited(advert: Advert, edits: tuple[Edit, ...]) -> Facts:
    """Return the facts from the cache. `edits` are those of the advert, and part of the cache key."""
    return with_edits(_posted(advert), advert, _EDITS)


def _posted(advert: Advert) -> Facts:
    home = advert.home
    rng = dice(advert.key, "facts")
    rolls = [rng.random() for _ in range(8)]
    is_built = home.kind not in ("land", "garage")
    firm = rng.choice(FIRMS) if rolls[7] < 0.2 else None
    if advert.words is not None:
        firm = advert.agency
    return Facts(
        text=_text(home, rng, advert.words),
        rooms=home.rooms if rolls[0] < 0.95 else None,
        floor=home.floor if rolls[1] < 0.92 else None,
        floors=home.floors if rolls[2] < 0.9 else None,
        repair=REPAIRS[int(home.quality * 3.99)] if is_built and rolls[3] < 0.85 else None,
        document=rng.choice((DEED, DEED, CONTRACT, None)),
        district=home.place.district if rolls[4] < 0.8 else None,
        metro=home.metro if rolls[5] < 0.8 else None,
        settlement=home.settlement if rolls[6] < 0.7 else None,
        offerer=rng.choice((AGENT, None) if firm else (AGENT, OWNER, OWNER, None)),
        firm=firm,
        person=rng.choice(PERSONS_AZ),
        phone=f"+99450000{rng.randint(0, 99):02}00",
        amenities=tuple(rng.sample(AMENITIES, rng.randint(0, 4))) if is_built else (),
        is_mapped=rng.random() < 0.8,
        currency="USD" if rng.random() < 0.08 else "AZN",
        is_paid=rng.random() < 0.05,
        photos=rng.choice((0, 1, 3, 5, 8, 12)),
        views=rng.randint(0, 6000),
        is_shuffled=rng.random() < 0.3,
        shape=rng.choice(("text", "text", "comma", "number")),
        has_ms=rng.random() < 0.2,
        on_request=rng.choice((None, 0)),
    )


def _text(home: Home, rng: Random, words: tuple[str, ...] | None) -> str:
    noun = AZ_NOUNS[home.kind]
    size = f"{home.area_m2 or home.plot_m2:g} m²"
    chosen = rng.sample(AZ_SENTENCES, rng.randint(1, 6)) if words is None else words
    sentences = [sentence.format(city=home.place.city, noun=noun, area=size) for sentence in chosen]
    head = "Satılır" if home.operation == "sale" else "Kirayə verilir"
    return f"{head}: {noun}, {home.street}{rng.choice((' ', '  ', chr(10)))}" + rng.choice((" ", "\n")).join(sentences)


def _with_text(facts: Facts, advert: Advert, rng: Random) -> Facts:
    return replace(facts, text=f"{facts.text}\n{rng.choice(ADDED_AZ)}")


def _with_blanks(facts: Facts, advert: Advert, rng: Random) -> Facts:
    """Add a sentence at the end, which is not part of the title."""
    return replace(facts, text=facts.text + " \n ")


def _with_rooms(facts: Facts, advert: Advert, rng: Random) -> Facts:
    return replace(facts, rooms=corrected(facts.rooms, advert.home.rooms or 1, rng))


def _with_photos(facts: Facts, advert: Advert, rng: Random) -> Facts:
    return replace(facts, photos=facts.photos + rng.randint(1, 3))


_EDITS: dict[Edit, Callable[[Facts, Advert, Random], Facts]] = {
    "text": _with_text,
    "blanks": _with_blanks,
    "rooms": _with_rooms,
    "photos": _with_photos,
}
