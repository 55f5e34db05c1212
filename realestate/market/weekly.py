"""The figures of the market by week, place, type and operation. docs/market.md defines them."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from realestate.market.index import Sales, price_index
from realestate.market.loading import WORDS
from realestate.market.survival import median_days
from realestate.storage.homes import MarketWeek

if TYPE_CHECKING:
    import duckdb

#: A figure of fewer homes is not shown.
FEWEST = 5
#: A home that comes back within this many days was on the market all the time: it only changed its reference or portal.
GAP_DAYS = 30
WEEK = timedelta(days=7)
#: Homes that were on the market in this many weeks count for the time on the market.
SURVIVAL_WEEKS = 12
_DAYS_A_MONTH = 365.25 / 12
_GROUP = ("country", "city", "district", "property_type", "operation", "currency", "rent_period")


def monday(when: date) -> date:
    return when - timedelta(days=when.weekday())


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def weeks_between(first: date, last: date) -> list[date]:
    """The Mondays of the weeks from that of `first` to that of `last`."""
    start = monday(first)
    return [start + at * WEEK for at in range((monday(last) - start).days // 7 + 1)]


class Market:
    """The figures of the homes and periods in a DuckDB database: see `loading`."""

    def __init__(self, database: "duckdb.DuckDBPyConnection") -> None:
        self.database = database
        self.database.execute("SET TimeZone = 'UTC'")
        self.database.execute(_STAYS)

    def weeks(self, weeks: Sequence[date]) -> list[MarketWeek]:
        """Return all figures of these weeks, without the index."""
        rows: list[MarketWeek] = []
        for week in weeks:
            rows += _with_yields(list(self._week(week)))
        return rows

    def first_day(self) -> date | None:
        found = self.database.execute("SELECT min(begun_at) FROM stays").fetchone()
        return found[0].astimezone(UTC).date() if found and found[0] else None

    def indexed(self, rows: Sequence[MarketWeek], start: date) -> list[MarketWeek]:
        """Return the rows with the price index of each series, which begins in the week of `start`."""
        if not rows:
            return []
        count = (max(row.week for row in rows) - start).days // 7 + 1
        index = dict(self._indexes(midnight(start), count))
        found = []
        for row in rows:
            of_week = index.get(_key(row))
            at = (row.week - start).days // 7
            found.append(replace(row, price_index=of_week[at]) if of_week else row)
        return found

    def _indexes(self, start: datetime, weeks: int) -> Iterator[tuple[tuple[Any, ...], list[float | None]]]:
        """Yield the key of each series of a country and of a city, with its index."""
        import numpy as np

        values = {"start": start, "end": start + weeks * WEEK}
        found = self.database.sql(_FIRST_PRICES, params=values).to_arrow_table()
        sales = Sales(
            week=found["week"].to_numpy(),
            price=found["price"].to_numpy(),
            size=found["area_m2"].to_numpy(),
            words=tuple(_coded(found[name]) for name in WORDS),
        )
        for level in ("of_country", "of_city"):
            group = found[level].to_numpy()
            for number in np.unique(group[group > 0]).tolist():
                rows = np.flatnonzero(group == number)
                one = found.slice(int(rows[0]), 1).to_pylist()[0]
                city = one["home_city"] if level == "of_city" else ""
                currency, _, period = one["money"].partition("/")
                key = (one["country"], city, "", one["property_type"], one["operation"], currency, period)
                yield key, price_index(sales.of(rows), weeks)

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
        end = begin + WEEK
        values = {"begin": end - SURVIVAL_WEEKS * WEEK, "end": end}
        rows = self.database.sql(_DURATIONS, params=values).to_arrow_table()
        keys = zip(*(rows[name].to_pylist() for name in _GROUP), strict=True)
        lists = [rows[name] for name in ("days", "has_left", "entered")]
        return {
            key: median_days(*(each[at].values.to_numpy(zero_copy_only=False) for each in lists))
            for at, key in enumerate(keys)
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


def _coded(words: Any) -> Any:
    """Return a number for each word of a column of Arrow."""
    return words.combine_chunks().dictionary_encode().indices.to_numpy()


#: Added after the rows are made.
_LATER = {"median_days_on_market", "gross_yield", "price_index"}

#: Stays of homes: their adverts' periods joined where they overlap, or are at most GAP_DAYS apart. Its money is that of
#: the last advert; prices in another one do not count.
_STAYS = f"""
    CREATE TABLE stays AS
    WITH ordered AS (
        SELECT home, money, price, begun_at, coalesce(ended_at, 'infinity'::TIMESTAMPTZ) AS ended_at,
            max(coalesce(ended_at, 'infinity'::TIMESTAMPTZ)) OVER (
                PARTITION BY home ORDER BY begun_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM periods
    ), numbered AS (
        SELECT *, count(*) FILTER (before IS NULL OR begun_at > before + INTERVAL {GAP_DAYS} DAY)
            OVER (PARTITION BY home ORDER BY begun_at ROWS UNBOUNDED PRECEDING) AS stay
        FROM ordered
    )
    SELECT home, stay, first(money ORDER BY ended_at DESC, price IS NULL, money) AS money,
        min(begun_at) AS begun_at, max(ended_at) AS ended_at
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
        SELECT home, money,
            coalesce(
                min(price) FILTER (coalesce(ended_at, 'infinity') >= $end),
                arg_max(price, ended_at)
            ) AS price,
            min(price) FILTER (begun_at < $begin AND coalesce(ended_at, 'infinity') >= $begin) AS earlier
        FROM periods
        WHERE begun_at < $end AND coalesce(ended_at, 'infinity') >= $begin AND price IS NOT NULL
        GROUP BY home, money
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
        FROM seen JOIN homes USING (home) LEFT JOIN asked USING (home, money)
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
    SELECT {_PLACES}, list(days) AS days, list(has_left) AS has_left, list(entered) AS entered
    FROM seen JOIN homes USING (home)
    GROUP BY GROUPING SETS ({_LEVELS}) {_HAS_PLACE} AND count(*) >= {FEWEST}
"""
#: The first price of each home that came in a span of weeks, and the numbers of its series: that of the country, and
#: that of the city. A home without size or place cannot be compared.
_FIRST_PRICES = f"""
    WITH firsts AS (
        SELECT home, stays.begun_at, first({{'price': price, 'money': periods.money}}
            ORDER BY periods.begun_at, periods.money, price) AS asked
        FROM stays JOIN periods USING (home)
        WHERE stay = 1 AND stays.begun_at >= $start AND stays.begun_at < $end AND price > 0
            AND periods.begun_at >= stays.begun_at
        GROUP BY home, stays.begun_at
    )
    SELECT date_diff('day', $start::TIMESTAMPTZ, begun_at) // 7 AS week, asked.price AS price, area_m2,
        country, home_city, property_type, operation, asked.money AS money, {", ".join(WORDS)},
        dense_rank() OVER (ORDER BY country, property_type, operation, asked.money) AS of_country,
        CASE WHEN home_city = '' THEN 0
            ELSE dense_rank() OVER (ORDER BY country, home_city, property_type, operation, asked.money)
        END AS of_city
    FROM firsts JOIN homes USING (home) WHERE area_m2 > 0 AND has_place
    ORDER BY home
"""
