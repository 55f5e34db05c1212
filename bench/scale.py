"""What further workers add: on a slow portal, and where the machine itself is the limit.

A distant portal takes 200 ms per page and each worker has four requests in flight, so that workers only wait: eight
workers can wait for eight times as many pages. The size of the portal is proportional to the number of workers, so that
all crawls take equally long and their start and end count equally. Without latency two workers share two cores
with the simulator, Redis and PostgreSQL. Crawls are timed and count as in the suite `crawl`.
"""

import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial

from bench import Context, Goal, Measure, Samples, in_turns, interleaved
from bench.rig.crawlers import CEILING, Ours
from bench.rig.database import Database, database
from bench.rig.site import sites

PORTAL = "immoweb"
FLEETS = (1, 2, 4, 8)
LATENCY_SECONDS = 0.2
#: The only settings of workers on a distant portal, except for addresses.
CONCURRENCY = ("-s", "CONCURRENT_REQUESTS=4", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=4")
GOALS = {8: Goal(of="ratio", minimum=7)}


def measures(context: Context) -> Iterator[Measure]:
    with database(context, "bench_scale") as stored:
        yield from distant(context, stored)
        yield near(context, stored)


def distant(context: Context, stored: Database) -> Iterator[Measure]:
    """The curve; its last point has the goal."""
    print(f"on the distant portal: scrapy crawl {PORTAL} {' '.join(CONCURRENCY)}", file=sys.stderr)
    ways = {_named(fleet): partial(_distant_rate, context, stored, fleet) for fleet in FLEETS}
    found = {name: Samples(rates) for name, rates in in_turns(ways, min(3, context.rounds)).items()}
    for fleet in FLEETS[1:]:
        name = f"{_named(fleet)}, {LATENCY_SECONDS * 1000:.0f} ms a page"
        goal = GOALS.get(fleet, Goal())
        yield Measure.of(name, "pages/s", goal, found[_named(fleet)], _named(1), found[_named(1)])


def _named(fleet: int) -> str:
    return f"{fleet} workers" if fleet > 1 else "1 worker"


def _distant_rate(context: Context, stored: Database, fleet: int) -> float:
    with sites(context, (PORTAL,), fleet * context.sized(300, least=5)) as (site,):
        CEILING.run(context, stored, site)  # renders every page
        site.takes(LATENCY_SECONDS)
        with closing(Ours(context, stored, site)) as ours:
            return ours.run(fleet, *CONCURRENCY).pages_per_second


def near(context: Context, stored: Database) -> Measure:
    with sites(context, (PORTAL,), context.sized(2_000, least=20)) as (site,):
        CEILING.run(context, stored, site)
        with closing(Ours(context, stored, site)) as ours:
            two, one = interleaved(
                lambda: ours.run(2).pages_per_second, lambda: ours.run(1).pages_per_second, context.rounds
            )
    goal = Goal(of="ratio", minimum=1.4)
    return Measure.of("2 workers, no latency, all on this machine", "pages/s", goal, two, "1 worker", one)
