"""Homes of listings beside two other ways to find them: an exact key, and Splink. On the simulator's world with traps.
And the market figures of a week.

The listings are made before the clock starts. Precision and recall are of pairs of listings, against the truth.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from importlib.util import find_spec
from random import Random
from typing import Any

from bench import Context, Goal, Measure
from bench.rig.database import database
from realestate.homes.build import build
from realestate.homes.clusters import Name
from realestate.homes.facts import Facts, facts_of_all
from realestate.homes.linkage import cluster
from realestate.homes.training import Quality, quality
from realestate.items import Listing
from realestate.market.weekly import WEEK, Market
from realestate.pipelines.clean import clean
from realestate.simulator import truth_of_homes
from realestate.simulator.linkage import Shown, pairs
from realestate.storage import Batch, open_store

#: A seed that the parameters were not trained on.
SEED = 777
LISTINGS = 100_000
PORTALS = 4
#: Splink compares more and slower: it gets a part of the listings.
SPLINK_LISTINGS = 20_000
#: Listings that are new in a run.
NEW = 1_000
#: Homes whose market figures are made.
MARKET_HOMES = 1_000_000
#: Weeks that a run makes again: they are not settled.
MARKET_WEEKS = 6
#: Listings that are written at a time.
TOGETHER = 1_000

Homes = Iterable[Sequence[Name]]


def measures(context: Context) -> Iterator[Measure]:
    count = context.sized(LISTINGS, least=2_000)
    shown = truth_of_homes(SEED, count // PORTALS)
    seconds, homes = _timed(lambda: cluster(facts_of_all([each.listing for each in shown])).members().values())
    exact_seconds, exact = _timed(lambda: by_exact_key(facts_of_all([each.listing for each in shown])))
    truth = _truth(shown)
    ours = _quality(homes, shown, truth)
    keyed = _quality(exact, shown, truth)
    name = f"{len(shown):,} listings"
    yield _beside(f"homes of {name}", "s", Goal(maximum=15), seconds, "exact key", exact_seconds)
    yield _beside("precision", "of linked pairs", Goal(minimum=0.99), ours.precision, "exact key", keyed.precision)
    yield _beside(
        "precision within blocks",
        "of linked pairs",
        Goal(minimum=0.99),
        ours.block_precision,
        "exact key",
        keyed.block_precision,
    )
    yield _beside("recall", "of true pairs", Goal(minimum=0.75), ours.recall, "exact key", keyed.recall)
    decidable = keyed.decidable_recall
    yield _beside(
        "recall of decidable pairs", "of them", Goal(minimum=0.9), ours.decidable_recall, "exact key", decidable
    )
    yield from _new_ones(context, shown)
    yield _market(context)
    if find_spec("splink") is None:
        print("Splink is not measured: it is not installed", file=sys.stderr)
    else:
        yield from _beside_splink(context)


def by_exact_key(listings: Sequence[Facts]) -> list[list[Name]]:
    """Listings are one home if kind, city, size, rooms, floor and price are equal. A missing value makes no key."""
    groups: dict[tuple[Any, ...], list[Name]] = defaultdict(list)
    for each in listings:
        key = (each.kind, each.city, each.size, each.rooms, each.floor, each.price)
        if None not in key:
            groups[key].append(each.name)
    return list(groups.values())


def by_splink(listings: Sequence[Facts], threshold: float) -> list[list[Name]]:
    """As its documentation shows it for such data, with exact and near matches; trained by expectation maximisation."""
    import pandas as pd
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    names = ("kind", "city", "district", "metro", "street", "rooms", "floor", "floors", "size", "price", "agency")
    rows = [{"unique_id": each.name, **{name: getattr(each, name) for name in names}} for each in listings]
    settings = SettingsCreator(
        link_type="dedupe_only",
        blocking_rules_to_generate_predictions=[
            block_on("kind", "district", "rooms", "floor"),
            block_on("kind", "metro", "rooms", "floor"),
            block_on("kind", "size", "rooms"),
        ],
        comparisons=[
            *(cl.ExactMatch(name) for name in ("district", "metro", "street", "rooms", "floor", "floors", "agency")),
            cl.CustomComparison(output_column_name="size", comparison_levels=_levels("size", (0.01, 0.6, 1.1), "abs")),
            cl.CustomComparison(
                output_column_name="price", comparison_levels=_levels("price", (0.001, 0.03, 0.1), "share")
            ),
        ],
    )
    linker = Linker(DuckDBAPI().register(pd.DataFrame(rows)), settings)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("kind", "size", "price"))
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("kind", "street", "rooms", "floor"))
    predicted = linker.inference.predict(threshold_match_probability=threshold)
    clusters = linker.clustering.cluster_pairwise_predictions_at_threshold(predicted, threshold).as_pandas_dataframe()
    return [list(group) for group in clusters.groupby("cluster_id")["unique_id"].apply(list)]


def _levels(name: str, bounds: Sequence[float], how: str) -> list[Any]:
    import splink.comparison_level_library as cll

    difference = f"abs({name}_l - {name}_r)"
    if how == "share":
        difference += f" / greatest({name}_l, {name}_r)"
    near = [cll.CustomLevel(f"{difference} <= {bound}") for bound in bounds]
    return [cll.NullLevel(name), *near, cll.ElseLevel()]


def _beside_splink(context: Context) -> Iterator[Measure]:
    shown = truth_of_homes(SEED, context.sized(SPLINK_LISTINGS, least=2_000) // PORTALS)
    facts = facts_of_all([each.listing for each in shown])
    truth = _truth(shown)
    seconds, homes = _timed(lambda: cluster(facts).members().values())
    theirs, splinked = _timed(lambda: by_splink(facts, 0.99))
    ours = _quality(homes, shown, truth)
    other = _quality(splinked, shown, truth)
    name = f"{len(shown):,} listings"
    yield _beside(f"linking {name}", "s", Goal(), seconds, "Splink", theirs)
    yield _beside(f"precision, {name}", "of linked pairs", Goal(), ours.precision, "Splink", other.precision)
    yield _beside(
        f"precision within blocks, {name}",
        "of linked pairs",
        Goal(),
        ours.block_precision,
        "Splink",
        other.block_precision,
    )
    yield _beside(f"recall, {name}", "of true pairs", Goal(), ours.recall, "Splink", other.recall)


def _new_ones(context: Context, shown: Sequence[Shown]) -> Iterator[Measure]:
    """A run over all listings of a database, and one after 1,000 new ones came."""
    new = context.sized(NEW, least=100)
    listings = [clean(each.listing) for each in shown]
    Random(SEED).shuffle(listings)
    with database(context, "bench_homes") as empty, closing(open_store(empty.url)) as store:
        store.migrate()
        for some in pieces(listings[new:]):
            store.write(Batch([(each, "bench") for each in some]))
        whole, _ = _timed(lambda: [[str(build(store).homes)]])
        store.write(Batch([(each, "bench") for each in listings[:new]]))
        seconds, _ = _timed(lambda: [[str(build(store).homes)]])
    name = f"{new:,} new listings among {len(listings):,}, in PostgreSQL"
    yield Measure(
        name=name, value=seconds, unit="s", goal=Goal(maximum=2), peer="a run over all listings", peer_value=whole
    )


def _market(context: Context) -> Measure:
    """The figures of the weeks that are not settled, with the index of half a year."""
    import duckdb

    count = context.sized(MARKET_HOMES, least=10_000)
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(_SOME_HOMES, {"count": count})
        database.execute(_THEIR_PERIODS)
        begun = time.perf_counter()
        market = Market(database)
        rows = market.weeks([START + at * WEEK for at in range(26 - MARKET_WEEKS, 26)])
        market.indexed(rows, START)
        seconds = time.perf_counter() - begun
    name = f"market figures and index of {count:,} homes, a week"
    return Measure(name=name, value=seconds / MARKET_WEEKS, unit="s", goal=Goal(maximum=10))


START = date(2026, 1, 5)
#: Homes in 20 cities of 10 districts.
_SOME_HOMES = """
    CREATE TABLE homes AS
    SELECT 'h' || i AS home, 'AZ' AS country, 'city ' || n % 20 AS home_city,
        'district ' || n // 20 % 10 AS home_district,
        ['apartment', 'apartment', 'house'][1 + n // 200 % 3] AS property_type,
        ['sale', 'sale', 'rent'][1 + n // 600 % 3] AS operation, (30 + n // 7 % 120)::DOUBLE AS area_m2,
        home_city || '/' || home_district AS place, 'metro ' || n // 11 % 30 AS metro, '' AS subtype,
        ['new', 'good', ''][1 + n // 13 % 3] AS condition, (n // 17 % 5)::VARCHAR AS rooms,
        'true' AS is_new_building, 'agency' AS seller_type, true AS has_place
    FROM (SELECT i, i * 2654435761 % 4294967296 AS n FROM range($count) AS numbers (i))
"""
#: Each is on the market for 60 days on average, most with two prices.
_THEIR_PERIODS = f"""
    CREATE TABLE periods AS
    WITH begun AS (
        SELECT home, '{START}'::TIMESTAMPTZ + INTERVAL 1 HOUR * (n // 3 % (24 * 182)) AS begun_at,
            1000 * area_m2 * (1 + n % 100 / 200) AS price, 1 + n // 5 % 120 AS days
        FROM (SELECT home, area_m2, (hash(home) % 4294967296)::BIGINT AS n FROM homes)
    )
    SELECT home, 'AZN/' AS money, price, begun_at, begun_at + INTERVAL 12 HOUR * days AS ended_at FROM begun
    UNION ALL
    SELECT home, 'AZN/', 0.97 * price, begun_at + INTERVAL 12 HOUR * days, begun_at + INTERVAL 24 HOUR * days
    FROM begun
"""


def pieces(listings: Sequence[Listing]) -> Iterator[Sequence[Listing]]:
    for at in range(0, len(listings), TOGETHER):
        yield listings[at : at + TOGETHER]


def _timed(act: Callable[[], Homes]) -> tuple[float, list[Sequence[Name]]]:
    begun = time.perf_counter()
    found = list(act())
    return time.perf_counter() - begun, [group for group in found if len(group) > 1]


def _truth(shown: Sequence[Shown]) -> dict[tuple[Name, Name], bool]:
    return {(min(p.a.name, p.b.name), max(p.a.name, p.b.name)): p.is_decidable for p in pairs(shown)}


def _quality(homes: Homes, shown: Sequence[Shown], truth: Mapping[tuple[Name, Name], bool]) -> Quality:
    by_name = {each.name: each for each in shown}
    home_of = {name: each.home for name, each in by_name.items()}
    return quality(homes, home_of, lambda name: by_name[name].block is not None, truth)


def _beside(name: str, unit: str, goal: Goal, value: float, peer: str, peer_value: float) -> Measure:
    return Measure(name=name, value=value, unit=unit, goal=goal, peer=peer, peer_value=peer_value)
