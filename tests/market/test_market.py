"""Market figures: against a recount by hand, against lifelines and statsmodels, and against a known price drift."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from realestate.cli.market import sparkline
from realestate.exports.csv import as_json
from realestate.market import loading
from realestate.market.index import Sales, design, price_index, week_effects
from realestate.market.survival import median_days
from realestate.market.weekly import FEWEST, GAP_DAYS, Market, midnight, monday, weeks_between
from realestate.simulator import PORTALS, Traps, World
from realestate.simulator.sites import SITES
from realestate.storage.history import Event
from realestate.storage.homes import MarketWeek
from tests.market.reference import Period, periods, usual

MONDAY = date(2026, 9, 7)
START = midnight(MONDAY)
DAY = timedelta(days=1)


# ----- periods


def event(type: Any, day: float, data: dict[str, Any] | None = None) -> Event:
    return Event("bina", "1", 1, type, START + day * DAY, "", data or {})


LISTED = {"price": 100, "currency": "AZN", "price_basis": "total", "rent_period": None, "status": "active"}


Span = tuple[str, float, float | None, float | None, str]
"""An advert, when it began and ended in days, its price and its money."""


def spans_of(events: Sequence[Event]) -> list[Span]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        adverts = sorted({(each.portal, each.ref) for each in events})
        filled(database, "adverts", [{"portal": p, "ref": r, "home": f"{p}/{r}"} for p, r in adverts])
        rows = [{**asdict(each), "seq": at, "data": as_json(each.data)} for at, each in enumerate(events)]
        filled(database, "events", rows)
        database.execute(loading.PERIODS)
        found = database.execute("SELECT home, begun_at, ended_at, price, money FROM periods").fetchall()
    return sorted(
        (home, in_days(begun), in_days(ended) if ended else None, price, money)
        for home, begun, ended, price, money in found
    )


def in_days(when: datetime) -> float:
    return (when - START) / DAY


def filled(database: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]]) -> None:
    database.register("given", pa.Table.from_pylist(rows))
    database.execute(f"CREATE TABLE {table} AS FROM given")


def spans(*events: Event) -> list[tuple[float, float | None, float | None]]:
    return [(begun, ended, price) for _, begun, ended, price, _ in spans_of(events)]


def test_a_price_change_begins_a_new_period() -> None:
    changed = event("price_changed", 3, {"old": 100, "new": 90, "percent": -10})
    assert spans(event("listed", 0, LISTED), changed) == [(0, 3, 100), (3, None, 90)]


def test_a_delisted_advert_is_off_the_market_until_it_returns() -> None:
    gone = event("delisted", 5, {"before": START + 4 * DAY})
    assert spans(event("listed", 0, LISTED), gone, event("relisted", 9)) == [(0, 4, 100), (9, None, 100)]


def test_a_price_on_request_is_no_price() -> None:
    hidden = event(
        "price_meaning_changed", 2, {"old": LISTED, "new": {**LISTED, "price": None, "price_basis": "on_request"}}
    )
    assert spans(event("listed", 0, LISTED), hidden) == [(0, 2, 100), (2, None, None)]


def test_an_advert_that_was_sold_when_first_seen_was_never_on_the_market() -> None:
    assert spans(event("listed", 0, {**LISTED, "status": "sold"})) == []


def some_events(rng: Random, ref: str) -> Iterator[Event]:
    """What may happen to one advert."""
    status = rng.choice(["active", "active", "reserved", "sold"])
    money = {"currency": rng.choice(["AZN", "USD", None]), "price_basis": rng.choice(["total", "per_m2", None])}
    yield Event("bina", ref, 1, "listed", START, "", {**LISTED, **money, "status": status})
    is_on = status != "sold"
    day = 0.0
    for number in range(rng.randint(0, 8)):
        day += rng.choice([0.0, 0.5, 3.0])
        at = START + day * DAY
        if not is_on and rng.random() < 0.5:
            is_on = True
            yield Event("bina", ref, number, "relisted", at, "", {"was": "sold"})
            continue
        price = rng.choice([None, 90, 80.5])
        kind: Any = rng.choice(["updated", "reserved", "price_changed", "price_meaning_changed", "delisted", "sold"])
        changes: dict[str, dict[str, Any]] = {
            "price_changed": {"old": 100, "new": price or 70, "percent": -10},
            "price_meaning_changed": {"old": LISTED, "new": {**LISTED, **money, "price": price}},
            "delisted": {"before": (at - rng.choice([0, 1]) * DAY).isoformat()},
        }
        data = changes.get(kind, {})
        is_on = is_on and kind not in ("delisted", "sold")
        yield Event("bina", ref, number, kind, at, "", data)


def test_the_periods_are_those_that_a_walk_over_the_events_finds() -> None:
    rng = Random(8)
    of_adverts = [list(some_events(rng, str(ref))) for ref in range(300)]
    events = [event for at in range(9) for own in of_adverts for event in own[at : at + 1]]
    expected = sorted(
        (
            f"{each.portal}/{each.ref}",
            in_days(each.begun_at),
            in_days(each.ended_at) if each.ended_at else None,
            each.price,
            each.money,
        )
        for each in periods(events)
    )
    assert spans_of(events) == expected
    assert len(expected) > 300


# ----- homes


def homes_of(adverts: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    with duckdb.connect() as database:
        filled(database, "adverts", adverts)
        database.execute(loading.HOMES)
        rows = database.sql("FROM homes").to_arrow_table().to_pylist()
    return {row["home"]: row for row in rows}


def test_a_home_has_the_values_that_most_of_its_adverts_have() -> None:
    rng = Random(9)
    adverts: list[dict[str, Any]] = []
    for at in range(400):
        adverts.append(
            {
                **dict.fromkeys(loading.ADVERT),
                "portal": rng.choice(["bina", "tap"]),
                "ref": f"{at:03}",
                "home": str(rng.randint(0, 150)),
                "country": "AZ",
                "operation": rng.choice(["sale", "rent", None]),
                "property_type": rng.choice(["apartment", "house", None]),
                "city": rng.choice(["Bakı", "Gəncə", None]),
                "district": rng.choice(["Nəsimi", "Xətai", None]),
                "metro_station": rng.choice(["Elmlər", "Nizami", None]),
                "area_m2": rng.choice([40.0, 41.0, 60.0, 0.0, None]),
                "rooms": rng.choice([2, 3, None]),
                "is_new_building": rng.choice([True, False, None]),
            }
        )
    found = homes_of(adverts)
    adverts.sort(key=lambda each: (each["portal"], each["ref"]))
    known = 0
    for name in {each["home"] for each in adverts}:
        own = [each for each in adverts if each["home"] == name]
        if usual(own, "property_type") is None or usual(own, "operation") is None:
            assert name not in found
            continue
        row = found[name]
        known += 1
        sizes = sorted(each["area_m2"] for each in own if each["area_m2"])
        assert row["area_m2"] == (sizes[len(sizes) // 2] if sizes else None)
        assert row["home_city"] == (usual(own, "city") or "")
        assert row["home_district"] == (usual(own, "district") or "")
        assert (row["property_type"], row["operation"]) == (usual(own, "property_type"), usual(own, "operation"))
        assert row["has_place"] == (bool(usual(own, "district")) or bool(usual(own, "metro_station")))
        assert row["rooms"] == str(usual(own, "rooms") or "")
    assert known > 50


# ----- figures


def home(name: str, **changed: Any) -> dict[str, Any]:
    return {
        "home": name,
        "country": "AZ",
        "home_city": "Bakı",
        "home_district": "Nəsimi",
        "property_type": "apartment",
        "operation": "sale",
        "area_m2": 50.0,
        **dict.fromkeys(loading.WORDS, ""),
        "has_place": True,
        **changed,
    }


def period(begun: float, ended: float | None, price: float | None, money: str = "AZN/") -> Period:
    ended_at = None if ended is None else START + ended * DAY
    return Period("bina", "1", START + begun * DAY, ended_at, price, money)


@contextmanager
def market_of(homes: list[dict[str, Any]], of: list[tuple[str, Period]]) -> Iterator[Market]:
    with duckdb.connect() as database:
        filled(database, "homes", homes)
        periods = [{**asdict(each), "home": name} for name, each in of]
        types = {"price": pa.float64(), "begun_at": pa.timestamp("us", "UTC"), "ended_at": pa.timestamp("us", "UTC")}
        names = ("home", "money", *types)
        schema = pa.schema([(name, types.get(name, pa.string())) for name in names])
        database.register("given", pa.Table.from_pylist([{n: row[n] for n in names} for row in periods], schema))
        database.execute("CREATE TABLE periods AS FROM given")
        yield Market(database)


def figures(
    homes: list[dict[str, Any]], of: list[tuple[str, Period]], week: date = MONDAY
) -> dict[tuple[str, str], MarketWeek]:
    with market_of(homes, of) as market:
        rows = market.weeks([week])
    return {(row.city, row.district): row for row in rows if row.operation == "sale"}


def test_a_home_counts_once_however_many_adverts_it_has() -> None:
    names = [str(at) for at in range(6)]
    of = [(name, period(-10, None, 100_000.0)) for name in names] + [("0", period(-9, None, 95_000.0))] * 3
    row = figures([home(name) for name in names], of)["Bakı", "Nəsimi"]
    assert row.stock == 6
    assert row.median_price == 100_000


def test_a_home_that_only_changes_its_reference_stays_on_the_market() -> None:
    back = [("0", period(-30, -2, 100.0)), ("0", period(2, None, 100.0))]
    row = figures([home("0")], back)["Bakı", "Nəsimi"]
    assert (row.new, row.gone, row.stock) == (0, 0, 1)
    late = [("0", period(-60 - GAP_DAYS, -60, 100.0)), ("0", period(2, None, 100.0))]
    assert figures([home("0")], late)["Bakı", "Nəsimi"].new == 1


def test_figures_of_few_homes_are_hidden() -> None:
    names = [str(at) for at in range(FEWEST)]
    few = figures([home(name) for name in names[1:]], [(name, period(-3, None, 100.0)) for name in names[1:]])
    assert few["Bakı", "Nəsimi"].stock == FEWEST - 1
    assert few["Bakı", "Nəsimi"].median_price is None
    enough = figures([home(name) for name in names], [(name, period(-3, None, 100.0)) for name in names])
    assert enough["Bakı", "Nəsimi"].median_price == 100


def test_a_home_of_an_unknown_city_counts_for_its_country_only() -> None:
    found = figures([home("0", home_city="", home_district="")], [("0", period(-3, None, 100.0))])
    assert set(found) == {("", "")}


def test_the_yield_is_a_years_rent_for_the_price() -> None:
    names = [str(at) for at in range(10)]
    homes = [home(name, operation="sale" if at < 5 else "rent") for at, name in enumerate(names)]
    of = [(name, period(-3, None, 100_000.0)) for name in names[:5]]
    of += [(name, period(-3, None, 500.0, "AZN/month")) for name in names[5:]]
    assert figures(homes, of)["Bakı", "Nəsimi"].gross_yield == pytest.approx(0.06)


def made(seed: int, count: int = 400) -> tuple[list[dict[str, Any]], list[tuple[str, Period]]]:
    """Homes with up to three adverts, some with price cuts, some that left."""
    rng = Random(seed)
    homes = []
    of = []
    for at in range(count):
        homes.append(
            home(str(at), home_district=rng.choice(["Nəsimi", "Xətai"]), area_m2=rng.choice([40.0, 60.0, None]))
        )
        for _ in range(rng.randint(1, 3)):
            begun = rng.uniform(-80, 6)
            ended = begun + rng.expovariate(1 / 30)
            price = rng.uniform(50_000, 200_000)
            if rng.random() < 0.4:
                cut = begun + (ended - begun) * rng.random()
                of.append((str(at), period(begun, cut, price)))
                begun = cut
                price *= rng.uniform(0.8, 1.1)
            of.append((str(at), period(begun, ended if ended < 9 else None, price)))
    return homes, of


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("week", [MONDAY - timedelta(weeks=5), MONDAY])
def test_the_figures_equal_a_recount(seed: int, week: date) -> None:
    homes, of = made(seed)
    found = figures(homes, of, week)
    for place in (("", ""), ("Bakı", ""), ("Bakı", "Nəsimi")):
        wanted = [each for each in homes if place[1] in ("", each["home_district"])]
        row = found[place]
        expected = recount(wanted, of, midnight(week))
        assert {name: getattr(row, name) for name in expected} == pytest.approx(expected, nan_ok=True)


def recount(homes: list[dict[str, Any]], of: list[tuple[str, Period]], begin: datetime) -> dict[str, Any]:
    """The figures of a week, home by home, without SQL."""
    end = begin + 7 * DAY
    never = datetime(9999, 1, 1, tzinfo=UTC)
    prices, per_m2, cuts = [], [], []
    counts = dict.fromkeys(("stock", "new", "gone", "lately", "on", "cohort", "off"), 0)
    for each in homes:
        own = sorted((p for name, p in of if name == each["home"]), key=lambda p: p.begun_at)
        stays: list[list[datetime]] = []
        for p in own:
            if stays and p.begun_at <= stays[-1][1] + GAP_DAYS * DAY if stays and stays[-1][1] < never else bool(stays):
                stays[-1][1] = max(stays[-1][1], p.ended_at or never)
            else:
                stays.append([p.begun_at, p.ended_at or never])
        for begun, ended in stays:
            if begun >= end:
                continue
            counts["lately"] += begin - 21 * DAY <= ended < end
            is_cohort = begin - 14 * DAY <= begun < begin - 7 * DAY
            counts["cohort"] += is_cohort
            counts["off"] += is_cohort and ended <= begun + 14 * DAY
            if ended < begin:
                continue
            counts["on"] += 1
            counts["stock"] += ended >= end
            counts["new"] += begun >= begin
            counts["gone"] += ended < end
            asked = [
                (p.begun_at, p.ended_at or never, p.price)
                for p in own
                if p.begun_at < end and (p.ended_at or never) >= begin and p.price is not None
            ]
            if not asked:
                continue
            still = [amount for _, left, amount in asked if left >= end]
            price = min(still) if still else max(asked, key=lambda period: period[1])[2]
            before = [amount for came, _, amount in asked if came < begin]
            prices.append(price)
            if each["area_m2"]:
                per_m2.append(price / each["area_m2"])
            if before and price < min(before):
                cuts.append(1 - price / min(before))
    return {
        "stock": counts["stock"],
        "new": counts["new"],
        "gone": counts["gone"],
        "median_price": median(prices) if len(prices) >= FEWEST else None,
        "price_low": float(np.quantile(prices, 0.25)) if len(prices) >= FEWEST else None,
        "price_per_m2_high": float(np.quantile(per_m2, 0.75)) if len(per_m2) >= FEWEST else None,
        "months_of_supply": counts["stock"] / (counts["lately"] * 365.25 / 12 / 28)
        if counts["lately"] >= FEWEST
        else None,
        "cut_share": len(cuts) / counts["on"] if counts["on"] >= FEWEST else None,
        "median_cut": median(cuts) if len(cuts) >= FEWEST else None,
        "off_in_two_weeks": counts["off"] / counts["cohort"] if counts["cohort"] >= FEWEST else None,
    }


# ----- time on the market


def test_the_median_time_equals_that_of_lifelines() -> None:
    lifelines = pytest.importorskip("lifelines")
    rng = np.random.default_rng(3)
    for _ in range(5):
        entered = rng.choice([0.0, 5.0, 20.0], 300)
        days = entered + rng.exponential(40, 300).round() + 1
        has_left = rng.random(300) < 0.7
        fitted = lifelines.KaplanMeierFitter().fit(days, has_left, entry=entered)
        assert median_days(days, has_left, entered) == fitted.median_survival_time_


def test_without_enough_departures_there_is_no_median() -> None:
    assert median_days(np.array([1.0, 2.0, 3.0]), np.array([True, False, False])) is None


# ----- the index


Sale = tuple[int, float, float, str]
"""The week, price, size and place of a home."""


def sales(homes: list[Sale]) -> Sales:
    weeks, prices, sizes, words = zip(*homes, strict=True)
    numbers = {word: at for at, word in enumerate(dict.fromkeys(words))}
    return Sales(np.array(weeks), np.array(prices), np.array(sizes), (np.array([numbers[each] for each in words]),))


def sold(rng: Random, week: int, cheap: float, drift: float) -> Sale:
    """A home whose place decides its price; `cheap` is the share of homes in the cheap place."""
    place = "cheap" if rng.random() < cheap else "dear"
    size = rng.uniform(30, 120)
    level = {"cheap": 1_000, "dear": 3_000}[place] * (1 + drift) ** week
    return week, level * size * rng.lognormvariate(0, 0.1), size, place


def test_the_week_effects_equal_those_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    rng = Random(5)
    homes = [sold(rng, at % 6, 0.5, 0.01) for at in range(600)]
    of_all = sales(homes)
    fitted = api.OLS(np.log(of_all.price), design(of_all, np.arange(6)).toarray()).fit()
    assert week_effects(of_all, np.arange(6))[1:] == pytest.approx(fitted.params[1:6], abs=1e-6)


def test_the_index_is_right_where_the_median_is_not() -> None:
    """Prices rise by 0.5 % a week, but more and more homes are in the cheap place: the median falls."""
    rng = Random(6)
    homes = [sold(rng, week, 0.2 + 0.06 * week, 0.005) for week in range(11) for _ in range(700)]
    index = price_index(sales(homes), 11)
    assert index[0] == 100
    assert index[10] == pytest.approx(100 * 1.005**10, abs=1)
    medians = [median(price for its_week, price, *_ in homes if its_week == week) for week in (0, 10)]
    assert medians[1] < 0.8 * medians[0]


def test_a_week_with_few_homes_has_no_index() -> None:
    rng = Random(7)
    homes = [sold(rng, week, 0.5, 0) for week in (0, 2) for _ in range(50)] + [sold(rng, 1, 0.5, 0)]
    assert [value is None for value in price_index(sales(homes), 4)] == [False, True, False, True]


@pytest.mark.slow
def test_the_index_recovers_the_drift_of_the_simulated_world() -> None:
    """Ten weeks in which more and more homes are in cheap places. What counts is each home's first asking price."""
    drift = 0.004
    world = World(21, 3_000, Traps(drift, is_mix_changing=True))
    names = [name for name, portal in PORTALS.items() if portal.country == "AZ"]
    sites = {name: SITES[name](world, f"http://{name}.test") for name in names}
    for name in names:
        world.listed(name)
    adverts: list[dict[str, Any]] = []
    asked: list[tuple[str, Period]] = []
    for day in range(1, 78):
        changes = world.advance()
        for name in names:
            for advert in changes[name]["listed"]:
                record = sites[name].truth(advert)
                adverts.append({**{each: record[each] for each in loading.ADVERT}, "home": advert.home.id})
                money = f"{record['currency']}/{record['rent_period'] or ''}"
                price = float(record["price"]) if record["price"] else None
                begun = START + (day - 1) * DAY
                asked.append((advert.home.id, Period(name, record["ref"], begun, None, price, money)))
    # One series of all homes, because those of one kind are few: what kind they are is a word of the regression.
    money_of = {name: period.money for name, period in asked}
    homes = [
        {
            **each,
            "property_type": "apartment",
            "operation": "sale",
            "subtype": f"{each['property_type']}/{each['operation']}/{money_of[each['home']]}",
        }
        for each in homes_of(adverts).values()
    ]
    pooled = [(name, replace(each, money="AZN/")) for name, each in asked if each.money.startswith("AZN/")]
    with market_of(homes, pooled) as market:
        weeks = market.weeks([MONDAY, MONDAY + 10 * 7 * DAY])
        rows = [row for row in market.indexed(weeks, MONDAY) if (row.city, row.currency) == ("", "AZN")]
    last = rows[-1]
    assert last.price_index == pytest.approx(100 * (1 + drift) ** 10, abs=1)
    first_prices = [row.median_price or 0 for row in rows]
    assert first_prices[1] < first_prices[0], "the median falls, although every home became dearer"


# ----- weeks, and the output


def test_weeks_begin_on_monday() -> None:
    assert monday(date(2026, 9, 13)) == MONDAY
    assert weeks_between(date(2026, 9, 13), date(2026, 9, 14)) == [MONDAY, MONDAY + 7 * DAY]


def test_a_sparkline_has_a_blank_where_a_value_is_missing() -> None:
    assert sparkline([1.0, None, 2.0, 1.5]) == "▁ █▅"
    assert sparkline([None]) == ""
    assert sparkline([5.0, 5.0]) == "▁▁"
