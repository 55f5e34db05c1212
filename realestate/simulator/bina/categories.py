"""What bina calls the kinds of homes, and the numbers it gives to what can be searched for."""

from typing import NamedTuple

from realestate.simulator.places import AZERBAIJAN


class Category(NamedTuple):
    name: str
    slug: str
    id: str
    """Of the category in which a search finds it; flats have one for new and old buildings together."""


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

#: Numbers of cities and places, by their names; Baku is 1.
CITIES = {name: str(number) for number, name in enumerate(dict.fromkeys(place.city for place in AZERBAIJAN), 1)}
_NAMES = [name for place in AZERBAIJAN for name in (*place.metros, *place.settlements, place.district or place.city)]
LOCATIONS = {name: str(number) for number, name in enumerate(dict.fromkeys(_NAMES), 1)}
