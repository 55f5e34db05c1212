"""The queue beside stock scrapy-redis, whose own classes run on the same Redis in the same run."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha1
from typing import TypeVar

from redis import Redis
from scrapy import Request

from bench import Context, Goal, Measure, Samples, interleaved
from bench.rig import stock
from bench.rig.crawl import simulated
from bench.rig.listings import JOB, PORTAL, Listings
from bench.rig.relay import Relay
from bench.rig.stock import Stock
from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.queue.codec import decode
from realestate.queue.outbox import MAXIMUM
from realestate.queue.request_ids import RequestId, buckets_for, identify
from realestate.queue.request_queue import Lease, RequestQueue, Settlement

T = TypeVar("T")
WORKER = "worker-7f9c:1:a1b2c3"
#: How many requests a worker takes at once: twice its concurrency (CONCURRENT_REQUESTS).
TAKEN = 32
DELAY_SECONDS = 0.005
#: A measure whose round takes only half a second has this many times as many rounds.
SHORT_ROUNDS = 6
#: Fingerprints of one command, where only their size is measured.
AT_ONCE = 500_000


def measures(context: Context) -> Iterator[Measure]:
    listings = Listings()
    yield throughput(context, listings)
    yield from crawling(context, listings)
    context.keep_no_log()
    yield dedupe_memory(context)
    yield last_seen_memory(context)
    yield request_memory(context, listings)
    yield from long_queue(context, listings)


# ----- push, take and acknowledge


def throughput(context: Context, listings: Listings) -> Measure:
    count = context.sized(5_000, least=MAXIMUM)
    ours = partial(_rate, context, listings, count)
    peer = partial(_stock_rate, context, listings, count)
    found, peers = interleaved(ours, peer, context.rounds)
    goal = Goal(of="ratio", minimum=3)
    return Measure.of("push + take + acknowledge", "requests/s", goal, found, f"{stock.NAME}: push + pop", peers)


def _rate(context: Context, listings: Listings, count: int) -> float:
    context.empty()
    queue = RequestQueue(context.aserver, PORTAL, listings.limits)
    return count / context.wait(_through(queue, listings, listings.requests(count)))


async def _through(queue: RequestQueue, listings: Listings, requests: Sequence[Request]) -> float:
    """Seconds, in the batches of a worker: its outbox sends up to MAXIMUM, it takes TAKEN at once."""
    began = time.perf_counter()
    for batch in _batches(requests, MAXIMUM):
        await queue.push([listings.pushed(request) for request in batch])
    done: list[Settlement] = []
    settled: list[bool] = []
    while leases := (await queue.take(WORKER, TAKEN)).leases:
        for lease in leases:
            decode(lease.payload, listings.spider)
            done.append(Settlement(lease.id, lease.token, "done"))
        if len(done) >= MAXIMUM:
            settled += await queue.settle(done)
            done = []
    settled += await queue.settle(done)
    seconds = time.perf_counter() - began
    assert sum(settled) == len(requests), "everything went through"
    return seconds


def _stock_rate(context: Context, listings: Listings, count: int) -> float:
    context.empty()
    requests = listings.requests(count)
    peer = Stock(context.server, listings.spider)
    began = time.perf_counter()
    peer.push(requests)
    taken = peer.take_all()
    seconds = time.perf_counter() - began
    assert taken == count, "everything went through"
    return count / seconds


# ----- a crawl with a distant Redis


def crawling(context: Context, listings: Listings) -> Iterator[Measure]:
    with simulated(context, context.sized(1_000, least=30)) as crawl:
        crawl(0.0)  # stores every listing, so that the store is the same for all measured crawls
        near = []
        far = []
        for _ in range(context.rounds):
            near.append(crawl(0.0))
            far.append(crawl(DELAY_SECONDS))
    trips = Samples([each.round_trips_per_page for each in near])
    goal = Goal(maximum=0.5)
    peers = _stock_round_trips(context, listings)
    yield Measure.of("round trips to Redis a page", "round trips", goal, trips, stock.NAME, peers)
    rate, far_rate = (Samples([each.pages_per_second for each in crawls]) for crawls in (near, far))
    name = f"crawl with {DELAY_SECONDS * 1000:.0f} ms to Redis"
    goal = Goal(of="ratio", minimum=0.85)
    yield Measure.of(name, "pages/s", goal, far_rate, "the same without", rate)


def _stock_round_trips(context: Context, listings: Listings) -> Samples:
    """Only the commands of its classes for each request; its scheduler also asks for the length of the queue."""
    context.empty()
    requests = listings.requests(200)
    with Relay(context.services.redis_url) as relay, Redis.from_url(relay.url) as server:
        server.ping()
        before = relay.round_trips
        peer = Stock(server, listings.spider)
        peer.push(requests)
        taken = peer.take_all()
        # The last pop found nothing.
        return Samples([(relay.round_trips - before - 1) / taken])


# ----- memory


def dedupe_memory(context: Context) -> Measure:
    count = context.sized(5_000_000, least=1_000)
    sample = context.sized(200_000, least=1_000)
    return Measure(
        name=f"memory of a URL seen, of {count:,}",
        value=_bytes_each(context, count, partial(_remember, context.server)),
        unit="bytes",
        goal=Goal(maximum=10),
        peer=f"{stock.NAME}, of {sample:,}",
        peer_value=_bytes_each(context, sample, partial(_stock_remember, context.server)),
    )


def last_seen_memory(context: Context) -> Measure:
    """With DUPEFILTER_LAST_SEEN; the peer does not keep the time."""
    count = context.sized(5_000_000, least=1_000)
    value = _bytes_each(context, count, partial(_remember, context.server, at=int(time.time())))
    name = f"memory of a URL and when it was seen, of {count:,}"
    return Measure(name=name, value=value, unit="bytes", goal=Goal(maximum=20))


def _remember(server: Redis, count: int, at: int | None = None) -> None:
    """As `is_new` in common.lua does, many at a time."""
    buckets = buckets_for(count)
    for numbers in _batches(range(count), AT_ONCE):
        members: dict[int, list[str]] = {}
        for identity in map(partial(_identity, buckets), numbers):
            members.setdefault(identity.bucket, []).append(identity.member)
        for some in _batches(list(members.items()), 1_000):
            with server.pipeline(transaction=False) as pipe:
                for bucket, new in some:
                    name = keys.seen(PORTAL, JOB, bucket)
                    pipe.sadd(name, *new) if at is None else pipe.hset(name, mapping=dict.fromkeys(new, at))
                    pipe.expire(name, 7 * 24 * 3600)
                pipe.execute()


def _stock_remember(server: Redis, count: int) -> None:
    for numbers in _batches(range(count), 1_000):
        server.sadd("stock:dupefilter", *(sha1(number.to_bytes(8, "big")).hexdigest() for number in numbers))


def request_memory(context: Context, listings: Listings) -> Measure:
    """Everything that a queued request costs: its body, its place in the queue, its id in its job, its fingerprint."""
    count = context.sized(50_000, least=500)

    def ours(count: int) -> None:
        queue = RequestQueue(context.aserver, PORTAL, listings.limits)
        for batch in _batches(listings.requests(count), MAXIMUM):
            context.wait(queue.push([listings.pushed(request) for request in batch]))

    def peer(count: int) -> None:
        for batch in _batches(listings.requests(count), MAXIMUM):
            with context.server.pipeline(transaction=False) as pipe:
                Stock(pipe, listings.spider).push(batch)
                pipe.execute()

    return Measure(
        name=f"memory of a queued listing, of {count:,}",
        value=_bytes_each(context, count, ours),
        unit="bytes",
        goal=Goal(of="ratio", maximum=1),
        peer=stock.NAME,
        peer_value=_bytes_each(context, count, peer),
    )


def _bytes_each(context: Context, count: int, fill: Callable[[int], None]) -> float:
    context.empty()
    before = context.memory()
    fill(count)
    return (context.memory() - before) / count


# ----- with a long queue


def long_queue(context: Context, listings: Listings) -> Iterator[Measure]:
    context.empty()
    few = 1_000
    many = context.sized(1_000_000, least=2_000)
    short, long = (RequestQueue(context.aserver, name, listings.limits) for name in ("few", "many"))
    _fill(context, short, listings, few)
    _fill(context, long, listings, many)
    found, peers = interleaved(
        lambda: context.wait(_take_rate(long)), lambda: context.wait(_take_rate(short)), SHORT_ROUNDS * context.rounds
    )
    goal = Goal(of="ratio", minimum=0.85)
    yield Measure.of(f"taking at {many:,} queued", "requests/s", goal, found, f"at {few:,}", peers)
    looks = Samples([_look_milliseconds(context, long.portal) for _ in range(SHORT_ROUNDS * context.rounds)])
    name = f"status at {many:,} queued"
    yield Measure(name=name, value=looks.median, unit="ms", goal=Goal(maximum=50), spread=looks.spread)


def _fill(context: Context, queue: RequestQueue, listings: Listings, count: int) -> None:
    """All have the same body, because making bodies takes longer than the queue does."""
    (request,) = listings.requests(1)
    pattern = listings.pushed(request)
    for numbers in _batches(range(count), MAXIMUM):
        identities = map(partial(_identity, listings.limits.buckets), numbers)
        batch = [pattern._replace(**identity._asdict()) for identity in identities]
        context.wait(queue.push(batch))


async def _take_rate(queue: RequestQueue, turns: int = 40) -> float:
    """Taken requests are returned between the rounds, so that the queue keeps its length."""
    seconds = 0.0
    taken = 0
    for _ in range(turns):
        leases: list[Lease] = []
        began = time.perf_counter()
        for _ in range(8):
            leases += (await queue.take(WORKER, TAKEN)).leases
        seconds += time.perf_counter() - began
        taken += len(leases)
        await queue.settle([Settlement(lease.id, lease.token, "back") for lease in leases])
    return taken / seconds


def _look_milliseconds(context: Context, portal: str) -> float:
    began = time.perf_counter()
    look(context.server, portal)
    return (time.perf_counter() - began) * 1000


def _identity(buckets: int, number: int) -> RequestId:
    return identify(JOB, number.to_bytes(8, "big"), buckets)


def _batches(values: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    return (values[first : first + most] for first in range(0, len(values), most))
