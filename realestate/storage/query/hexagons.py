"""The cells of H3 in which listings are counted. The library is loaded at the first use."""

from collections import Counter
from collections.abc import Iterable, Sequence

from realestate.storage.query.errors import QueryError
from realestate.storage.query.results import RESOLUTIONS, Hexagon


def demand_resolution(resolution: int) -> None:
    """Raise QueryError if hexagons of this size are not counted."""
    if resolution not in RESOLUTIONS:
        raise QueryError(f"the resolution is between {RESOLUTIONS[0]} and {RESOLUTIONS[-1]}, not {resolution}")


def cells_of(places: Iterable[tuple[float, float]], resolution: int) -> Counter[str]:
    """Count the places, each with its latitude and longitude, by cell."""
    from h3 import latlng_to_cell  # type: ignore[import-untyped]

    return Counter(latlng_to_cell(latitude, longitude, resolution) for latitude, longitude in places)


def hexagons(counts: Counter[str]) -> Sequence[Hexagon]:
    """The cells, the fullest first."""
    return [Hexagon(cell, count) for cell, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
