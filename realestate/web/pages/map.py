"""What the map shows: hexagons coloured by the median price of a square metre, or points, and labels of districts."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from h3 import cell_to_boundary, latlng_to_cell  # type: ignore[import-untyped]

from realestate.storage import FullStore
from realestate.storage.query import Box, Comparison, Filter, Hexagon
from realestate.storage.query.places import PricedPlace
from realestate.storage.query.results import MOST_POINTS
from realestate.web.pages.formats import Formats

#: From this zoom on single listings are shown; with so few results always.
POINTS_ZOOM = 12.0
FEW = 150
#: Zoom -> resolution of the hexagons, which look about equally large on the screen.
RESOLUTION = ((2.4, 2), (4.5, 3), (6.0, 4), (7.5, 5), (9.0, 6), (10.5, 7), (99.0, 8))
#: From this zoom on, places have their names: above it there is no room for them.
LABELS_ZOOM = 6.0
#: Prices of at most this many listings are read for one map; of more, a sample.
SAMPLE = 40_000
#: A median of fewer prices says nothing.
FEWEST = 3
#: From few to much, which people who do not see all colours can still distinguish, on light and on dark ground.
COLOURS = ("#2c4f9e", "#2a7fb0", "#2ba69a", "#7fc36a", "#d9c940", "#f5a13c")
UNKNOWN = "#8b95a3"
#: Degrees around the results, so that none is at the edge.
_MARGIN = 0.02


@dataclass(frozen=True, slots=True)
class Median:
    """The median price of a square metre in one cell, in the currency that most of its prices have."""

    price: float
    currency: str
    listings: int


def conditions_of(operation: str) -> tuple[Comparison, ...]:
    """The conditions of prices that can be compared: daily rents cannot be compared with monthly ones."""
    own = Comparison("operation", "=", (operation,))
    return (own, Comparison("rent_period", "=", ("month",))) if operation == "rent" else (own,)


def in_words(operation: str) -> str:
    return "rent a month" if operation == "rent" else "for sale"


def resolution_of(zoom: float) -> int:
    return next(resolution for most, resolution in RESOLUTION if zoom < most)


def bounds_of(hexagons: Iterable[Hexagon]) -> tuple[float, float, float, float] | None:
    """West, south, east and north of the cells; None without any."""
    corners = [corner for each in hexagons for corner in cell_to_boundary(each.cell)]
    if not corners:
        return None
    latitudes = [latitude for latitude, _ in corners]
    longitudes = [longitude for _, longitude in corners]
    return (
        min(longitudes) - _MARGIN,
        min(latitudes) - _MARGIN,
        max(longitudes) + _MARGIN,
        max(latitudes) + _MARGIN,
    )


def medians(places: Iterable[PricedPlace], resolution: int) -> dict[str, Median]:
    """The median of each cell that has enough prices."""
    prices: dict[str, dict[str, list[float]]] = {}
    for each in places:
        cell = latlng_to_cell(each.latitude, each.longitude, resolution)
        prices.setdefault(cell, {}).setdefault(each.currency, []).append(each.price_per_m2)
    found = {}
    for cell, by_currency in prices.items():
        currency, own = max(by_currency.items(), key=lambda each: (len(each[1]), each[0]))
        if len(own) >= FEWEST:
            found[cell] = Median(statistics.median(own), currency, len(own))
    return found


def breaks(values: Sequence[float]) -> list[float]:
    """The limits between the colours, so that each colour has about as many cells."""
    if len(set(values)) < 2:
        return []
    limits = statistics.quantiles(values, n=min(len(COLOURS), len(set(values))), method="inclusive")
    return sorted({_rounded(each) for each in limits})


def _rounded(value: float) -> float:
    """Two digits that count, so that a legend can be read."""
    return float(f"{value:.2g}")


def colour_of(value: float | None, limits: Sequence[float]) -> str:
    """The colour of a median. A cell without one is grey: it must not look like a price."""
    return UNKNOWN if value is None else _colour(sum(value >= limit for limit in limits), limits)


def _colour(step: int, limits: Sequence[float]) -> str:
    return COLOURS[round(step * (len(COLOURS) - 1) / len(limits))] if limits else COLOURS[len(COLOURS) // 2]


def legend(limits: Mapping[str, Sequence[float]], operation: str | None, fmt: Formats, note: str) -> dict[str, Any]:
    """The meaning of the colours. Each currency has its own limits, so of several only the order is known."""
    if operation is None or not limits:
        return {"title": "No prices to compare in this view", "steps": [], "note": note}
    title = f"Median price per m², {in_words(operation)}"
    if len(limits) > 1:
        names = ["low", *[""] * (len(COLOURS) - 2), "high"]
        steps = [{"colour": colour, "label": name} for colour, name in zip(COLOURS, names, strict=True)]
        return {"title": f"{title}, within {' and '.join(sorted(limits))} each", "steps": steps, "note": note}
    ((currency, own),) = limits.items()
    # Each colour begins at the number below its left edge.
    names = ["", *(fmt.number(limit, 2) for limit in own)] if own else []
    steps = [{"colour": _colour(place, own), "label": name} for place, name in enumerate(names)]
    return {"title": f"{title}, {currency}", "steps": steps, "note": note}


def hexagon_map(store: FullStore, filter: Filter, box: Box, zoom: float, fmt: Formats) -> dict[str, Any]:
    """The cells as GeoJSON, with the legend."""
    resolution = resolution_of(zoom)
    cells = store.hexagons(filter, resolution, box)
    operation = _operation(store, replace(filter, conditions=(*filter.conditions, box)))
    found: dict[str, Median] = {}
    note = ""
    if operation is not None:
        priced = replace(filter, conditions=(*filter.conditions, *conditions_of(operation)))
        places = store.priced_places(priced, box, SAMPLE)
        found = medians(places.places, resolution)
        note = f"medians of a sample of {fmt.number(SAMPLE)} listings" if places.is_sample else ""
    by_currency: dict[str, list[float]] = {}
    for each in cells:
        if (median := found.get(each.cell)) is not None:
            by_currency.setdefault(median.currency, []).append(median.price)
    limits = {currency: breaks(prices) for currency, prices in by_currency.items()}
    features = [_hexagon(each, found.get(each.cell), limits, fmt) for each in cells]
    return {
        "kind": "hexagons",
        "count": len(features),
        "text": _in_view(sum(each.count for each in cells), fmt, f" in {fmt.number(len(cells))} hexagons"),
        "legend": legend(limits, operation, fmt, note),
        "features": {"type": "FeatureCollection", "features": features},
    }


def _operation(store: FullStore, filter: Filter) -> str | None:
    """Sale or rent, whichever most of the results are; None if it is not known of any."""
    (facet,) = store.facets(filter, ("operation",))
    return next((str(each.value) for each in facet.values if each.value is not None), None)


def _hexagon(
    cell: Hexagon, median: Median | None, limits: Mapping[str, Sequence[float]], fmt: Formats
) -> dict[str, Any]:
    corners = [(round(longitude, 5), round(latitude, 5)) for latitude, longitude in cell_to_boundary(cell.cell)]
    if median is None:
        colour = UNKNOWN
        text = "too few prices for a median"
    else:
        colour = colour_of(median.price, limits[median.currency])
        text = f"median {fmt.per_m2(median.price, median.currency)} per m² of {fmt.number(median.listings)}"
    listings = f"{fmt.number(cell.count)} {'listing' if cell.count == 1 else 'listings'}"
    area = ";".join(f"{longitude},{latitude}" for longitude, latitude in corners)
    return {
        "type": "Feature",
        "geometry": {"type": "Polygon", "coordinates": [[*corners, corners[0]]]},
        "properties": {"colour": colour, "title": listings, "text": text, "area": area},
    }


def _in_view(listings: int, fmt: Formats, how: str = "") -> str:
    """What the map shows, in words."""
    if not listings:
        return "No result in this view of the map."
    return f"{fmt.number(listings)} {'listing' if listings == 1 else 'listings'} in this view{how}."


def point_map(store: FullStore, filter: Filter, box: Box, fmt: Formats) -> dict[str, Any]:
    """The listings as GeoJSON."""
    points = store.points(filter, box)
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [each.longitude, each.latitude]},
            "properties": {
                "portal": each.portal,
                "ref": each.ref,
                "title": fmt.money(each.price, each.currency) if each.price is not None else "no price",
            },
        }
        for each in points
    ]
    note = f"the first {fmt.number(MOST_POINTS)} of this view" if len(points) >= MOST_POINTS else ""
    return {
        "kind": "points",
        "count": len(features),
        "text": _in_view(len(features), fmt),
        "legend": {"title": "Single listings", "steps": [], "note": note},
        "features": {"type": "FeatureCollection", "features": features},
    }
