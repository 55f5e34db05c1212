"""The store in PostgreSQL beside the plain ways to write into the same table, and beside itself with a full table.

The store in MongoDB beside one update per listing.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import quantiles

from bench import Context, Goal, Measure, Samples, interleaved
from bench.rig.adverts import Adverts
from bench.rig.database import Database, database, lines
from bench.rig.mongod import MongoDatabase, mongod
from realestate.items import Listing
from realestate.settings import STORE_BATCH_SIZE
from realestate.storage import Batch, Store

RUN = "0123456789ab"
#: How often the event loop looks at the clock.
TICK_SECONDS = 0.001
FEW = 10_000
MANY = 1_000_000


def measures(context: Context) -> Iterator[Measure]:
    adverts = Adverts(context.sized(1_000, least=20))
    with database(context, "bench_store") as empty:
        yield from writing(context, empty, adverts)
        yield stalls(context, empty, adverts)
    yield full(context, adverts)
    with mongod(context) as url:
        if url is None:
            print("MongoDB is not measured: no mongod on the PATH", file=sys.stderr)
        else:
            yield in_mongodb(context, adverts, url)


# ----- into an empty table


def writing(context: Context, empty: Database, adverts: Adverts) -> Iterator[Measure]:
    found = _rounds(context, _Ways(context, empty, adverts).all())
    first = found["first"]
    again = found["again"]
    goal = Goal(of="ratio", minimum=10)
    peers = found["insert"]
    yield Measure.of("storing, history included", "listings/s", goal, first, "INSERT and COMMIT each", peers)
    goal = Goal(of="ratio", minimum=0.2)
    peers = found["copy"]
    yield Measure.of("storing, beside bare COPY", "listings/s", goal, first, "COPY, no history", peers)
    goal = Goal(of="ratio", minimum=2)
    yield Measure.of("storing again, unchanged", "listings/s", goal, again, "the first time", first)


class _Ways:
    """The ways to write some listings, each into an empty table, as functions that return listings per second."""

    def __init__(self, context: Context, empty: Database, adverts: Adverts) -> None:
        self.count = context.sized(5_000, least=20)
        self.singly = context.sized(1_000, least=10)
        self.empty = empty
        self.adverts = adverts

    def all(self) -> Mapping[str, Callable[[], dict[str, float]]]:
        return {"store": self.store, "insert": self.insert, "copy": self.copy}

    def store(self) -> dict[str, float]:
        listings = self._begin(self.count)
        first, again = (self.count / _seconds(lambda: write(self.empty.store, listings)) for _ in range(2))
        return {"first": first, "again": again}

    def insert(self) -> dict[str, float]:
        listings = self._begin(self.singly)
        return {"insert": self.singly / _seconds(lambda: self.empty.insert_one_by_one(listings))}

    def copy(self) -> dict[str, float]:
        ready = lines(self._begin(self.count))
        return {"copy": self.count / _seconds(lambda: self.empty.copy(ready))}

    def _begin(self, count: int) -> list[Listing]:
        self.empty.empty()
        return self.adverts.new(count)


def in_mongodb(context: Context, adverts: Adverts, url: str) -> Measure:
    count = context.sized(5_000, least=10)
    singly = context.sized(1_000, least=10)
    stored = MongoDatabase(url)

    def ours() -> float:
        stored.empty()
        listings = adverts.new(count)
        return count / _seconds(lambda: write(stored.store, listings))

    def plain() -> float:
        stored.empty()
        listings = adverts.new(singly)
        return singly / _seconds(lambda: stored.update_one_by_one(listings))

    found, peers = interleaved(ours, plain, context.rounds)
    stored.close()
    goal = Goal(of="ratio", minimum=8)
    return Measure.of("storing in MongoDB, history included", "listings/s", goal, found, "update_one each", peers)


def _rounds(context: Context, ways: Mapping[str, Callable[[], dict[str, float]]]) -> dict[str, Samples]:
    """Measure both in turns; each is the first in every other round."""
    found: dict[str, list[float]] = {}
    for number in range(context.rounds):
        for way in list(ways.values())[:: 1 if number % 2 == 0 else -1]:
            for name, rate in way().items():
                found.setdefault(name, []).append(rate)
    return {name: Samples(rates) for name, rates in found.items()}


def write(into: Store, listings: Sequence[Listing]) -> None:
    for batch in _batches(listings):
        into.write(batch)


# ----- into a full table


def full(context: Context, adverts: Adverts) -> Measure:
    few = context.sized(FEW, least=40)
    many = context.sized(MANY, least=80)
    count = context.sized(2_000, least=20)
    with database(context, "bench_few") as small, database(context, "bench_many") as large:
        for stored, how_many in ((small, few), (large, many)):
            write(stored.store, adverts.new(min(few, 1_000)))
            stored.fill(how_many)
            _cost(stored, adverts.new(5 * count))  # the first writes after a checkpoint write whole pages
        found, peers = interleaved(
            lambda: _cost(large, adverts.new(count)), lambda: _cost(small, adverts.new(count)), context.rounds
        )
    goal = Goal(of="ratio", maximum=1.5)
    return Measure.of(f"storing a listing beside {many:,}", "µs", goal, found, f"beside {few:,}", peers)


def _cost(stored: Database, listings: Sequence[Listing]) -> float:
    """Microseconds per listing. The listings are deleted again, so that the table keeps its size."""
    seconds = _seconds(lambda: write(stored.store, listings))
    refs = [listing.ref for listing in listings]
    for table in ("listings", "events", "prices"):
        stored.ask(f"DELETE FROM {table} WHERE portal = %s AND ref = ANY (%s)", listings[0].portal, refs)
        stored.ask(f"VACUUM {table}")
    return seconds / len(listings) * 1e6


# ----- beside an event loop


def stalls(context: Context, empty: Database, adverts: Adverts) -> Measure:
    count = context.sized(10_000, least=40)

    def flushing() -> float:
        empty.empty()
        return context.wait(_latest(empty, _batches(adverts.new(count))))

    found, peers = interleaved(flushing, lambda: context.wait(_latest(empty, [])), context.rounds)
    goal = Goal(maximum=20)
    return Measure.of("stall of the event loop, p99, while storing", "ms", goal, found, "while idle", peers)


async def _latest(stored: Database, batches: Sequence[Batch]) -> float:
    """Milliseconds by which the event loop wakes up too late: the 99th percentile."""
    late: list[float] = []
    with ThreadPoolExecutor(1) as thread:
        over = asyncio.get_running_loop().run_in_executor(thread, _write_all, stored, batches)
        while not over.done() or len(late) < 200:
            began = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            late.append(time.perf_counter() - began - TICK_SECONDS)
        await over
    return quantiles(late, n=100)[-1] * 1000


def _write_all(stored: Database, batches: Sequence[Batch]) -> None:
    for batch in batches:
        stored.store.write(batch)


def _batches(listings: Sequence[Listing]) -> list[Batch]:
    firsts = range(0, len(listings), STORE_BATCH_SIZE)
    return [Batch([(each, RUN) for each in listings[first : first + STORE_BATCH_SIZE]]) for first in firsts]


def _seconds(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
