"""The cells of H3 in which listings are counted. The library is loaded at the first use."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, cos, radians

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


#: A box of at most this many hexagon edges is divided into cells to find what is counted in it. With fewer, more
#: is read around the box; with more, there are more parts.
_EDGES = 12
#: The bits of a cell: three for each of fifteen digits, from the coarsest to the finest; four for its resolution.
_DIGITS = 15
_RESOLUTION_BITS = 52
_KM_A_DEGREE = 111.2


def parts(box: Box, resolution: int) -> list[tuple[int, int]] | None:
    """The lowest and the highest number of cells of this resolution, in as many parts as are needed for all cells whose
    centres are in the box. None if the box is so large that nearly everything is in it."""
    from h3 import average_hexagon_edge_length
    from h3.api.basic_int import grid_disk, latlng_to_cell

    flattest = cos(radians(min(89.0, max(abs(box.south), abs(box.north)))))
    steepest = 1.0 if box.south <= 0 <= box.north else cos(radians(min(abs(box.south), abs(box.north))))
    km = max((box.east - box.west) * steepest, box.north - box.south) * _KM_A_DEGREE
    for coarse in range(resolution - 1, 0, -1):
        edge = average_hexagon_edge_length(coarse, unit="km")
        if km <= _EDGES * edge:
            break
    else:
        return None
    if edge / (_KM_A_DEGREE * flattest) > 90:
        return None
    # Each place of the box is nearer than an edge to one of these. The neighbours of its cell have it, and the
    # neighbours of those the cells that belong to another one at their edge.
    count = max(1, ceil(km / edge)) + 1
    near = {
        cell
        for x in range(count + 1)
        for y in range(count + 1)
        for cell in grid_disk(
            latlng_to_cell(
                box.south + (box.north - box.south) * y / count, box.west + (box.east - box.west) * x / count, coarse
            ),
            2,
        )
    }
    found: list[tuple[int, int]] = []
    for low, high in sorted(_finest(cell, coarse, resolution) for cell in near):
        if found and low == found[-1][1] + 1:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found


def _finest(cell: int, coarse: int, resolution: int) -> tuple[int, int]:
    """The lowest and the highest number of a cell of this resolution within the coarse cell."""
    kept = cell & ~(15 << _RESOLUTION_BITS) & ~((1 << (3 * (_DIGITS - coarse))) - 1)
    unused = (1 << (3 * (_DIGITS - resolution))) - 1
    digits = sum(6 << (3 * (_DIGITS - each)) for each in range(coarse + 1, resolution + 1))
    low = kept | resolution << _RESOLUTION_BITS | unused
    return low, low + digits


def hexagons(counts: Mapping[str, int], box: Box | None) -> Sequence[Hexagon]:
    """The cells whose centres are in the box, the fullest first."""
    from h3 import cell_to_latlng

    found = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    if box is None:
        return [Hexagon(*each) for each in found]
    return [Hexagon(cell, count) for cell, count in found if box.contains(*reversed(cell_to_latlng(cell)))]
