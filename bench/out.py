"""The data going out: questions, exports, the lake and saved searches of a million listings.

Questions are compared with their goals in milliseconds and with Datasette on the same rows, exports with the obvious
script of psycopg2 and pandas. Each export and each script is a process of its own, whose time and largest memory are
measured from outside.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import httpx

from bench import Context, DoesNotCount, Goal, Measure, Samples, in_turns
from bench.rig.adverts import Adverts
from bench.rig.database import Database, database
from bench.rig.datasette import datasette, is_installed
from bench.rig.million import fill
from bench.rig.notified import notified
from bench.rig.questions import Asked, answered, p95
from bench.store import write
from bench.web import serving

#: Listings that are stored. A quick run has a fifth.
MANY = 1_000_000
#: How often each question is asked.
TIMES = 60
#: Listings of a sweep, of which a few are new.
SWEEP = 5_000
NEW = 0.02
MEGABYTE = 1_000_000
#: The obvious script. `extra` and `delisted_at` as text, because Parquet has no such types.
SCRIPT = """
import sys, warnings
import pandas, psycopg2
warnings.simplefilter("ignore")
url, out = sys.argv[1:]
connection = psycopg2.connect(url)
query = '''SELECT {columns} FROM listings ORDER BY portal, ref'''
frame = pandas.read_sql(query, connection)
frame.to_csv(out, index=False) if out.endswith("csv") else frame.to_parquet(out)
"""
#: The same work in the same number of columns.
FORMATS = {"parquet": 2.5, "csv": 2.0}
#: What `summaries` may cost.
_TRIGGERS = {"listings": ("added", "changed", "removed"), "events": ("events",)}
_FACETS = ("portal", "city", "property_type", "rooms", "status", "currency")


class Run(NamedTuple):
    rows_per_second: float
    megabytes: float
    """The largest memory of the process."""


def measures(context: Context) -> Iterator[Measure]:
    many = context.sized(MANY, least=500)
    with database(context, "bench_summaries") as stored:
        yield from cost_of_summaries(context, stored)
    with database(context, "bench_out") as stored:
        cities = fill(stored, many)
        asked = Asked(stored, cities, page=max(2, many // 1_000))
        times = context.sized(TIMES, least=5)
        yield from asked.measures(times)
        with serving(context, stored) as address, httpx.Client(base_url=address, timeout=120) as client:
            yield from asked.over_http(client, times)
            if is_installed():
                with datasette(context, stored) as other:
                    yield from beside_datasette(client, other, cities, context.rounds, times)
            else:
                print("Datasette is not measured: it is not installed", file=sys.stderr)
        yield notified(context, stored)
        yield from exporting(context, stored, stored.count("listings"))
        yield lake(context, stored)


# ----- what the table `summaries` costs when listings are stored


def cost_of_summaries(context: Context, stored: Database) -> Iterator[Measure]:
    """Writing with the triggers of `summaries` and without them, in turns: all new, all seen again, a sweep."""
    adverts = Adverts(context.sized(1_000, least=20))
    count = context.sized(SWEEP, least=50)
    kinds = {"new listings": 1.0, "listings seen again": 0.0, f"a sweep, {NEW:.0%} of it new": NEW}
    for kind, new in kinds.items():
        ways = {
            "with": partial(_sweep, stored, adverts, count, new, "ENABLE"),
            "without": partial(_sweep, stored, adverts, count, new, "DISABLE"),
        }
        found = {name: Samples(rates) for name, rates in in_turns(ways, context.rounds).items()}
        goal = Goal(of="ratio", minimum=0.95) if new < 1 else Goal()
        yield Measure.of(f"storing {kind}", "listings/s", goal, found["with"], "without summaries", found["without"])


def _sweep(stored: Database, adverts: Adverts, count: int, new: float, switch: str) -> float:
    stored.empty()
    listings = adverts.new(count)
    known = round(count * (1 - new))
    write(stored.store, listings[:known])
    for table, names in _TRIGGERS.items():
        for name in names:
            stored.ask(f"ALTER TABLE {table} {switch} TRIGGER summarize_{name}")
    stored.ask("CHECKPOINT")
    began = time.perf_counter()
    write(stored.store, listings)
    seconds = time.perf_counter() - began
    for table, names in _TRIGGERS.items():
        for name in names:
            stored.ask(f"ALTER TABLE {table} ENABLE TRIGGER summarize_{name}")
    return count / seconds


# ----- beside Datasette


def beside_datasette(
    ours: httpx.Client, other: httpx.Client, cities: Sequence[str], rounds: int, times: int
) -> Iterator[Measure]:
    """The same questions about the same listings on the market, both over HTTP."""
    facets = ",".join(_FACETS)
    asked: dict[str, tuple[Callable[[Random], None], Callable[[Random], None]]] = {
        "a page by price": (
            lambda random: answered(ours, "/api/v1/listings", {"sort": "price", "limit": 50}),
            lambda random: answered(other, "/market/listings.json", {"_sort": "price", "_size": 50, "_nocount": 1}),
        ),
        "number in a city below a price": (
            lambda random: answered(
                ours,
                "/api/v1/listings/count",
                {"where": f'city="{random.choice(cities)}" price<{random.randrange(90, 300)}000'},
            ),
            lambda random: answered(
                other,
                "/market/listings.json",
                {"city": random.choice(cities), "price__lt": random.randrange(90_000, 300_000), "_size": 0},
            ),
        ),
        "facets of everything": (
            lambda random: answered(ours, "/api/v1/listings/facets", {"fields": facets}),
            lambda random: answered(
                other,
                f"/market/listings.json?_size=0&_nosuggest=1&{'&'.join(f'_facet={name}' for name in _FACETS)}",
                {},
            ),
        ),
    }
    for name, (act, peer) in asked.items():
        ways = {"ours": partial(_p95, name, act, times), "datasette": partial(_p95, name, peer, max(5, times // 6))}
        found = {way: Samples(taken) for way, taken in in_turns(ways, min(rounds, 3)).items()}
        goal = Goal(of="ratio", maximum=1)
        yield Measure.of(f"over HTTP, {name}: p95", "ms", goal, found["ours"], "Datasette", found["datasette"])


def _p95(name: str, ask: Callable[[Random], None], times: int) -> float:
    random = Random(name)
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        ask(random)
        taken.append((time.perf_counter() - began) * 1000)
    return p95(taken)


# ----- exports


def exporting(context: Context, stored: Database, count: int) -> Iterator[Measure]:
    for format, minimum in FORMATS.items():
        ours, script = context.folder / f"ours.{format}", context.folder / f"script.{format}"
        ways = {
            "ours": [sys.executable, "-m", "realestate", "export", "listings", "--out", str(ours)],
            "script": [sys.executable, "-c", _script(), stored.url, str(script)],
        }
        found = in_turns({name: partial(_run, way, stored, count) for name, way in ways.items()}, context.rounds)
        _check(ours, script)
        rates = {name: Samples([run.rows_per_second for run in runs]) for name, runs in found.items()}
        memory = {name: Samples([run.megabytes for run in runs]) for name, runs in found.items()}
        name = f"exporting {count:,} listings to {format}"
        goal = Goal(of="ratio", minimum=minimum)
        yield Measure.of(name, "rows/s", goal, rates["ours"], "psycopg2 and pandas", rates["script"])
        goal = Goal(maximum=300)
        yield Measure.of(f"{name}: memory", "MB", goal, memory["ours"], "psycopg2 and pandas", memory["script"])


def _script() -> str:
    from realestate.items import FIELDS

    as_text = ("extra", "delisted_at")
    return SCRIPT.format(columns=", ".join(f"{name}::text" if name in as_text else name for name in FIELDS))


def _run(command: list[str], stored: Database, count: int) -> Run:
    environment = {**os.environ, "STORE_URL": stored.url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise DoesNotCount(f"{command[1:3]} failed with {process.returncode}")
    return Run(count / seconds, usage.ru_maxrss * 1024 / MEGABYTE)


def _check(ours: Path, script: Path) -> None:
    """Both files have the same rows."""
    import duckdb

    seen = [duckdb.sql(f"SELECT count(*), sum(price) FROM '{path}'").fetchall() for path in (ours, script)]
    if seen[0] != seen[1]:
        raise DoesNotCount(f"the files differ: {seen}")


# ----- the lake


def lake(context: Context, stored: Database) -> Measure:
    from realestate.exports.lake import Lake, sync

    began = time.perf_counter()
    synced = sync(stored.store, Lake(str(context.folder / "lake")))
    seconds = time.perf_counter() - began
    rows = sum(each.rows for each in synced)
    expected = sum(map(stored.count, ("events", "prices", "listings")))
    if rows != expected:
        raise DoesNotCount(f"the lake got {rows} rows of {expected}")
    return Measure(name=f"the lake: {rows:,} rows", value=rows / seconds, unit="rows/s", goal=Goal())
