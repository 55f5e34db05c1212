"""The cells of H3 in which listings are counted. The library is loaded at the first use."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import cos, radians

from realestate.storage.query.conditions import Box
from realestate.storage.query.errors import QueryError
from realestate.storage.query.results import RESOLUTIONS, Hexagon


def demand_resolution(resolution: int) -> None:
    """Raise QueryError if hexagons of this size are not counted."""
    if resolution not in RESOLUTIONS:
        raise QueryError(f"the resolution is between {RESOLUTIONS[0]} and {RESOLUTIONS[-1]}, not {resolution}")


#: The resolution of the cell that is stored with a listing.
STORED = 9


def stored_cell(latitude: float | None, longitude: float | None) -> int | None:
    """The number of the cell of a place; None without a place, or if it is not on the globe."""
    if latitude is None or longitude is None or not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        return None
    from h3.api.basic_int import latlng_to_cell  # type: ignore[import-untyped]

    return int(latlng_to_cell(latitude, longitude, STORED))


#: The resolutions of which the store keeps counts.
TALLIED = (5, 7)


def cell_name(cell: int) -> str:
    """The name of the cell with this number."""
    return f"{cell:x}"


def cells_of(places: Iterable[tuple[float, float]], resolution: int) -> Counter[str]:
    """Count the places, each with its latitude and longitude, by cell. As in the store, a coarser one has what its
    finer cells have; at its edge that is not quite its hexagon."""
    from h3 import cell_to_parent, latlng_to_cell  # type: ignore[import-untyped]

    return Counter(cell_to_parent(latlng_to_cell(*place, STORED), resolution) for place in places)


def widened(box: Box, resolution: int) -> Box:
    """A box that contains all cells whose centres are in the box."""
    from h3 import average_hexagon_edge_length

    degrees = 3 * average_hexagon_edge_length(resolution, unit="km") / 111
    across = degrees / max(0.02, cos(radians(min(89.0, max(abs(box.south), abs(box.north)) + degrees))))
    return Box(
        max(-180.0, box.west - across),
        max(-90.0, box.south - degrees),
        min(180.0, box.east + across),
        min(90.0, box.north + degrees),
    )


def hexagons(counts: Mapping[str, int], box: Box | None) -> Sequence[Hexagon]:
    """The cells whose centres are in the box, the fullest first."""
    from h3 import cell_to_latlng

    found = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    if box is None:
        return [Hexagon(*each) for each in found]
    return [Hexagon(cell, count) for cell, count in found if box.contains(*reversed(cell_to_latlng(cell)))]
