"""Jobs while the queue is long: cancel, the scripts beside a cancelled job, memory, `jobs show`, an idle worker,
and the metrics of a page."""

import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from subprocess import DEVNULL, Popen
from typing import Any

import psycopg2
from redis import Redis

from bench import Context, Goal, Measure, Samples
from bench.rig.listings import PORTAL, Listings
from bench.rig.relay import Relay
from realestate import environment
from realestate.jobs.manage import JobDesk, fingerprint_sets, queue_keep_seconds
from realestate.jobs.order import JobOrder
from realestate.queue import job_marks, keys
from realestate.queue.connection import connect_blocking
from realestate.queue.intake import WAKE_UP_SECONDS
from realestate.queue.request_queue import RequestQueue
from realestate.storage import open_store

WORKER = "worker-7f9c:1:a1b2c3"
OTHER = "another-job"
TAKEN = 32
QUEUED = 1_000_000
OLD_JOBS = 10_000
PUSHED_TOGETHER = 1_000
#: Portals of the idle worker, and how long it is watched.
IDLE_PORTALS = ("bina", "emlak", "immoweb", "lalafo", "tap")
IDLE_SECONDS = 10.0
#: Memory counts as back when all but this share is free; it has to be after this many seconds.
MEMORY_LEFT = 0.05
BACK_SECONDS = 60.0
#: Microseconds of CPU that metrics may add to a page.
MOST_OF_A_PAGE = 42.0


def measures(context: Context) -> Iterator[Measure]:
    context.empty()
    context.keep_no_log()
    listings = Listings()
    with closing(open_store(context.services.store_url)) as store, connect_blocking(context.services.redis_url) as own:
        desk = JobDesk(store, own)
        yield from job_state(context, desk, listings)
    yield idle_commands(context)
    yield metrics_of_a_page(context)


def job_state(context: Context, desk: JobDesk, listings: Listings) -> Iterator[Measure]:
    empty = context.memory()
    job = desk.submit(JobOrder(portal=PORTAL)).job
    desk.server.delete(keys.start_urls(PORTAL))
    queued = context.sized(QUEUED, least=2_000)
    old = context.sized(OLD_JOBS, least=50)
    _old_jobs(context, old)
    context.wait(_push(context, listings, job, queued))
    full = context.memory()
    context.wait(_push(context, listings, OTHER, TAKEN))
    shown = Samples([_milliseconds(lambda: desk.show(job)) for _ in range(4 * context.rounds)])
    yield _measure(f"jobs show at {queued:,} queued and {old:,} old jobs", "ms", 50, shown)
    with _script_times(context.server) as times:
        cancelled = _milliseconds(lambda: job_marks.cancel(desk.server, PORTAL, job, queue_keep_seconds()))
    yield _measure(f"cancel at {queued:,} queued: the command", "ms", 5, Samples([cancelled]))
    yield _measure(f"cancel at {queued:,} queued: the script", "ms", 5, Samples(times()))
    with _script_times(context.server) as times:
        context.wait(_take(context, listings, 50))
    yield _measure("the take script beside a cancelled job", "ms", 5, Samples(times()))
    began = time.perf_counter()
    with _script_times(context.server) as times:
        while job_marks.remove_some(desk.server, PORTAL, job, fingerprint_sets())[0]:
            pass
    yield _measure("one step of the removal", "ms", 5, Samples(times()))
    while context.memory() - empty > MEMORY_LEFT * (full - empty) and time.perf_counter() - began < 2 * BACK_SECONDS:
        time.sleep(0.2)  # Redis makes its tables smaller little by little
    seconds = time.perf_counter() - began
    yield _measure(f"memory of {queued:,} requests back, all but 5 %", "s", BACK_SECONDS, Samples([seconds]))


def idle_commands(context: Context) -> Measure:
    """Commands that an idle worker process sends to Redis, as a relay between them sees them."""
    context.empty()
    with Relay(context.services.redis_url) as relay:
        env = environment.changed(
            REDIS_URL=relay.url, STORE_URL=context.services.store_url, REALESTATE_HOME=str(context.folder / "idle")
        )
        command = [sys.executable, "-m", "realestate", "work", *IDLE_PORTALS]
        process = Popen(command, env=dict(env), stdout=DEVNULL, stderr=DEVNULL)
        try:
            _wait_for_heartbeats(context.server)
            time.sleep(2.0 * WAKE_UP_SECONDS)
            before = relay.round_trips
            time.sleep(IDLE_SECONDS)
            rate = (relay.round_trips - before) / IDLE_SECONDS
        finally:
            process.terminate()
            process.wait(60)
    return _measure(
        f"commands a second of an idle worker of {len(IDLE_PORTALS)} portals", "commands/s", 5, Samples([rate])
    )


def metrics_of_a_page(context: Context) -> Measure:
    """What counting a page for METRICS_PORT adds to it. 2 % of a page of immoweb (2.1 ms of CPU) are 42 µs."""
    from scrapy.http import Request, Response
    from scrapy.utils.test import get_crawler

    from realestate.monitoring.stats import Stats
    from realestate.monitoring.worker_metrics import Metrics, WorkerMetrics

    crawler = get_crawler()
    crawler.stats = Stats(crawler)
    extension = Metrics(crawler, WorkerMetrics())
    response = Response("https://www.example.org/1")
    request = Request(response.url, meta={"stage": "extract", "download_latency": 0.2})
    pages = context.sized(100_000, least=1_000)
    found = []
    for _ in range(context.rounds):
        began = time.process_time()
        for _ in range(pages):
            extension.response_received(response, request)
        found.append((time.process_time() - began) / pages * 1e6)
    return _measure("CPU of the metrics of a page", "µs", MOST_OF_A_PAGE, Samples(found))


def _wait_for_heartbeats(server: "Redis") -> None:
    deadline = time.monotonic() + 120
    while not all(server.exists(keys.heartbeats(portal)) for portal in IDLE_PORTALS):
        if time.monotonic() > deadline:
            raise RuntimeError("the idle worker sent no heartbeat")
        time.sleep(0.2)


def _measure(name: str, unit: str, most: float, found: Samples) -> Measure:
    return Measure(name=name, value=found.median, unit=unit, goal=Goal(maximum=most), spread=found.spread)


def _old_jobs(context: Context, count: int) -> None:
    """In the store, all ended: one statement, because each would be a transaction of its own."""
    connection = psycopg2.connect(context.services.store_url)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO jobs (job, portal, mode, scope, concluded_at) SELECT 'old-' || number, %(portal)s, 'full', '',"
            " now() FROM generate_series(1, %(count)s) AS number;"
            "INSERT INTO job_orders (job, portal, content, seeds, events_after, pushed_at, ended_at, outcome, summary)"
            " SELECT 'old-' || number, %(portal)s, '{}', '[]', 0, now(), now(), 'finished', '{}'"
            " FROM generate_series(1, %(count)s) AS number; ANALYZE jobs; ANALYZE job_orders",
            {"portal": PORTAL, "count": count},
        )
    connection.close()


async def _push(context: Context, listings: Listings, job: str, count: int) -> None:
    queue = RequestQueue(context.aserver, PORTAL, listings.limits)
    for begin in range(0, count, PUSHED_TOGETHER):
        some = [listings.pushed(each) for each in listings.requests(min(PUSHED_TOGETHER, count - begin))]
        await queue.push([each._replace(job=job) for each in some])


async def _take(context: Context, listings: Listings, times: int) -> None:
    queue = RequestQueue(context.aserver, PORTAL, listings.limits)
    for _ in range(times):
        await queue.take(WORKER, TAKEN)


def _milliseconds(act: Any) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


@contextmanager
def _script_times(server: "Redis") -> Iterator[Any]:
    """Within it, Redis measures every script. The yielded function returns their times in milliseconds."""
    server.config_set("slowlog-log-slower-than", 0)
    server.config_set("slowlog-max-len", 100_000)
    server.slowlog_reset()
    found: list[float] = []
    yield lambda: found
    entries: Any = server.slowlog_get(100_000)
    server.config_set("slowlog-log-slower-than", -1)
    server.slowlog_reset()  # its memory would be measured
    found += [each["duration"] / 1000 for each in entries if each["command"][:4] == b"EVAL"]
