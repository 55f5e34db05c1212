"""Where a home is on the map: latitude first, whatever the portal's order."""

import re
from math import isfinite
from typing import NamedTuple

_DEGREES = r"[-+]?\d{1,3}(?:\.\d{1,20})?"
_PAIR = re.compile(rf"[(\[]?\s{{0,5}}({_DEGREES})\s{{0,5}}[,;\s]\s{{0,5}}({_DEGREES})\s{{0,5}}[)\]]?")


class Point(NamedTuple):
    latitude: float | None = None
    longitude: float | None = None


def of(latitude: object, longitude: object) -> Point:
    """From numbers or their texts; empty unless both are on earth. (0, 0) lies in the sea: nobody set the pin."""
    north, east = _degrees(latitude), _degrees(longitude)
    return Point() if north is None or east is None else _on_earth(north, east)


def _on_earth(north: float, east: float) -> Point:
    if abs(north) > 90 or abs(east) > 180 or (north == 0 and east == 0):
        return Point()
    return Point(north, east)


def parse(text: str | None) -> Point:
    """ "(40.4093, 49.8671)", the latitude first."""
    found = _PAIR.fullmatch((text or "").strip())
    return _on_earth(float(found[1]), float(found[2])) if found else Point()


def geojson(coordinates: object) -> Point:
    """GeoJSON has the longitude first: [-6.47, 53.42]; a Point object is taken too."""
    if isinstance(coordinates, dict):
        coordinates = coordinates.get("coordinates")
    if not isinstance(coordinates, list) or len(coordinates) not in (2, 3):
        return Point()
    return of(coordinates[1], coordinates[0])


def _degrees(value: object) -> float | None:
    if isinstance(value, str):
        return float(value) if re.fullmatch(_DEGREES, value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1000 < value < 1000:
        return None
    return float(value) if isfinite(value) else None
