"""Countries as boxes of latitude and longitude, a little wider than the land."""

from typing import NamedTuple


class Box(NamedTuple):
    south: float
    north: float
    west: float
    east: float

    def contains(self, latitude: float, longitude: float) -> bool:
        return self.south <= latitude <= self.north and self.west <= longitude <= self.east


#: By ISO 3166-1 country code.
MAINLAND = {
    "AT": Box(46.3, 49.1, 9.4, 17.3),
    "AZ": Box(38.3, 42.0, 44.6, 51.0),  # with Nakhchivan
    "BE": Box(49.4, 51.6, 2.4, 6.5),
    "CH": Box(45.7, 47.9, 5.8, 10.6),
    "CZ": Box(48.4, 51.2, 12.0, 19.0),
    "DE": Box(47.2, 55.2, 5.7, 15.2),
    "ES": Box(35.1, 43.9, -9.5, 4.5),  # with Melilla and the Balearics
    "FR": Box(41.2, 51.2, -5.3, 9.7),
    "GB": Box(49.8, 61.0, -8.8, 1.9),
    "GE": Box(40.9, 43.7, 39.9, 46.9),
    "GR": Box(34.7, 41.9, 19.2, 29.8),
    "IE": Box(51.3, 55.5, -10.8, -5.9),
    "IT": Box(35.4, 47.2, 6.5, 18.7),
    "KG": Box(39.1, 43.4, 69.1, 80.4),
    "LU": Box(49.4, 50.3, 5.6, 6.6),
    "NL": Box(50.7, 53.7, 3.2, 7.3),
    "PL": Box(48.9, 55.0, 14.0, 24.3),
    "PT": Box(36.8, 42.3, -9.7, -6.1),
    "RS": Box(41.8, 46.3, 18.7, 23.1),
    "TR": Box(35.7, 42.3, 25.5, 45.0),
    "ZA": Box(-35.0, -22.0, 16.3, 33.1),
}
#: Parts of a country that are far from its mainland.
ISLANDS = {
    "ES": (Box(27.5, 29.6, -18.4, -13.2),),  # the Canaries
    "FR": (
        Box(14.2, 18.2, -63.3, -60.7),  # the Antilles
        Box(2.0, 6.0, -54.8, -51.4),  # Guiana
        Box(-21.5, -20.7, 55.1, 56.0),  # Réunion
        Box(-13.2, -12.5, 44.9, 45.4),  # Mayotte
    ),
    "PT": (
        Box(32.3, 33.2, -17.4, -16.2),  # Madeira
        Box(36.8, 39.9, -31.4, -24.9),  # the Azores
    ),
}


def may_contain(country: str, latitude: float, longitude: float) -> bool:
    """Return whether the point can be in the country. Always True for a country without a box."""
    mainland = MAINLAND.get(country)
    if mainland is None or mainland.contains(latitude, longitude):
        return True
    return any(box.contains(latitude, longitude) for box in ISLANDS.get(country, ()))
