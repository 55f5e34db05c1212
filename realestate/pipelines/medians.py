"""Median prices per square metre of places: a price in the wrong unit is far from them."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from realestate.pipelines.worker_thread import WorkerThread
from realestate.queue import outage
from realestate.storage import StoreError

#: A median of fewer listings says too little about a place.
ENOUGH = 20

#: A row of the store: country, city, district, operation, property_type, rent_period, currency; then the median price
#: per square metre, and the number of listings.
Row = tuple[Any, ...]


class Medians:
    """The medians of districts and cities at one time."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._districts: dict[tuple[Any, ...], float] = {}
        cities: dict[tuple[Any, ...], list[tuple[float, int]]] = defaultdict(list)
        for country, city, district, *kind, median, count in rows:
            if not median > 0:
                continue
            if count >= ENOUGH:
                self._districts[country, city, district, *kind] = float(median)
            cities[country, city, *kind].append((float(median), count))
        self._cities = {
            city: _weighted_median(districts)
            for city, districts in cities.items()
            if sum(count for _, count in districts) >= ENOUGH
        }

    def of(
        self,
        country: str,
        city: str | None,
        district: str | None,
        operation: str | None,
        property_type: str | None,
        rent_period: str | None,
        currency: str | None,
    ) -> float | None:
        """Return the median of the district; without one, that of the city; otherwise None."""
        kind = (operation, property_type, rent_period, currency)
        found = self._districts.get((country, city, district, *kind)) if district is not None else None
        return found if found is not None else self._cities.get((country, city, *kind))


def _weighted_median(medians: list[tuple[float, int]]) -> float:
    """Return the median of the districts' medians, weighted by their number of listings."""
    medians = sorted(medians)
    so_far = accumulate(count for _, count in medians)
    half = sum(count for _, count in medians) / 2
    return next(median for (median, _), reached in zip(medians, so_far, strict=True) if reached >= half)


class LiveMedians:
    """Loads the medians again every `seconds`, in a thread of its own."""

    def __init__(self, load: Callable[[], Iterable[Row]], seconds: float) -> None:
        self.current = Medians()
        self._load = load
        self._seconds = seconds

    def set_rows(self, rows: Iterable[Row]) -> None:
        """Use these rows, for callers without an event loop."""
        self.current = Medians(rows)

    async def refresh_forever(self) -> None:
        """Load the medians until cancelled. While the store is unavailable, the last ones stay in use."""
        thread = WorkerThread("medians")
        try:
            while True:
                try:
                    self.current = await thread.run(self._loaded)
                except StoreError as error:
                    outage.STORE.failed("reading the usual prices, of which the last stay in use", error)
                await asyncio.sleep(self._seconds)
        finally:
            thread.end()

    def _loaded(self) -> Medians:
        return Medians(self._load())
