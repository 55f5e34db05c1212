"""The facts that one tap advert shows of its home. Both forms of its page and the truth use them."""

from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from realestate.simulator.adverts import Advert, Edit, corrected, dice, with_edits
from realestate.simulator.edits import in_azerbaijan
from realestate.simulator.homes import Home
from realestate.simulator.texts import AZ_NOUNS, AZ_SENTENCES, PERSONS_AZ

#: kind of home -> the category of its advert.
CATEGORIES = {
    "new_building": "menziller",
    "old_building": "menziller",
    "yard_house": "heyet-evleri",
    "garden_house": "heyet-evleri",
    "villa": "heyet-evleri",
    "office": "obyektler-ve-ofisler",
    "shop": "obyektler-ve-ofisler",
    "garage": "qarajlar",
    "land": "torpaq-sahesi",
}
KINDS = {
    "new_building": "Yeni tikili",
    "old_building": "Köhnə tikili",
    "yard_house": "Həyət evi",
    "garden_house": "Bağ evi",
    "villa": "Villa",
    "office": "Ofis",
    "shop": "Obyekt",
}
SHOPS = ("Uydurma Əmlak", "Mavi Qapı Əmlak", "Xəyali Evlər MMC", 'Sınaq "Daşınmaz" Mərkəzi', "Örnək & Tərəfdaşlar")
PERIODS = {"month": "Aylıq", "day": "Günlük"}
#: The share of adverts whose page still has the form from before Next.js.
OLD_FORM = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts. A value that the advert does not show is None."""

    title: str
    rooms: int | None
    floor: int | None
    floors: int | None
    whereabouts: str | None
    """The place that the seller chose: a metro station, a settlement or a district, with its ending."""
    paragraphs: tuple[str, ...]
    shop: str | None
    contact: str
    phones: tuple[str, ...]
    photos: int
    views: int
    has_old_form: bool
    has_html_body: bool
    shows_unit: bool
    """Whether the value of an area has the unit too, not only its label."""
    is_shuffled: bool


def facts_of(advert: Advert) -> Facts:
    """Return the facts, without price and dates. They are the same until the seller edits the advert."""
    return _edited(advert, advert.edits)


def rows(advert: Advert, facts: Facts) -> list[tuple[str, str]]:
    """Return label and value, as both forms of the page show them."""
    home = advert.home
    number = size_text(advert.home)
    unit = "sot" if home.kind == "land" else "m²"
    rows = [
        ("Şəhər", home.place.city),
        ("Elanın tipi", _deal(home)),
        ("Kirayə müddəti", PERIODS.get(advert.rent_period or "")),
        ("Binanın tipi" if home.floor else "Əmlakın növü", KINDS.get(home.kind)),
        (f"Sahə, {unit}", f"{number} {unit}" if facts.shows_unit else number),
        ("Otaq sayı", facts.rooms),
        ("Mərtəbə", f"{facts.floor}/{facts.floors}" if facts.floor and facts.floors else facts.floor),
        ("Mərtəbə sayı", None if facts.floor else facts.floors),
        ("Yerləşmə yeri", facts.whereabouts),
    ]
    if facts.is_shuffled:
        dice(advert.key, "rows").shuffle(rows)
    return [(label, str(value)) for label, value in rows if value is not None]


def size_text(home: Home) -> str:
    """Return the area, such as "85" or "85,5". The unit of land is the sot, 100 m²."""
    size = (home.plot_m2 or 0) / 100 if home.kind == "land" else home.area_m2 or 0
    return f"{size:g}".replace(".", ",")


def _deal(home: Home) -> str | None:
    """Return the deal as the page shows it. For the sale of land and garages it shows none."""
    if home.operation == "rent":
        return "Kirayə verilir"
    return None if home.kind in ("land", "garage") else "Satılır"


@lru_cache(maxsize=8192)
def _edited(advert: Advert, edits: tuple[Edit, ...]) -> Facts:
    """Return the facts from the cache. `edits` are those of the advert, and part of the cache key."""
    return with_edits(_posted(advert), advert, _EDITS)


def _posted(advert: Advert) -> Facts:
    home = advert.home
    rng = dice(advert.key, "facts")
    rooms = home.rooms if rng.random() < 0.95 else None
    where = _whereabouts(home) if rng.random() < 0.95 else None
    return Facts(
        title=_title(home, rooms, where),
        rooms=rooms,
        floor=home.floor if rng.random() < 0.9 else None,
        floors=home.floors if rng.random() < 0.9 else None,
        whereabouts=where,
        paragraphs=advert.words or _paragraphs(home, rng),
        shop=_shop(advert, rng),
        contact=rng.choice(PERSONS_AZ),
        phones=_phones(rng),
        photos=rng.choice((0, 1, 3, 5, 8, 12)),
        views=rng.randint(0, 6000),
        has_old_form=rng.random() < OLD_FORM,
        has_html_body=rng.random() < 0.3,
        shows_unit=rng.random() < 0.2,
        is_shuffled=rng.random() < 0.3,
    )


def _title(home: Home, rooms: int | None, where: str | None) -> str:
    """Return the title that the portal makes: for a flat with the number of rooms, for a house with very little."""
    noun = AZ_NOUNS[home.kind]
    size = f"{size_text(home)} m²"
    if home.floor is None:
        return ", ".join(filter(None, (noun[:1].upper().replace("I", "İ") + noun[1:], where)))
    counted = f"{rooms}-otaqlı {noun}" if rooms else noun
    return ", ".join(filter(None, (counted, where, size)))


def _whereabouts(home: Home) -> str | None:
    if home.metro:
        return f"{home.metro} m."
    if home.settlement:
        return f"{home.settlement} q."
    return f"{home.place.district} r." if home.place.district else None


def _paragraphs(home: Home, rng: Random) -> tuple[str, ...]:
    chosen = rng.sample(AZ_SENTENCES, rng.randint(2, 8))
    if rng.random() < 0.04:
        return ()
    size = f"{size_text(home)} {'sot' if home.kind == 'land' else 'm2'}"
    text = [sentence.format(city=home.place.city, noun=AZ_NOUNS[home.kind], area=size) for sentence in chosen]
    return tuple(" ".join(text[at : at + 3]) for at in range(0, len(text), 3))


def _shop(advert: Advert, rng: Random) -> str | None:
    shop = rng.choice(SHOPS) if rng.random() < 0.4 else None
    return shop if advert.words is None else advert.agency


def _phones(rng: Random) -> tuple[str, ...]:
    """Return telephone numbers that are not assigned."""
    numbers = [f"({rng.choice(('050', '055', '070'))}) 000-{rng.randint(0, 99):02}-00" for _ in range(2)]
    return tuple(numbers[: rng.randint(1, 2)])


def _with_rooms(facts: Facts, advert: Advert, rng: Random) -> Facts:
    """Change the room count. The portal makes the title from it, so the title changes too."""
    rooms = corrected(facts.rooms, advert.home.rooms or 1, rng)
    return replace(facts, rooms=rooms, title=_title(advert.home, rooms, facts.whereabouts))


_EDITS = in_azerbaijan(_with_rooms)
