"""The figures of the market by week, place, type and operation. docs/market.md defines them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from realestate.market.index import Sold, price_index
from realestate.market.periods import GAP_DAYS, Period
from realestate.market.survival import median_days
from realestate.storage.homes import MarketWeek

#: A figure of fewer homes is not shown.
FEWEST = 5
WEEK = timedelta(days=7)
#: Homes that were on the market in this many weeks count for the time on the market.
SURVIVAL_WEEKS = 12
_DAYS_A_MONTH = 365.25 / 12
_GROUP = ("country", "city", "district", "property_type", "operation", "currency", "rent_period")


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFacts:
    """What the market needs to know of a home."""

    home: str
    country: str
    city: str
    district: str
    property_type: str
    operation: str
    area_m2: float | None
    words: tuple[str, ...]
    """What the hedonic index compares, beside the size."""
    has_place: bool = True
    """Whether its district or metro station is known."""


def monday(when: date) -> date:
    return when - timedelta(days=when.weekday())


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def weeks_between(first: date, last: date) -> list[date]:
    """The Mondays of the weeks from that of `first` to that of `last`."""
    start = monday(first)
    return [start + at * WEEK for at in range((monday(last) - start).days // 7 + 1)]


class Market:
    """The homes and their time on the market, in a private database in memory. Close it."""

    def __init__(self, homes: Iterable[HomeFacts], periods: Iterable[tuple[str, Period]]) -> None:
        """`periods` come with the id of the home."""
        import duckdb

        self.database = duckdb.connect()
        self._facts = {each.home: each for each in homes}
        self._load(periods)

    def close(self) -> None:
        self.database.close()

    def weeks(self, weeks: Sequence[date]) -> list[MarketWeek]:
        """Return all figures of these weeks, without the index."""
        rows: list[MarketWeek] = []
        for week in weeks:
            rows += _with_yields(list(self._week(week)))
        return rows

    def first_day(self) -> date | None:
        found = self.database.execute("SELECT min(begun_at) FROM stays").fetchone()
        return found[0].astimezone(UTC).date() if found and found[0] else None

    def indexed(self, rows: Sequence[MarketWeek]) -> list[MarketWeek]:
        """Return the rows with the price index of each series. Its first week is the first of the rows."""
        if not rows:
            return []
        start = min(row.week for row in rows)
        count = (max(row.week for row in rows) - start).days // 7 + 1
        series: dict[tuple[Any, ...], list[Sold]] = {}
        for home, money, begun_at, price in self.database.execute(_FIRST_PRICES, [midnight(start)]).fetchall():
            facts = self._facts[home]
            week = (monday(begun_at.astimezone(UTC).date()) - start).days // 7
            if facts.area_m2 and facts.has_place and 0 <= week < count:
                sold = Sold(week, price, facts.area_m2, facts.words)
                currency, _, period = money.partition("/")
                for city in {"", facts.city}:
                    key = (facts.country, city, "", facts.property_type, facts.operation, currency, period)
                    series.setdefault(key, []).append(sold)
        index = {key: price_index(homes, count) for key, homes in series.items()}
        found = []
        for row in rows:
            of_week = index.get(_key(row))
            at = (row.week - start).days // 7
            found.append(replace(row, price_index=of_week[at]) if of_week else row)
        return found

    def _load(self, periods: Iterable[tuple[str, Period]]) -> None:
        import pyarrow as pa

        homes = list(self._facts.values())
        table = {name: [getattr(each, name) for each in homes] for name in _HOME_COLUMNS}
        self.database.register("given", pa.table(table, schema=pa.schema([(n, _TYPES[n]()) for n in table])))
        self.database.execute(
            "CREATE TABLE homes AS SELECT * RENAME (city AS home_city, district AS home_district) FROM given"
        )
        known = [(home, period) for home, period in periods if home in self._facts]
        columns = {
            "home": pa.array([home for home, _ in known], pa.string()),
            "money": pa.array([period.money for _, period in known], pa.string()),
            "price": pa.array([period.price for _, period in known], pa.float64()),
            "begun_at": pa.array([period.begun_at for _, period in known], pa.timestamp("us", "UTC")),
            "ended_at": pa.array([period.ended_at for _, period in known], pa.timestamp("us", "UTC")),
        }
        self.database.register("given", pa.table(columns))
        self.database.execute("SET TimeZone = 'UTC'")
        self.database.execute("CREATE TABLE periods AS FROM given")
        self.database.execute(_STAYS)

    def _week(self, week: date) -> Iterator[MarketWeek]:
        begin = midnight(week)
        values = {
            "begin": begin,
            "end": begin + WEEK,
            "supply": begin - 3 * WEEK,
            "cohort_begin": begin - 2 * WEEK,
            "cohort_end": begin - WEEK,
        }
        names = [each.name for each in fields(MarketWeek) if each.name not in _LATER]
        found = self.database.execute(_FIGURES, values)
        columns = [column[0] for column in found.description or ()]
        figures_of_groups = found.fetchall()
        days = self._days(begin)
        for row in figures_of_groups:
            figures = dict(zip(columns, row, strict=True))
            made = MarketWeek(week=week, **{name: figures[name] for name in names if name != "week"})
            yield replace(made, median_days_on_market=days.get(_key(made)))

    def _days(self, begin: datetime) -> dict[tuple[Any, ...], float | None]:
        """The median time on the market of each group."""
        import numpy as np

        end = begin + WEEK
        values = {"begin": end - SURVIVAL_WEEKS * WEEK, "end": end}
        rows = self.database.execute(_DURATIONS, values).fetchall()
        return {
            tuple(key): median_days(np.array(days), np.array(has_left), np.array(entered))
            for *key, days, has_left, entered in rows
            if len(days) >= FEWEST
        }


def _key(row: MarketWeek) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _GROUP)


def _with_yields(rows: list[MarketWeek]) -> list[MarketWeek]:
    """Add the gross rent yield to rows of sales whose place and type have monthly rents in the same currency."""
    rents = {
        (row.country, row.city, row.district, row.property_type, row.currency): row.median_price_per_m2
        for row in rows
        if row.operation == "rent" and row.rent_period == "month"
    }
    found = []
    for row in rows:
        rent = rents.get((row.country, row.city, row.district, row.property_type, row.currency))
        if row.operation == "sale" and rent and row.median_price_per_m2:
            row = replace(row, gross_yield=12 * rent / row.median_price_per_m2)
        found.append(row)
    return found


def _string() -> Any:
    import pyarrow as pa

    return pa.string()


def _double() -> Any:
    import pyarrow as pa

    return pa.float64()


_HOME_COLUMNS = ("home", "country", "city", "district", "property_type", "operation", "area_m2")
_TYPES = {name: _double if name == "area_m2" else _string for name in _HOME_COLUMNS}
#: Added after the rows are made.
_LATER = {"median_days_on_market", "gross_yield", "price_index"}

#: Stays of homes: their adverts' periods joined where they overlap, or are at most GAP_DAYS apart.
_STAYS = f"""
    CREATE TABLE stays AS
    WITH ordered AS (
        SELECT home, money, begun_at, coalesce(ended_at, 'infinity'::TIMESTAMPTZ) AS ended_at,
            max(coalesce(ended_at, 'infinity'::TIMESTAMPTZ)) OVER (
                PARTITION BY home ORDER BY begun_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM periods
    ), numbered AS (
        SELECT *, count(*) FILTER (before IS NULL OR begun_at > before + INTERVAL {GAP_DAYS} DAY)
            OVER (PARTITION BY home ORDER BY begun_at ROWS UNBOUNDED PRECEDING) AS stay
        FROM ordered
    )
    SELECT home, stay, arg_max(money, ended_at) AS money, min(begun_at) AS begun_at, max(ended_at) AS ended_at
    FROM numbered GROUP BY home, stay
"""
_LEVELS = ", ".join(
    f"({', '.join((*place, 'property_type', 'operation', 'money'))})"
    for place in (("country",), ("country", "home_city"), ("country", "home_city", "home_district"))
)
_PLACES = """
    country, coalesce(home_city, '') AS city, coalesce(home_district, '') AS district, property_type, operation,
    split_part(money, '/', 1) AS currency, split_part(money, '/', 2) AS rent_period
"""
#: A home without a city or district is only in the rows of the places that are known.
_HAS_PLACE = (
    "HAVING (GROUPING(home_city) = 1 OR home_city <> '') AND (GROUPING(home_district) = 1 OR home_district <> '')"
)
_FIGURES = f"""
    WITH seen AS (
        SELECT * FROM stays WHERE begun_at < $end AND ended_at >= $cohort_begin - INTERVAL 7 DAY
    ), asked AS (
        SELECT home,
            coalesce(
                min(price) FILTER (coalesce(ended_at, 'infinity') >= $end),
                arg_max(price, ended_at)
            ) AS price,
            min(price) FILTER (begun_at < $begin AND coalesce(ended_at, 'infinity') >= $begin) AS earlier
        FROM periods
        WHERE begun_at < $end AND coalesce(ended_at, 'infinity') >= $begin AND price IS NOT NULL
        GROUP BY home
    ), each_home AS (
        SELECT country, home_city, home_district, property_type, operation, money,
            seen.ended_at >= $begin AS is_on,
            seen.ended_at >= $end AS is_stock,
            seen.begun_at >= $begin AS is_new,
            seen.ended_at >= $begin AND seen.ended_at < $end AS is_gone,
            seen.ended_at >= $supply AND seen.ended_at < $end AS is_gone_lately,
            seen.begun_at >= $cohort_begin AND seen.begun_at < $cohort_end AS is_cohort,
            seen.ended_at <= seen.begun_at + INTERVAL 14 DAY AS is_off,
            CASE WHEN is_on THEN asked.price END AS price,
            CASE WHEN is_on AND area_m2 > 0 THEN asked.price / area_m2 END AS price_per_m2,
            CASE WHEN is_on AND asked.price < asked.earlier THEN 1 - asked.price / asked.earlier END AS cut
        FROM seen JOIN homes USING (home) LEFT JOIN asked USING (home)
    )
    SELECT {_PLACES},
        count(*) FILTER (is_stock) AS stock,
        count(*) FILTER (is_new) AS new,
        count(*) FILTER (is_gone) AS gone,
        CASE WHEN count(price) >= {FEWEST} THEN median(price) END AS median_price,
        CASE WHEN count(price) >= {FEWEST} THEN quantile_cont(price, 0.25) END AS price_low,
        CASE WHEN count(price) >= {FEWEST} THEN quantile_cont(price, 0.75) END AS price_high,
        CASE WHEN count(price_per_m2) >= {FEWEST} THEN median(price_per_m2) END AS median_price_per_m2,
        CASE WHEN count(price_per_m2) >= {FEWEST} THEN quantile_cont(price_per_m2, 0.25) END AS price_per_m2_low,
        CASE WHEN count(price_per_m2) >= {FEWEST} THEN quantile_cont(price_per_m2, 0.75) END AS price_per_m2_high,
        CASE WHEN count(*) FILTER (is_gone_lately) >= {FEWEST}
            THEN count(*) FILTER (is_stock) / (count(*) FILTER (is_gone_lately) * {_DAYS_A_MONTH} / 28) END
            AS months_of_supply,
        CASE WHEN count(*) FILTER (is_on) >= {FEWEST}
            THEN count(cut) / count(*) FILTER (is_on) END AS cut_share,
        CASE WHEN count(cut) >= {FEWEST} THEN median(cut) END AS median_cut,
        CASE WHEN count(*) FILTER (is_cohort) >= {FEWEST}
            THEN count(*) FILTER (is_cohort AND is_off) / count(*) FILTER (is_cohort) END AS off_in_two_weeks
    FROM each_home GROUP BY GROUPING SETS ({_LEVELS}) {_HAS_PLACE} AND count(*) FILTER (is_on) > 0
"""
_DURATIONS = f"""
    WITH seen AS (
        SELECT home, money, ended_at < $end AS has_left,
            date_diff('second', begun_at, least(ended_at, $end)) / 86400 AS days,
            greatest(0, date_diff('second', begun_at, $begin) / 86400) AS entered
        FROM stays WHERE begun_at < $end AND ended_at >= $begin
    )
    SELECT {_PLACES}, list(days), list(has_left), list(entered) FROM seen JOIN homes USING (home)
    GROUP BY GROUPING SETS ({_LEVELS}) {_HAS_PLACE}
"""
#: The first price of each home that came since a time.
_FIRST_PRICES = """
    SELECT home, arg_min(periods.money, periods.begun_at), stays.begun_at, min_by(price, periods.begun_at)
    FROM stays JOIN periods USING (home)
    WHERE stay = 1 AND stays.begun_at >= $1 AND price > 0 AND periods.begun_at >= stays.begun_at
    GROUP BY home, stays.begun_at
"""
