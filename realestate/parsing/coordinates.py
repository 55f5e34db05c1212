"""Coordinates: latitude first, in whatever order the portal has them."""

import re
from math import isfinite
from typing import NamedTuple

_DEGREES = r"[-+]?\d{1,3}(?:\.\d{1,20})?"
_PAIR = re.compile(rf"[(\[]?\s{{0,5}}({_DEGREES})\s{{0,5}}[,;\s]\s{{0,5}}({_DEGREES})\s{{0,5}}[)\]]?")


class Point(NamedTuple):
    """Both values, or neither."""

    latitude: float | None = None
    longitude: float | None = None


def of(latitude: object, longitude: object) -> Point:
    """Return the point of two numbers or texts. Empty if a value is missing or out of range, and for (0, 0)."""
    north = _degrees(latitude)
    east = _degrees(longitude)
    return Point() if north is None or east is None else _point(north, east)


def _point(north: float, east: float) -> Point:
    # (0, 0) is in the sea: portals write it for unknown.
    if abs(north) > 90 or abs(east) > 180 or (north == 0 and east == 0):
        return Point()
    return Point(north, east)


def parse(text: str | None) -> Point:
    """Return the point of a text with the latitude first: "(40.4093, 49.8671)"."""
    found = _PAIR.fullmatch((text or "").strip())
    return _point(float(found[1]), float(found[2])) if found else Point()


def geojson(coordinates: object) -> Point:
    """Return the point of a GeoJSON Point or its coordinates. They have the longitude first: [-6.47, 53.42]."""
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
