"""The market: prices, stock, time on the market and yield of a place, by week."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from realestate.storage import FullStore
from realestate.storage.homes import MarketFilter, MarketWeek
from realestate.storage.query import Comparison, Filter
from realestate.storage.store import MarketRow
from realestate.web.pages.charts import Chart, Series
from realestate.web.pages.filters import address as listings_address
from realestate.web.pages.site import Ask

#: Weeks that are shown.
WEEKS = 104
#: Places of the table.
PLACES = 300
#: Places of each table of today's market.
PLACES_TODAY = 40
#: A median of fewer listings is not shown, as in the weekly figures.
FEWEST = 5
#: How the store calls a place that is not known.
UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A series of figures: a place, a type and an operation, in one currency."""

    country: str
    city: str
    district: str
    property_type: str
    operation: str
    currency: str
    rent_period: str

    @classmethod
    def of(cls, week: MarketWeek) -> "Chosen":
        return cls(**{each.name: getattr(week, each.name) for each in fields(cls)})

    @property
    def place(self) -> str:
        return ", ".join(filter(None, (self.district, self.city))) or self.country

    @property
    def what(self) -> str:
        period = f" a {self.rent_period}" if self.rent_period else ""
        return f"{self.property_type}, {self.operation}{period}, {self.currency}"

    @property
    def asked(self) -> dict[str, str]:
        """The fields of an address."""
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True, slots=True)
class Market:
    """What the page shows."""

    places: Sequence[MarketWeek]
    """The newest week of each series that matches, those with the most homes first."""
    chosen: Chosen | None
    weeks: Sequence[MarketWeek]
    """The weeks of the chosen series, the oldest first."""

    @property
    def newest(self) -> MarketWeek:
        return self.weeks[-1]

    def charts(self) -> list[Chart]:
        """The figures as charts. A chart without any value is left out."""
        if self.chosen is None:
            return []
        currency = self.chosen.currency
        prices = ("median_price_per_m2", "price_per_m2_low", "price_per_m2_high")
        totals = ("median_price", "price_low", "price_high")
        names = ("median", "first quartile", "third quartile")
        made = [
            self._banded("price-per-m2", "Price per m²", prices, names, currency),
            self._banded("price", "Price", totals, names, currency),
            self._lines("stock", "Homes on the market", {"stock": "homes"}, ""),
            self._lines("flow", "New and gone in a week", {"new": "new", "gone": "gone"}, ""),
            self._lines("days", "Time on the market", {"median_days_on_market": "median"}, "days"),
            self._shares("cuts", "Price cuts", {"cut_share": "homes with a cut", "median_cut": "median cut"}),
            self._shares("yield", "Gross rent yield", {"gross_yield": "a year's rent of the price"}),
            self._lines("index", "Price index, first week = 100", {"price_index": "index"}, ""),
        ]
        return [each for each in made if any(value is not None for line in each.series for value in line.values)]

    def _banded(self, name: str, title: str, values: Sequence[str], labels: Sequence[str], unit: str) -> Chart:
        series = [
            Series(label, self._values(value), "line" if place == 0 else "edge", unit)
            for place, (value, label) in enumerate(zip(values, labels, strict=True))
        ]
        return Chart(name, title, self._times(), series, band=(1, 2))

    def _lines(self, name: str, title: str, values: dict[str, str], unit: str) -> Chart:
        digits = 1 if name == "index" else 0
        series = [Series(label, self._values(value), "line", unit, digits) for value, label in values.items()]
        return Chart(name, title, self._times(), series)

    def _shares(self, name: str, title: str, values: dict[str, str]) -> Chart:
        series = [
            Series(label, self._values(value, lambda share: share * 100), "line", "%", 1)
            for value, label in values.items()
        ]
        return Chart(name, title, self._times(), series)

    def _times(self) -> list[float]:
        return [datetime.combine(each.week, time(), UTC).timestamp() for each in self.weeks]

    def _values(self, name: str, change: Callable[[float], float] = lambda value: value) -> list[float | None]:
        found = (getattr(each, name) for each in self.weeks)
        return [None if value is None else change(float(value)) for value in found]


def read_market(
    ask: Ask, newest: Sequence[MarketWeek], wanted: MarketFilter, series: dict[str, str], today: date
) -> Market:
    """The places that match, and the series that is asked for; by default that with the most homes. `newest` is the
    newest week of each series."""
    places = {Chosen.of(each): each for each in sorted(newest, key=_by_size) if _matches(each, wanted)}
    chosen = _chosen(places, series)
    weeks = ask(lambda store: _weeks(store, chosen, today)) if chosen else []
    shown = [each for each in places.values() if each.stock or each.median_price is not None]
    return Market(shown[:PLACES], chosen if weeks else None, weeks)


def _matches(week: MarketWeek, wanted: MarketFilter) -> bool:
    names = ("country", "operation", "property_type")
    return all(getattr(wanted, name) in (None, getattr(week, name)) for name in names)


def _weeks(store: FullStore, chosen: Chosen, today: date) -> list[MarketWeek]:
    """The weeks of one series, the oldest first."""
    wanted = MarketFilter(
        country=chosen.country,
        city=chosen.city,
        district=chosen.district,
        operation=chosen.operation,
        property_type=chosen.property_type,
        since=today - timedelta(weeks=WEEKS),
    )
    return [each for each in store.market_weeks(wanted) if Chosen.of(each) == chosen]


@dataclass(frozen=True, slots=True)
class Today:
    """Today's medians of sales or of rents, by place."""

    operation: str
    rows: Sequence[tuple[MarketRow, float | None]]
    """Each with its price per m² as a share of the highest one in its currency."""


def today_of(rows: Iterable[MarketRow], country: str, operation: str) -> Sequence[MarketRow]:
    """Today's medians of the places that match, those with the most listings first. Of few listings none is shown."""
    return [
        each
        for each in rows
        if each.listings >= FEWEST and country in ("", each.country) and operation in ("", each.operation)
    ]


def tables_of(rows: Sequence[MarketRow]) -> Sequence[Today]:
    """Sales and rents are never compared with each other: each has its table."""
    found = []
    for operation in dict.fromkeys(each.operation for each in sorted(rows, key=lambda each: each.operation != "sale")):
        own = [each for each in rows if each.operation == operation][:PLACES_TODAY]
        highest: dict[str, float] = {}
        for each in own:
            highest[each.currency] = max(highest.get(each.currency, 0.0), float(each.median_price_per_m2 or 0))
        shares = [float(each.median_price_per_m2 or 0) / (highest[each.currency] or 1) or None for each in own]
        found.append(Today(operation, list(zip(own, shares, strict=True))))
    return found


def today_as_csv(rows: Iterable[MarketRow]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    names = [each.name for each in fields(MarketRow)]
    writer.writerow(names)
    writer.writerows([getattr(row, name) for name in names] for row in rows)
    return text.getvalue()


def place_of(row: MarketRow) -> str:
    """The place in words, and what is not known of it."""
    city = "city unknown" if row.city == UNKNOWN else row.city
    if row.district == UNKNOWN:
        return city if row.city == UNKNOWN else f"{city}, district unknown"
    return city if row.district == row.city else f"{row.district}, {city}"


def listings_of(row: MarketRow) -> str:
    """The address of the listings of a place."""
    wanted = {"country": row.country, "city": row.city, "district": row.district}
    known = [Comparison(name, "=", (value,)) for name, value in wanted.items() if value != UNKNOWN]
    return listings_address(Filter((*known, Comparison("operation", "=", (row.operation,)))))


def _by_size(week: MarketWeek) -> tuple[Any, ...]:
    return (-week.stock, week.country, week.city, week.district, week.property_type, week.operation)


def _chosen(places: Mapping[Chosen, MarketWeek], series: dict[str, str]) -> Chosen | None:
    """The series that is asked for: where an address names only some of its fields, the largest that has them."""
    for each in places:
        if all(getattr(each, name) == value for name, value in series.items()):
            return each
    return next(iter(places), None)


def as_csv(weeks: Iterable[MarketWeek]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    names = [each.name for each in fields(MarketWeek)]
    writer.writerow(names)
    writer.writerows([getattr(week, name) for name in names] for week in weeks)
    return text.getvalue()
