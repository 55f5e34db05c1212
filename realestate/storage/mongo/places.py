"""Where listings are, for a map: computed here from the matching documents."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from realestate.storage.mongo.query import MongoQueries
from realestate.storage.places import FEWEST_OF_DISTRICT, MOST_DISTRICTS, District, PricedPlace, PricedPlaces
from realestate.storage.query import EVERYTHING, Box, Filter


class Places(MongoQueries):
    """See `PlaceStore`."""

    def priced_places(self, filter: Filter, box: Box, limit: int) -> PricedPlaces:
        places = (
            PricedPlace(each["longitude"], each["latitude"], float(each["price_per_m2"]), each["currency"])
            for each in self._matches(replace(filter, conditions=(*filter.conditions, box)))
            if each["price_per_m2"] is not None and each["currency"] is not None
        )
        found = list(islice(places, limit + 1))
        return PricedPlaces(found[:limit], len(found) > limit)

    def districts(self) -> Sequence[District]:
        sums: dict[tuple[str, str, str], list[float]] = {}
        for each in self._matches(EVERYTHING):
            name = each["district"] or each["city"]
            if name is None or each["latitude"] is None:
                continue
            total = sums.setdefault((each["country"], each["city"] or "", name), [0.0, 0.0, 0])
            for place, value in enumerate((each["longitude"], each["latitude"], 1)):
                total[place] += value
        found = [District(*key, x / n, y / n, int(n)) for key, (x, y, n) in sums.items() if n >= FEWEST_OF_DISTRICT]
        found.sort(key=lambda each: (-each.listings, each.country, each.city, each.name))
        return found[:MOST_DISTRICTS]
