"""The names that bina has for kinds of homes, and its numbers for categories and places."""

from typing import NamedTuple

from realestate.simulator.places import AZERBAIJAN


class Category(NamedTuple):
    name: str
    slug: str
    id: str
    """The id of the category in which a search finds it. Flats of new and old buildings share one."""


_HOUSE = Category("Həyət evi/Bağ evi", "heyet-evleri", "5")
CATEGORIES = {
    "new_building": Category("Yeni tikili", "menziller/yeni-tikili", "1"),
    "old_building": Category("Köhnə tikili", "menziller/kohne-tikili", "1"),
    "yard_house": _HOUSE,
    "garden_house": _HOUSE,
    "villa": _HOUSE,
    "office": Category("Ofis", "ofisler", "7"),
    "garage": Category("Qaraj", "qarajlar", "8"),
    "land": Category("Torpaq", "torpaq", "9"),
    "shop": Category("Obyekt", "obyektler", "10"),
}

#: name of a city or place -> its number. Baku is 1.
CITIES = {name: str(number) for number, name in enumerate(dict.fromkeys(place.city for place in AZERBAIJAN), 1)}
_NAMES = [name for place in AZERBAIJAN for name in (*place.metros, *place.settlements, place.district or place.city)]
LOCATIONS = {name: str(number) for number, name in enumerate(dict.fromkeys(_NAMES), 1)}
