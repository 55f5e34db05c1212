"""How long a user waits for the first output: of the command, of a worker, of the demo.

The goals are seconds, because a person waits. The peers show how fast the machine was at that moment.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg2

from bench import Context, DoesNotCount, Goal, Measure, Samples, interleaved
from bench.rig.crawlers import PLAIN, Ours, last_words
from bench.rig.database import Database, database
from bench.rig.site import Site, sites
from realestate import embedded, environment
from realestate.embedded import children
from realestate.embedded.poll import until
from realestate.jobs import local

PORTAL = "immoweb"
LONGEST_SECONDS = 60.0


def measures(context: Context) -> Iterator[Measure]:
    yield asking(context)
    with sites(context, (PORTAL,), context.sized(200, least=10)) as (site,), database(context, "bench_start") as stored:
        yield working(context, stored, site)
    yield showing(context)


def asking(context: Context) -> Measure:
    ours = ["-m", "realestate", "--help"]
    peer = ["-c", "import typer"]
    found, peers = interleaved(lambda: _milliseconds(ours), lambda: _milliseconds(peer), 2 * context.rounds)
    return Measure.of("realestate --help", "ms", Goal(maximum=300), found, "python -c 'import typer'", peers)


def _milliseconds(arguments: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment.changed())
    return (time.perf_counter() - began) * 1000


def working(context: Context, stored: Database, site: Site) -> Measure:
    """Seconds from the start of the process to its first request. The seeds are already in the queue."""
    with closing(Ours(context, stored, site)) as ours:

        def ours_seconds() -> float:
            ours.begin()
            ours.submit()
            return _until_first_request(ours.start(context.folder / "ours.log"), site)

        def plain_seconds() -> float:
            return _until_first_request(PLAIN.start(context, stored, site), site)

        found, peers = interleaved(ours_seconds, plain_seconds, context.rounds)
    return Measure.of("worker to its first request", "s", Goal(maximum=2), found, PLAIN.name, peers)


def _until_first_request(process: subprocess.Popen[bytes], site: Site) -> float:
    began = time.monotonic()
    before = site.seen().requests
    try:
        if not until(lambda: site.seen().requests > before, LONGEST_SECONDS):
            raise DoesNotCount(f"no request in {LONGEST_SECONDS:.0f} s")
        return time.monotonic() - began
    finally:
        children.stop([process], local.STOP_SECONDS)


def showing(context: Context) -> Measure:
    """Seconds from the command to the first stored listing. It starts Redis, PostgreSQL and a simulator before."""
    samples = Samples([_demo_seconds(context, number) for number in range(context.rounds)])
    name = "realestate demo to its first stored listing"
    return Measure(name=name, value=samples.median, unit="s", goal=Goal(maximum=5), spread=samples.spread)


def _demo_seconds(context: Context, number: int) -> float:
    folder = context.folder / f"demo-{number}"
    log = context.folder / "demo.log"
    folder.mkdir()
    listings = context.sized(2_000, least=20)  # the demo's default number of listings
    command = [sys.executable, "-m", "realestate", "demo", "--listings", str(listings)]
    began = time.monotonic()
    process = children.spawn(command, env=environment.changed(REALESTATE_HOME=str(folder)), log=log)
    try:
        with closing(_Onlooker(folder)) as onlooker:
            seen = until(lambda: process.poll() is not None or onlooker.sees_a_listing(), LONGEST_SECONDS)
        if not seen:
            raise DoesNotCount(f"the demo stored nothing in {LONGEST_SECONDS:.0f} s")
        if process.poll() is not None:
            raise DoesNotCount(f"the demo ended: {last_words(log)}")
        return time.monotonic() - began
    finally:
        children.stop([process], local.STOP_SECONDS)


class _Onlooker:
    """Checks the demo's store for listings over one connection: a login for each check would slow the demo."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.connection: Any = None

    def sees_a_listing(self) -> bool:
        """Whether a listing is stored. False as long as a service, the database or the table is missing."""
        try:
            return self._connected() and self._any_listing()
        except (embedded.EmbeddedError, psycopg2.Error):
            return False

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()

    def _connected(self) -> bool:
        if self.connection is None and (services := embedded.running(self.folder / "demo")) is not None:
            self.connection = psycopg2.connect(services.store_url)
            self.connection.autocommit = True
        return self.connection is not None

    def _any_listing(self) -> bool:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM listings LIMIT 1")
            return cursor.fetchone() is not None
