"""The listings that match a filter: a page of them, how many, facets, and where they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from h3 import latlng_to_cell  # type: ignore[import-untyped]

from realestate.storage import FullStore
from realestate.storage.query import Count, Facet, Filter, Hexagon, ListingQuery, Page, Polygon
from realestate.storage.query.conditions import Box
from realestate.storage.query.results import COUNTED
from realestate.web.pages.map import bounds_of

#: Rows of one page.
ROWS = 50
#: The facets of the page, in their order, and how many values of each are listed.
FACETS = ("portal", "operation", "property_type", "city", "district", "rooms", "seller_type", "status", "currency")
VALUES = 8
#: Hexagons of this size show where the results are; smaller ones, if these are few and the results are not many.
BOUNDS_RESOLUTION = 4
NEAR_RESOLUTION = 7
FEW_CELLS = 6
WORLD = Box(-180.0, -90.0, 180.0, 90.0)
SAMPLED = 2000
#: The fields of a row.
FIELDS = (
    "portal",
    "ref",
    "title",
    "status",
    "operation",
    "rent_period",
    "property_type",
    "price",
    "currency",
    "price_basis",
    "price_per_m2",
    "cheaper_by",
    "area_m2",
    "plot_m2",
    "rooms",
    "city",
    "district",
    "first_seen_at",
)


@dataclass(frozen=True, slots=True)
class Listings:
    """What the page shows."""

    filter: Filter
    sort: str
    rows: Sequence[dict[str, Any]]
    next: str | None
    is_first: bool
    count: Count
    facets: Sequence[Facet]
    bounds: tuple[float, float, float, float] | None

    @property
    def area(self) -> Polygon | Box | None:
        """The area that was drawn."""
        return next((each for each in self.filter.conditions if isinstance(each, Polygon | Box)), None)

    @property
    def outline(self) -> str:
        """The corners of that area, for the map; empty without one."""
        area = self.area
        if isinstance(area, Box):
            west, south, east, north = area.west, area.south, area.east, area.north
            corners: Sequence[tuple[float, float]] = ((west, south), (east, south), (east, north), (west, north))
        else:
            corners = area.corners if area else ()
        return ";".join(f"{longitude},{latitude}" for longitude, latitude in corners)


def read_listings(store: FullStore, filter: Filter, sort: str, cursor: str | None) -> Listings:
    """Raises QueryError if the filter, the order or the cursor cannot be asked."""
    query = ListingQuery(filter=filter, sort=sort, cursor=cursor, fields=FIELDS, page_size=ROWS)
    page: Page = store.search(query)
    facets = [_shortened(each) for each in store.facets(filter, FACETS)]
    count = store.count(filter)
    return Listings(
        filter=filter,
        sort=sort,
        rows=page.rows,
        next=page.next,
        is_first=cursor is None,
        count=count,
        facets=facets,
        bounds=_bounds(store, filter, count),
    )


def _bounds(store: FullStore, filter: Filter, count: Count) -> tuple[float, float, float, float] | None:
    """West, south, east and north of the matches; of very many, those of a sample: a page does not read all of them."""
    if count.is_exact:
        cells = store.hexagons(filter, BOUNDS_RESOLUTION)
        if len(cells) <= FEW_CELLS and count.number <= COUNTED:
            cells = store.hexagons(filter, NEAR_RESOLUTION)
        return bounds_of(cells)
    places = store.priced_places(filter, WORLD, SAMPLED).places
    return bounds_of(Hexagon(latlng_to_cell(each.latitude, each.longitude, BOUNDS_RESOLUTION), 1) for each in places)


def _shortened(facet: Facet) -> Facet:
    return Facet(facet.field, facet.values[:VALUES], facet.is_exact)
