"""The homes of the invented world: their facts, and how they are generated."""

from dataclasses import dataclass
from random import Random
from typing import Literal

from realestate.simulator.foreign_places import ABROAD
from realestate.simulator.places import AZERBAIJAN, BELGIUM, Place
from realestate.simulator.texts import STREETS


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The true facts of a home. They do not depend on the advert or the portal."""

    id: str
    country: str
    operation: Literal["sale", "rent"]
    rent_period: Literal["month", "day"] | None
    kind: str
    subtype: str
    place: Place
    street: str
    number: int
    latitude: float
    longitude: float
    metro: str | None = None
    settlement: str | None = None
    value: int
    """The price before a seller rounds it: for a rent, that of one period."""
    dearest: int | None = None
    """For a project of several units: the price of the most expensive one. value is then that of the cheapest."""
    area_m2: float | None = None
    plot_m2: float | None = None
    rooms: int | None = None
    bedrooms: int | None = None
    bathrooms: int | None = None
    floor: int | None = None
    floors: int | None = None
    year: int | None = None
    quality: float = 0.5
    """State of repair, from 0 (a ruin) to 1 (as new)."""

    @property
    def is_project(self) -> bool:
        return self.dearest is not None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of home: how often it occurs, its size, and its price per square metre relative to a flat's."""

    name: str
    weight: int
    subtypes: tuple[str, ...]
    area_m2: tuple[int, int]
    price_factor: float = 1.0
    rent_share: float = 0.3
    plot_m2: tuple[int, int] | None = None
    is_flat: bool = False
    is_dwelling: bool = True
    units: int = 1


_BELGIAN_KINDS = (
    Kind(
        "house",
        40,
        ("house", "house", "villa", "town_house", "bungalow", "farmhouse", "manor_house"),
        (85, 320),
        0.9,
        0.15,
        plot_m2=(90, 2400),
    ),
    Kind(
        "apartment",
        40,
        ("apartment", "apartment", "apartment", "ground_floor", "duplex", "penthouse", "flat_studio", "loft"),
        (32, 165),
        rent_share=0.45,
        is_flat=True,
    ),
    Kind("apartment_group", 2, ("apartment_group",), (55, 120), 1.25, 0, is_flat=True, units=12),
    Kind("house_group", 1, ("house_group",), (110, 190), 1.1, 0, plot_m2=(150, 600), units=6),
    Kind("office", 4, ("office",), (40, 900), 0.8, 0.6, is_dwelling=False),
    Kind("business", 3, ("commercial_premises", "restaurant"), (45, 500), 0.9, 0.6, is_dwelling=False),
    Kind("industry", 1, ("warehouse",), (250, 4000), 0.3, 0.5, is_dwelling=False),
    Kind("land", 4, ("building_land", "land"), (0, 0), 0.09, 0, plot_m2=(250, 6000), is_dwelling=False),
    Kind("garage", 3, ("garage", "parking"), (12, 30), 0.5, 0.4, is_dwelling=False),
    Kind("kot", 2, ("kot",), (12, 28), 1.6, 1.0, is_flat=True),
)

_AZERBAIJANI_KINDS = (
    Kind("new_building", 40, ("new_building",), (38, 190), 1.0, 0.3, is_flat=True),
    Kind("old_building", 24, ("old_building",), (28, 110), 0.85, 0.35, is_flat=True),
    Kind("yard_house", 14, ("yard_house",), (70, 320), 0.6, 0.1),
    Kind("garden_house", 5, ("garden_house",), (50, 220), 0.5, 0.3),
    Kind("villa", 3, ("villa",), (180, 600), 1.2, 0.2),
    Kind("office", 4, ("office",), (30, 400), 1.1, 0.6, is_dwelling=False),
    Kind("garage", 2, ("garage",), (16, 40), 0.35, 0.2, is_dwelling=False),
    Kind("land", 5, ("land",), (0, 0), 0.04, 0.03, plot_m2=(200, 4000), is_dwelling=False),
    Kind("shop", 3, ("shop",), (25, 500), 1.2, 0.5, is_dwelling=False),
)

#: For countries with one small portal.
_KINDS_ABROAD = (
    Kind("house", 38, ("detached", "semi_detached", "terraced", "bungalow"), (70, 300), 0.9, 0.2, plot_m2=(100, 2000)),
    Kind("apartment", 46, ("apartment", "apartment", "flat_studio"), (28, 150), rent_share=0.45, is_flat=True),
    Kind("land", 6, ("land",), (0, 0), 0.06, 0, plot_m2=(300, 8000), is_dwelling=False),
    Kind("office", 5, ("office",), (30, 600), 0.9, 0.6, is_dwelling=False),
    Kind("shop", 5, ("shop",), (25, 400), 0.9, 0.6, is_dwelling=False),
)

STUDIO = "flat_studio"

_COUNTRIES = {"BE": (BELGIUM, _BELGIAN_KINDS), "AZ": (AZERBAIJAN, _AZERBAIJANI_KINDS)} | {
    country: (places, _KINDS_ABROAD) for country, places in ABROAD.items()
}
_WEIGHTS = {country: [kind.weight for kind in kinds] for country, (_, kinds) in _COUNTRIES.items()}


def make_home(country: str, number: int, rng: Random) -> Home:
    """Return a home whose place, size and price fit together."""
    places, kinds = _COUNTRIES[country]
    place = rng.choice(places)
    kind = rng.choices(kinds, _WEIGHTS[country])[0]
    subtype = rng.choice(kind.subtypes)
    area, plot = _sizes(kind, subtype, country, rng)
    quality = round(rng.random(), 2)
    whole = (area or plot or 0) * _price_m2(kind, place, quality, rng)
    operation, period, value = _deal(kind, country, whole, rng)
    floor, floors = _storeys(kind, subtype, country, rng)
    bedrooms = _bedrooms(kind, subtype, area or 0, rng)
    metro, settlement = _nearby(place, rng)
    return Home(
        id=f"{country.lower()}-{number:06}",
        country=country,
        operation=operation,
        rent_period=period,
        kind=kind.name,
        subtype=subtype,
        place=place,
        street=rng.choice(STREETS[place.language]),
        number=rng.randint(1, 180),
        latitude=round(place.latitude + rng.gauss(0, 0.012), 7),
        longitude=round(place.longitude + rng.gauss(0, 0.018), 7),
        metro=metro,
        settlement=settlement,
        value=value,
        dearest=round(value * rng.uniform(1.2, 1.9)) if kind.units > 1 else None,
        area_m2=area,
        plot_m2=plot,
        rooms=None if bedrooms is None else bedrooms + (1 if country == "AZ" else rng.randint(1, 4)),
        bedrooms=bedrooms,
        bathrooms=None if bedrooms is None else 1 + (bedrooms > 3),
        floor=floor,
        floors=floors,
        year=2026 - int(rng.random() ** 2 * 140) if country != "AZ" else None,
        quality=quality,
    )


def _sizes(kind: Kind, subtype: str, country: str, rng: Random) -> tuple[float | None, float | None]:
    """Return living area and plot. Small ones are more common. Land in Azerbaijan is sold in units of 100 m²."""
    low, high = kind.area_m2
    if subtype == STUDIO:
        high = 45
    area: float = low + round((high - low) * rng.random() ** 1.6)
    if country == "AZ" and rng.random() < 0.15:
        area += 0.5
    if kind.plot_m2 is None:
        return area, None
    least, most = kind.plot_m2
    plot = least + round((most - least) * rng.random() ** 2)
    if country == "AZ":
        plot = plot // 50 * 50
    return area if high else None, plot


def _price_m2(kind: Kind, place: Place, quality: float, rng: Random) -> float:
    return place.price_m2 * kind.price_factor * (0.75 + 0.45 * quality) * rng.lognormvariate(0, 0.12)


def _deal(
    kind: Kind, country: str, whole: float, rng: Random
) -> tuple[Literal["sale", "rent"], Literal["month", "day"] | None, int]:
    chance = rng.random()
    share = rng.uniform(0.003, 0.005)
    daily = rng.random()
    if chance >= kind.rent_share:
        return "sale", None, max(5000, round(whole))
    if country == "AZ" and kind.is_dwelling and daily < 0.2:
        return "rent", "day", max(20, round(whole * share / 14))
    return "rent", "month", max(60, round(whole * share))


def _bedrooms(kind: Kind, subtype: str, area: float, rng: Random) -> int | None:
    """Return the number of bedrooms: the larger the home, the more. A studio and a student's room have none."""
    count = max(1, min(7, round(area / 42 + rng.uniform(-0.6, 0.6))))
    if subtype in (STUDIO, "kot"):
        return 0
    return count if kind.is_dwelling else None


def _storeys(kind: Kind, subtype: str, country: str, rng: Random) -> tuple[int | None, int | None]:
    """Return the storey of a flat, and the number of storeys. The ground floor is 0 in Belgium and 1 in Azerbaijan."""
    floors = rng.randint(2, 20 if country == "AZ" else 7) if kind.is_flat else rng.randint(1, 3)
    lowest, highest = (1, floors) if country == "AZ" else (0, floors - 1)
    floor = {"ground_floor": lowest, "penthouse": highest}.get(subtype, rng.randint(lowest, highest))
    is_one_flat = kind.is_flat and kind.units == 1
    return floor if is_one_flat else None, floors if kind.is_dwelling else None


def _nearby(place: Place, rng: Random) -> tuple[str | None, str | None]:
    """Return the metro station or the settlement that a seller would name."""
    chance = rng.random()
    if place.metros and chance < 0.75:
        return rng.choice(place.metros), None
    if place.settlements and chance > 0.2:
        return None, rng.choice(place.settlements)
    return None, None
