"""Whether speed and memory stay the same: a crawl beside a million queued requests and a million stored listings, and a
very long crawl.

The queued requests are of the same portal and less urgent. The stored listings are of another portal, so that the
crawl's own listings can be compared with the truth. The long crawl is the same portal again and again, one job each
time, by one worker whose memory (RSS) is measured all the time.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from subprocess import Popen

from bench import Context, DoesNotCount, Goal, Measure, interleaved
from bench.rig.adverts import Adverts
from bench.rig.crawlers import CEILING, Ours
from bench.rig.database import Database, database
from bench.rig.listings import JOB, Listings
from bench.rig.race import STUCK_SECONDS
from bench.rig.site import Site, sites
from bench.store import write
from realestate.queue.connection import connect_to
from realestate.queue.outbox import MAXIMUM
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import RequestQueue
from realestate.storage.history import altered

PORTAL = "immoweb"
OTHER_PORTAL = "emlak"
MANY = 1_000_000
#: A lower priority than that of any request of a crawl.
LAST = -1_000_000
PAGES = 200_000
FIRST_PAGES = 10_000
LOOK_SECONDS = 0.5
MEGABYTE = 1_000_000


def measures(context: Context) -> Iterator[Measure]:
    with sites(context, (PORTAL,), context.sized(5_000, least=30)) as (site,):
        with database(context, "bench_long") as stored:
            CEILING.run(context, stored, site)  # renders every page
            yield from memory(context, stored, site)
        context.keep_no_log()
        with database(context, "bench_empty") as empty, database(context, "bench_full") as full:
            yield grown(context, empty, full, site)


# ----- beside a full queue and a full store


class Grown(Ours):
    """Crawls beside the queued requests, in a Redis database of its own.

    The queue never becomes empty: the crawl is over when its own listings are stored.
    """

    def begin(self) -> None:
        for table in ("listings", "events", "prices"):
            self.database.ask(f"DELETE FROM {table} WHERE portal = %s", self.site.portal)
            self.database.ask(f"VACUUM {table}")
        self.database.ask("CHECKPOINT")

    def is_over(self) -> bool:
        return True


def grown(context: Context, empty: Database, full: Database, site: Site) -> Measure:
    many = context.sized(MANY, least=100)
    beside = context.services.redis_url.removesuffix("/0") + "/1"
    with closing(Ours(context, empty, site)) as small, closing(Grown(context, full, site, beside)) as large:
        context.wait(_queue(beside, many))
        _store(context, full, many)
        found, peers = interleaved(
            lambda: large.run().pages_per_second, lambda: small.run().pages_per_second, context.rounds
        )
    name = f"crawl with {many:,} queued and {many:,} stored"
    goal = Goal(of="ratio", minimum=0.85)
    return Measure.of(name, "pages/s", goal, found, "with nothing", peers)


async def _queue(redis_url: str, count: int) -> None:
    """All with one body, since making bodies takes longer than the queue does."""
    listings = Listings()
    server = connect_to(redis_url)
    queue = RequestQueue(server, PORTAL, listings.limits)
    (request,) = listings.requests(1)
    pattern = listings.pushed(request)._replace(priority=LAST)
    for first in range(0, count, MAXIMUM):
        numbers = range(first, min(first + MAXIMUM, count))
        identities = (identify(JOB, number.to_bytes(8, "big"), listings.limits.buckets) for number in numbers)
        await queue.push([pattern._replace(**identity._asdict()) for identity in identities])
    await server.aclose()


def _store(context: Context, full: Database, count: int) -> None:
    patterns = Adverts(context.sized(1_000, least=20)).new(context.sized(1_000, least=20))
    write(full.store, [altered(listing, portal=OTHER_PORTAL) for listing in patterns])
    full.fill(count)


# ----- for a long time


def memory(context: Context, stored: Database, site: Site) -> Iterator[Measure]:
    pages = context.sized(PAGES, least=100)
    first = context.sized(FIRST_PAGES, least=50)
    with closing(Ours(context, stored, site)) as ours:
        ours.begin()
        with ours.working() as (worker,):
            early = _megabytes_after(first, ours, worker)
            late = _megabytes_after(pages - first, ours, worker)
    if not early or not late:
        return  # only Linux has this file
    name = f"memory of a worker after {pages:,} pages"
    yield Measure(name=name, value=late, unit="MB", goal=Goal(maximum=200))
    name = f"memory after {pages:,} pages, beside it"
    goal = Goal(of="ratio", maximum=1.05)
    yield Measure(name=name, value=late, unit="MB", goal=goal, peer=f"after {first:,}", peer_value=early)


def _megabytes_after(pages: int, ours: Ours, worker: Popen[bytes]) -> float:
    """The highest memory of the worker while it fetched these pages."""
    goal = ours.site.seen().requests + pages
    most = 0.0
    latest = 0
    moved = time.monotonic()
    while (seen := ours.site.seen().requests) < goal:
        if worker.poll() is not None or time.monotonic() - moved > STUCK_SECONDS:
            raise DoesNotCount(f"the worker stopped {goal - seen} pages before the end")
        if seen > latest:
            latest = seen
            moved = time.monotonic()
        most = max(most, _megabytes(worker))
        if ours.is_over():
            ours.submit()
        time.sleep(LOOK_SECONDS)
    return max(most, _megabytes(worker))


def _megabytes(worker: Popen[bytes]) -> float:
    try:
        status = Path(f"/proc/{worker.pid}/status").read_text("ascii", "replace")
    except OSError:
        return 0.0
    return float(status.partition("VmRSS:")[2].split()[0]) * 1024 / MEGABYTE
