"""One worker's crawl of a whole portal beside those of its peers, all in the same run on the same pages.

The portals are simulated. Their pages have 18 KB: immoweb's contain an object in a script, emlak's rows of label and
value. Every page is rendered before, so the simulator (9,000 pages/s) limits nobody. Each crawler is one process with
the same number of requests in flight; they take turns. The time counted is the steady crawl, for all alike
(`rig/race.py`). Ours is `scrapy crawl` with the shipped settings and everything they switch on, once with and once
without acceleration; a crawl counts only if what is stored is the truth. Peers need only yield every listing; their
ratio has no goal.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial

from bench import Context, DoesNotCount, Goal, Measure, Samples, in_turns
from bench.rig.crawlers import CEILING, PEERS, PLAIN, Ours, Peer
from bench.rig.database import Database, database
from bench.rig.race import Lap
from bench.rig.site import Site, sites

PORTALS = ("immoweb", "emlak")
OURS = "realestate, all on"
#: The same without the faster parts of Scrapy.
WITHOUT_ACCELERATION = "realestate, ACCELERATE=off"


def measures(context: Context) -> Iterator[Measure]:
    with (
        sites(context, PORTALS, context.sized(5_000, least=40)) as found,
        database(context, "bench_crawl") as stored,
    ):
        for site in found:
            yield from portal(context, stored, site)


def portal(context: Context, stored: Database, site: Site) -> Iterator[Measure]:
    peers = [PLAIN, *there(PEERS), CEILING]
    CEILING.run(context, stored, site)  # renders every page
    with (
        closing(Ours(context, stored, site)) as ours,
        closing(Ours(context, stored, site, ACCELERATE="off")) as without_acceleration,
    ):
        print_command(ours)
        ways: dict[str, Callable[[], Lap | None]] = {OURS: ours.run, WITHOUT_ACCELERATION: without_acceleration.run}
        ways |= {peer.name: partial(lap, peer, context, stored, site) for peer in peers}
        laps = {name: [each for each in laps if each] for name, laps in in_turns(ways, context.rounds).items()}
    if not laps[PLAIN.name]:
        raise DoesNotCount(f"{PLAIN.name} did not crawl {site.portal}: there is nothing to compare with")
    rate = Goal(of="ratio", minimum=2)
    cost = Goal(of="ratio", maximum=0.5)
    yield from _beside_plain(site.portal, laps, "pages/s", rate, lambda lap: lap.pages_per_second)
    yield from _beside_plain(f"CPU, {site.portal}", laps, "ms/page", cost, lambda lap: lap.cpu_milliseconds)
    yield _acceleration(site.portal, laps)


def _acceleration(portal: str, laps: Mapping[str, list[Lap]]) -> Measure:
    """What acceleration buys: ours with it beside ours without it, in the same rounds."""
    with_it, without_it = (
        Samples([lap.pages_per_second for lap in laps[name]]) for name in (OURS, WITHOUT_ACCELERATION)
    )
    return Measure.of(f"{portal}: acceleration", "pages/s", Goal(), with_it, WITHOUT_ACCELERATION, without_it)


def _beside_plain(
    what: str, laps: Mapping[str, list[Lap]], unit: str, goal: Goal, number: Callable[[Lap], float]
) -> Iterator[Measure]:
    found = {name: Samples(list(map(number, each))) for name, each in laps.items() if each}
    plain = found.pop(PLAIN.name)
    for name, samples in found.items():
        yield Measure.of(f"{what}: {name}", unit, goal if name == OURS else Goal(), samples, PLAIN.name, plain)


def there(peers: tuple[Peer, ...]) -> Iterator[Peer]:
    for peer in peers:
        if peer.is_there:
            yield peer
        else:
            print(f"{peer.name} is not measured: no {peer.package} (pip install 'realestate[bench]')", file=sys.stderr)


def lap(peer: Peer, context: Context, stored: Database, site: Site) -> Lap | None:
    """Run the peer once. None if its crawl does not count: the failure of a peer is not ours."""
    try:
        return peer.run(context, stored, site)
    except DoesNotCount as error:
        print(f"a crawl of {site.portal} does not count: {error}", file=sys.stderr)
        return None


def print_command(ours: Ours) -> None:
    variables = " ".join(f"{name}={_without_password(value)}" for name, value in ours.overrides.items())
    print(f"{variables} scrapy crawl {ours.site.portal}", file=sys.stderr)


def _without_password(value: str) -> str:
    return re.sub(r"(?<=://)[^@/]*@", "", value)
