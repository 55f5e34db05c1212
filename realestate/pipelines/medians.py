"""What a square metre usually costs in a place, so that a price in the wrong unit stands out."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from realestate.pipelines.worker_thread import WorkerThread
from realestate.storage import StoreError

logger = logging.getLogger(__name__)

#: A median over fewer adverts says more about them than about the place.
ENOUGH = 20

#: As the store tells them: country, city, district, operation, property_type, rent_period, currency; then the median
#: price of a square metre, and how many listings it is of.
Row = tuple[Any, ...]


class Medians:
    """The medians of districts and of cities, as they were when these were loaded."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._districts: dict[tuple[Any, ...], float] = {}
        cities: dict[tuple[Any, ...], list[tuple[float, int]]] = defaultdict(list)
        for country, city, district, *kind, median, count in rows:
            if not median > 0:
                continue
            if count >= ENOUGH:
                self._districts[country, city, district, *kind] = float(median)
            cities[country, city, *kind].append((float(median), count))
        self._cities = {city: _middle(told) for city, told in cities.items() if sum(n for _, n in told) >= ENOUGH}

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
        """The district's median, else the city's, else None."""
        kind = (operation, property_type, rent_period, currency)
        found = self._districts.get((country, city, district, *kind)) if district is not None else None
        return found if found is not None else self._cities.get((country, city, *kind))


def _middle(weighed: list[tuple[float, int]]) -> float:
    """The median of the districts' medians, each weighing as much as it has listings."""
    weighed = sorted(weighed)
    so_far = accumulate(count for _, count in weighed)
    half = sum(count for _, count in weighed) / 2
    return next(median for (median, _), reached in zip(weighed, so_far, strict=True) if reached >= half)


class LiveMedians:
    """The medians of now: loaded again and again, in a thread, for the event loop has other things to do."""

    def __init__(self, load: Callable[[], Iterable[Row]], seconds: float) -> None:
        self.current = Medians()
        self._load = load
        self._seconds = seconds

    def take(self, rows: Iterable[Row]) -> None:
        """For who has no event loop to keep up with."""
        self.current = Medians(rows)

    async def keep_up(self) -> None:
        """For ever. While the database is away, the last ones will do."""
        thread = WorkerThread("medians")
        try:
            while True:
                try:
                    self.current = await thread.run(self._loaded)
                except StoreError as error:
                    logger.warning("medians/away: %s", error)
                await asyncio.sleep(self._seconds)
        finally:
            thread.end()

    def _loaded(self) -> Medians:
        return Medians(self._load())
