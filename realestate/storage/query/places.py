"""Where listings are, for a map: prices of a square metre by place, and the centres of districts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from realestate.storage.query import Box, Filter

#: A district with fewer listings is not named: its centre could be one home.
FEWEST_OF_DISTRICT = 5
#: The most districts that are named.
MOST_DISTRICTS = 3000


class PricedPlace(NamedTuple):
    """Where a listing is, and its price of a square metre."""

    longitude: float
    latitude: float
    price_per_m2: float
    currency: str


@dataclass(frozen=True, slots=True)
class PricedPlaces:
    """The places of listings with a price. A sample, if there are more than were wanted."""

    places: Sequence[PricedPlace]
    is_sample: bool


@dataclass(frozen=True, slots=True)
class District:
    """A district or a city, and the mean of the coordinates of its listings."""

    country: str
    city: str
    name: str
    longitude: float
    latitude: float
    listings: int


class PlaceStore(Protocol):
    """What a map needs of a store, beside `QueryStore`."""

    def priced_places(self, filter: Filter, box: Box, limit: int) -> PricedPlaces:
        """The matches within the box that have a price of a square metre; a sample if there are more than the limit."""

    def districts(self) -> Sequence[District]:
        """The districts of listings on the market, those with the most listings first. Reads all listings on the
        market: a server asks this seldom and keeps the answer."""
