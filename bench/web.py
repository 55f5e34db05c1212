"""The web app with a million listings: how long each page takes, and how many bytes it has.

`realestate serve` runs as a process of its own; one reader requests one page after the other, each time with other
conditions, so that no response comes from a cache of the database alone.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from itertools import count
from random import Random
from statistics import median, quantiles
from urllib.parse import urlencode

import httpx

from bench import Context, DoesNotCount, Goal, Measure
from bench.rig.adverts import Adverts
from bench.rig.database import Database, database
from bench.rig.million import HISTORY
from bench.store import write
from realestate.storage.homes import MarketWeek
from realestate.storage.postgres.rows import COLUMNS

#: Listings that are stored. A quick run has a fifth.
MANY = 1_000_000
#: Different listings, from which the others are made, and how many of them at a time.
PATTERNS = 2_000
AT_A_TIME = 50_000
#: Places with weekly figures, and their weeks.
PLACES = 200
WEEKS = 104
#: Requests of each page; the first ones are not counted.
TIMES = 60
WARM_UP = 5
SLOWEST_MS = 100
LARGEST_KB = 50
#: Columns that are the same as those of the pattern: the texts and their words, the place and its cell.
_SAME = [name for name in COLUMNS if name not in ("ref", "price", "price_per_m2", "first_seen_at", "last_seen_at")]
_MULTIPLY = f"""
    INSERT INTO listings (
        {", ".join(_SAME)}, ref, price, price_per_m2, first_seen_at, last_seen_at, revision, search_words, cell
    )
    SELECT {", ".join(f"pattern.{name}" for name in _SAME)}, made.ref, round((price * factor)::numeric),
        round((price_per_m2 * factor)::numeric, 2), made.at, made.at, 1, search_words, cell
    FROM (
        SELECT (%s + number)::text AS ref, 0.5 + random() AS factor, now() - random() * interval '90 days' AS at,
            number %% %s AS place
        FROM generate_series(0, %s - 1) AS number
    ) AS made
    JOIN (SELECT *, row_number() OVER (ORDER BY ref) - 1 AS place FROM listings WHERE ref < '31') AS pattern
        USING (place)
"""
Address = Callable[[Random], str]


def measures(context: Context) -> Iterator[Measure]:
    many = context.sized(MANY, least=500)
    with database(context, "bench_web") as stored:
        cities = fill(stored, many)
        with serving(context, stored) as address, httpx.Client(base_url=address, timeout=120) as client:
            for name, make in pages(stored, cities).items():
                yield from measured(client, name, make, context.sized(TIMES, least=10))


def measured(client: httpx.Client, name: str, make: Address, times: int) -> Iterator[Measure]:
    """One page: half of the readers wait at most p50, 19 of 20 at most p95."""
    random = Random(name)
    milliseconds: list[float] = []
    largest = 0
    for _ in range(WARM_UP + times):
        began = time.perf_counter()
        with client.stream("GET", make(random)) as found:
            size = sum(len(part) for part in found.iter_raw())
        milliseconds.append((time.perf_counter() - began) * 1000)
        largest = max(largest, size)
        if found.status_code != 200:
            raise DoesNotCount(f"{name}: {found.url} returned {found.status_code}")
    counted = milliseconds[WARM_UP:]
    yield Measure(name=f"{name}: p50", value=median(counted), unit="ms", goal=Goal())
    p95 = quantiles(counted, n=20, method="inclusive")[-1]
    yield Measure(name=f"{name}: p95", value=p95, unit="ms", goal=Goal(maximum=SLOWEST_MS))
    goal = Goal(maximum=LARGEST_KB) if not name.startswith("map") else Goal()
    yield Measure(name=f"{name}: compressed", value=largest / 1000, unit="kB", goal=goal)


def pages(stored: Database, cities: Sequence[str]) -> Mapping[str, Address]:
    """The requested addresses, by the name of the page."""
    refs = [str(number) for number in range(31_000_000, 31_000_000 + min(PATTERNS, stored.count("listings") // 2))]

    def listings(random: Random, path: str = "/listings", **more: object) -> str:
        where = f'city="{random.choice(cities)}" price<{random.randrange(200, 900)}000 rooms>={random.randrange(1, 4)}'
        return f"{path}?{urlencode({'where': where, **more})}"

    def near(random: Random, width: float, zoom: float) -> str:
        west = round(3.0 + random.random() * 2, 3)
        south = round(50.4 + random.random() / 2, 3)
        box = f"{west},{south},{round(west + width, 3)},{round(south + width / 2, 3)}"
        return f"/listings/map.json?{urlencode({'bbox': box, 'zoom': zoom})}"

    prices = count(100_000)
    return {
        "overview": lambda random: "/",
        "listings, everything": lambda random: "/listings",
        "listings of a city": listings,
        "listings, a price that is seldom asked for": lambda random: f"/listings?where=price%3E{next(prices)}",
        "map of a country": lambda random: near(random, 6.0, 7.5),
        "map of a city": lambda random: near(random, 0.3, 11.0),
        "map of streets": lambda random: near(random, 0.05, 14.0),
        "listing": lambda random: f"/listings/immoweb/{random.choice(refs)}",
        "market": lambda random: f"/market?in_country=BE&in_city=City+{random.randrange(PLACES)}",
        "operations": lambda random: "/operations",
    }


# ----- what is stored, and the server


def fill(stored: Database, many: int) -> Sequence[str]:
    """Store this many listings with their history, and figures of the market. Return the names of the cities."""
    patterns = min(PATTERNS, many)
    adverts = Adverts(patterns).new(patterns)
    write(stored.store, adverts)
    for first in range(0, many, AT_A_TIME):
        stored.ask(_MULTIPLY, 31_000_000 + first, patterns, min(AT_A_TIME, many - first))
    stored.ask(HISTORY)
    for table in ("listings", "summaries", "tallies", "events", "prices"):
        stored.ask(f"VACUUM ANALYZE {table}")
    stored.store.save_market(list(weeks()), date.today() - timedelta(weeks=WEEKS + 1))
    stored.ask("CHECKPOINT")
    if stored.count("summaries") < many:
        raise DoesNotCount(f"only {stored.count('summaries'):,} of {many:,} listings can be searched")
    return sorted({each.city for each in adverts if each.city})


def weeks() -> Iterator[MarketWeek]:
    monday = date.today() - timedelta(days=date.today().weekday())
    for place in range(PLACES):
        for number in range(WEEKS):
            yield MarketWeek(
                week=monday - timedelta(weeks=number + 1),
                country="BE",
                city=f"City {place}",
                property_type="apartment",
                operation="sale",
                currency="EUR",
                stock=40 + place,
                new=5,
                gone=4,
                median_price=250_000.0 + 100 * number,
                price_low=200_000.0,
                price_high=310_000.0,
                median_price_per_m2=2_500.0 + number,
                price_per_m2_low=2_000.0,
                price_per_m2_high=3_100.0,
                median_days_on_market=45.0,
                cut_share=0.1,
                median_cut=0.04,
                gross_yield=0.05,
                price_index=100.0,
            )


@contextmanager
def serving(context: Context, stored: Database) -> Iterator[str]:
    """Run `realestate serve`, and yield its address."""
    env = {**os.environ, "STORE_URL": stored.url, "REDIS_URL": context.services.redis_url, "API_KEYS": ""}
    log = context.folder / "serve.log"
    with log.open("wb") as file:
        command = [sys.executable, "-m", "realestate", "serve", "--port", "0"]
        process = subprocess.Popen(command, env=env, stdout=file, stderr=file)
    try:
        yield _address(process, lambda: log.read_text("utf-8", "replace"))
    finally:
        process.terminate()
        process.wait(30)


def _address(process: "subprocess.Popen[bytes]", said: Callable[[], str]) -> str:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"look at (http://\S+?);", said()):
            return found[1]
        time.sleep(0.1)
    raise DoesNotCount(f"realestate serve did not start: {said().strip()[-300:]}")
