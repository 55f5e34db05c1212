"""Which adverts an immoweb search finds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb.facts import facts_of
from realestate.simulator.site import whole_number

#: word in the path -> the kinds of home that it finds. For the last words the world has no homes.
TYPES = {
    "house": ("house", "house_group"),
    "apartment": ("apartment", "apartment_group"),
    "house-and-apartment": ("house", "house_group", "apartment", "apartment_group"),
    "new-real-estate-project-houses": ("house_group",),
    "new-real-estate-project-apartments": ("apartment_group",),
    "kot": ("kot",),
    "office": ("office",),
    "business": ("business",),
    "industry": ("industry",),
    "land": ("land",),
    "garage": ("garage",),
    "project-construction-houses": (),
    "exceptional-property": (),
    "public-sale": (),
}
#: code of a region in a listing -> its word in a search.
REGIONS = {"BRUSSELS": "BRUSSELS", "FLANDERS": "FLANDERS", "WALLONIE": "WALLONIA"}
DEALS = {"for-sale": "sale", "for-rent": "rent"}

#: An unknown order means relevance, which here is an arbitrary but constant order.
_ORDERS: dict[str, Callable[[Advert], Any]] = {
    "newest": lambda advert: 0,
    "cheapest": lambda advert: (advert.asking, advert.ref),
    "most_expensive": lambda advert: (-advert.asking, advert.ref),
    "postal_code": lambda advert: (advert.home.place.postal_code, advert.ref),
    "relevance": lambda advert: crc32(advert.key.encode()),
}


@dataclass(frozen=True, slots=True)
class Search:
    """A search without the page number. Equal searches find the same adverts."""

    type: str
    deal: str
    countries: str
    postal_codes: frozenset[str]
    regions: frozenset[str]
    min_price: int | None
    max_price: int | None
    min_surface: int | None
    max_surface: int | None
    order: str

    @classmethod
    def of(cls, kind: str, deal: str, query: Mapping[str, str]) -> "Search":
        codes = (code.strip().removeprefix("BE-") for code in query.get("postalCodes", "").split(","))
        order = query.get("orderBy", "relevance")
        return cls(
            type=kind,
            deal=deal,
            countries=query.get("countries", "BE"),
            postal_codes=frozenset(filter(None, codes)),
            regions=frozenset(filter(None, query.get("regions", "").split(","))),
            min_price=whole_number(query.get("minPrice")),
            max_price=whole_number(query.get("maxPrice")),
            min_surface=whole_number(query.get("minSurface")),
            max_surface=whole_number(query.get("maxSurface")),
            order=order if order in _ORDERS else "relevance",
        )

    def find(self, listed: list[Advert]) -> list[Advert]:
        """Return the adverts that match, in order. In `listed` the newest is first."""
        return sorted(filter(self._matches, listed), key=_ORDERS[self.order])

    def _matches(self, advert: Advert) -> bool:
        home = advert.home
        return (
            home.kind in TYPES[self.type]
            and home.operation == DEALS[self.deal]
            and "BE" in self.countries.split(",")
            and (not self.postal_codes or home.place.postal_code in self.postal_codes)
            and (not self.regions or REGIONS.get(home.place.region_code or "") in self.regions)
            and _within(self.min_price, advert.asking, self.max_price)
            and _within(self.min_surface, self._area(advert), self.max_surface)
        )

    def _area(self, advert: Advert) -> int | None:
        """Return the area that the advert shows. Called only if a filter needs it, because it takes time."""
        return None if self.min_surface is self.max_surface is None else facts_of(advert).area_m2


def _within(least: int | None, value: int | None, most: int | None) -> bool:
    if least is None and most is None:
        return True
    return value is not None and (least is None or value >= least) and (most is None or value <= most)
