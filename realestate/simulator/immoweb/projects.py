"""Projects and the homes that belong to them. While the project is on the market, only its page shows these homes."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from math import ceil
from typing import Any

from realestate.simulator.adverts import DAY, START, Advert, dice
from realestate.simulator.immoweb.facts import facts_of
from realestate.simulator.world import World

#: kind of a project -> kind of its units.
UNITS = {"apartment_group": "apartment", "house_group": "house"}
MOST_UNITS = 4


class Projects:
    """Says which adverts belong to which project: some of those posted on the same day, in places near by.

    So a crawler that reads a new project finds its units, which are as new. When a project leaves the market, searches
    find the units that are left, like other homes.
    """

    def __init__(self, world: World, portal: str) -> None:
        self._world = world
        self._portal = portal
        self._known = 0
        self._units: dict[Advert, list[Advert]] = {}

    def units(self, project: Advert) -> list[Advert]:
        """Return those on the market today."""
        return [unit for unit in self._all().get(project, ()) if unit.gone is None]

    def hidden(self) -> set[Advert]:
        """Return the adverts that no search shows today."""
        return {unit for project, units in self._all().items() if project.gone is None for unit in units}

    def every(self) -> list[Advert]:
        return list(self._all())

    def of(self, adverts: Iterable[Advert]) -> list[Advert]:
        """Return the projects of these adverts."""
        some = set(adverts)
        return [project for project, units in self._all().items() if not some.isdisjoint(units)]

    def _all(self) -> dict[Advert, list[Advert]]:
        adverts = self._world.adverts[self._portal]
        if len(adverts) > self._known:
            new = list(islice(adverts.values(), self._known, None))
            for _, posted in groupby(sorted(new, key=_day), key=_day):
                self._units.update(_shared_out(list(posted)))
            self._known = len(adverts)
        return self._units


def cluster(project: Advert, units: list[Advert]) -> dict[str, Any]:
    """Return what the page of a project shows of its homes."""
    return summary(project) | {"units": [{"type": UNITS[project.home.kind].upper(), "items": [*map(_unit, units)]}]}


def summary(advert: Advert) -> dict[str, Any]:
    """Return the ranges of a project, which a search shows too. Empty if the advert is not a project."""
    home = advert.home
    is_project = advert.home.is_project
    return {
        "minPrice": advert.asking if is_project else None,
        "maxPrice": advert.dearest,
        "minRoom": 1 if is_project else None,
        "maxRoom": home.bedrooms if is_project else None,
        "minSurface": 50 if is_project else None,
        "maxSurface": None if home.area_m2 is None or not is_project else round(home.area_m2),
        "projectInfo": None,
        "bedroomRange": f"1 - {home.bedrooms}" if is_project else "",
        "surfaceRange": f"50 - {home.area_m2} m²" if is_project else "",
    }


def _unit(advert: Advert) -> dict[str, Any]:
    facts = facts_of(advert)
    return {
        "id": advert.ref,
        "subtype": advert.home.subtype.upper(),
        "price": advert.price,
        "bedroomCount": facts.bedrooms,
        "surface": facts.area_m2,
        "floor": facts.floor,
        "saleStatus": "UNDER_OPTION" if advert.is_reserved else "AVAILABLE",
    }


def _day(advert: Advert) -> int:
    """Return the day on which the advert was first posted."""
    return max(0, ceil((advert.posted_at - START) / DAY))


def _shared_out(posted: list[Advert]) -> Iterator[tuple[Advert, list[Advert]]]:
    """Yield each project with the next homes of its kind by postal code, beginning again after the last."""
    for kind, unit_kind in UNITS.items():
        left = sorted((each for each in posted if _is_sold(each, unit_kind)), key=_place)
        for project in sorted((each for each in posted if each.home.kind == kind), key=lambda each: each.ref):
            start = bisect_left(left, _place(project), key=_place)
            count = dice(project.key, "units").randint(2, MOST_UNITS)
            taken = [*left[start:], *left[:start]][:count]
            left = [each for each in left if each not in taken]
            yield project, taken


def _is_sold(advert: Advert, kind: str) -> bool:
    return advert.home.kind == kind and advert.home.operation == "sale"


def _place(advert: Advert) -> tuple[str, int]:
    return advert.home.place.postal_code or "", advert.ref
