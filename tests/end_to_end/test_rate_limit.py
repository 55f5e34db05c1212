"""The rate limit of the fleet as a site sees it: the site records when each request arrives."""

import asyncio
import json
import statistics
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from redis import Redis

from realestate.jobs.fleet import look
from realestate.queue import codec
from realestate.queue.connection import connect_to
from realestate.queue.intake import WAKE_UP_SECONDS
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import Lease, Pushed, QueueSettings, RequestQueue, Settlement
from realestate.settings import HEARTBEAT_SECONDS, RATE_LIMIT_AHEAD_SECONDS
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import Fleet, until
from tests.end_to_end.hostile import page

PORTAL = "immoweb"
FIRST = 21_000_000
FLEET = 8
#: The site takes this long to send its robots.txt. The requests that wait for it must not come in a burst.
ROBOTS_SECONDS = 1.0
#: Requests may already be on their way when the fleet must stop. One heartbeat later nothing more is sent.
NOTICE_SECONDS = HEARTBEAT_SECONDS + 1.0


class Site(ThreadingHTTPServer):
    """A site with any listing of immoweb. It records the time of each request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[tuple[float, str]] = []

    def arrivals(self) -> list[float]:
        """The times of all requests, robots.txt too."""
        return sorted(at for at, _ in self.asked)

    def listings(self) -> list[str]:
        return [path for _, path in self.asked if "/classified/" in path]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        if self.path == "/_portals":
            self._send(200, json.dumps({PORTAL: self.server.url}).encode())
            return
        self.server.asked.append((time.monotonic(), self.path))
        if self.path == "/robots.txt":
            time.sleep(ROBOTS_SECONDS)
        name = self.path.rsplit("/", 1)[-1]
        self._send(200, page(id=int(name))) if name.isdigit() else self._send(404, b"no such page")

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the tests look at `asked`."""


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def request(site: Site, number: int) -> Pushed:
    fields = {
        "url": f"{site.url}/en/classified/{FIRST + number}",
        "callback": "read_listing",
        "errback": "on_failure",
        "meta": {"stage": "extract", "job": "j"},
    }
    payload = codec.VERSION + msgspec.msgpack.encode(fields)
    return Pushed.of(identify("j", str(number).encode(), 64), 10, "j", "extract", payload)


def with_queue(redis_url: str, act: Callable[[RequestQueue], Awaitable[Any]], **limits: Any) -> Any:
    async def inside() -> Any:
        client = connect_to(redis_url)
        try:
            return await act(RequestQueue(client, PORTAL, QueueSettings(buckets=64, **limits)))
        finally:
            await client.aclose()

    return asyncio.run(inside())


def push(redis_url: str, requests: list[Pushed]) -> None:
    assert all(with_queue(redis_url, lambda queue: queue.push(requests)))


def finished(server: Redis) -> None:
    until(lambda: look(server, PORTAL).finished, "the end")


def most_within(times: list[float], seconds: float) -> int:
    """The largest number of requests in any period of this length."""
    most, begin = 0, 0
    for end, at in enumerate(times):
        while at - times[begin] >= seconds:
            begin += 1
        most = max(most, end - begin + 1)
    return most


def too_many(times: list[float], rate: float, at_least: float) -> list[tuple[float, int]]:
    """The periods of that length or longer with more than rate × length + 1 requests."""
    return [
        (later - earlier, count)
        for first, earlier in enumerate(times)
        for count, later in enumerate(times[first:], 1)
        if later - earlier >= at_least and count > rate * (later - earlier) + 1
    ]


def test_send_slots_of_eight_workers_are_a_tenth_of_a_second_apart(redis_url: str, server: Redis) -> None:
    granted: dict[str, list[Lease]] = {f"w{number}": [] for number in range(FLEET)}

    async def worker(name: str) -> None:
        """Take more than the rate limit allows, again and again."""
        client = connect_to(redis_url)
        queue = RequestQueue(client, PORTAL, QueueSettings(buckets=64, rate=10, burst=1))
        while sum(map(len, granted.values())) < 60:
            taken = await queue.take(name, 5)
            assert all(taken.now <= lease.send_at <= taken.now + queue.limits.ahead for lease in taken.leases)
            await queue.settle([Settlement(lease.id, lease.token, "done") for lease in taken.leases])
            granted[name] += taken.leases
            await asyncio.sleep(0.01)
        await client.aclose()

    async def all_workers(queue: RequestQueue) -> None:
        await queue.push([Pushed.of(identify("j", bytes([n]), 64), 0, "j", "extract", b"") for n in range(60)])
        async with asyncio.timeout(60):
            await asyncio.gather(*map(worker, granted))

    with_queue(redis_url, all_workers)
    times = sorted(lease.send_at for each in granted.values() for lease in each)
    assert len(times) == 60
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= 100
    assert statistics.mean(gaps) < 115, "hardly more: a tenth of jitter, and no slot is wasted"
    assert sum(bool(each) for each in granted.values()) > 1, "one worker alone proves nothing"


def test_eight_workers_together_keep_the_rate_limit_of_one(
    site: Site, fleet: Fleet, redis_url: str, server: Redis, store: PostgresStore
) -> None:
    count = 130
    with fleet(FLEET, rate=10) as workers:
        push(redis_url, [request(site, number) for number in range(count)])
        finished(server)
        heartbeats = look(server, PORTAL).workers.values()
        assert [worker.stop() for worker in workers] == [0] * FLEET
    times = site.arrivals()
    assert sorted(site.listings()) == sorted(f"/en/classified/{FIRST + number}" for number in range(count))
    assert sum(heartbeat.pages > 1 for heartbeat in heartbeats) > 1, "more than one worker sent requests"
    assert most_within(times, 1.0) <= 12
    assert too_many(times, 10, at_least=10) == []
    assert times[-1] - times[0] < count / 10 * 1.5, "the rate limit is used fully"
    assert store.counts()[PORTAL] == (count, 0)


def test_a_worker_that_was_suspended_sends_no_burst_afterwards(
    site: Site, fleet: Fleet, redis_url: str, server: Redis, store: PostgresStore
) -> None:
    count = 70
    with fleet(2, rate=10) as workers:
        push(redis_url, [request(site, number) for number in range(count)])
        for asked in (20, 40):
            until(lambda: len(site.listings()) > asked, "the middle of the crawl")  # noqa: B023
            for worker in workers:
                worker.suspend()
            time.sleep(RATE_LIMIT_AHEAD_SECONDS)  # send slots are granted this long ahead: all of them pass
            for worker in workers:
                worker.resume()
        finished(server)
    assert sorted(site.listings()) == sorted(f"/en/classified/{FIRST + number}" for number in range(count)), "once each"
    assert most_within(site.arrivals(), 1.0) <= 12
    assert store.counts()[PORTAL] == (count, 0)


def test_no_worker_sends_requests_to_a_paused_portal(site: Site, fleet: Fleet, redis_url: str, server: Redis) -> None:
    with fleet(2, rate=20):
        push(redis_url, [request(site, number) for number in range(100)])
        until(lambda: len(site.listings()) > 30, "the middle of the crawl")
        with_queue(redis_url, lambda queue: queue.pause("a test", "somebody"))
        paused = time.monotonic()
        time.sleep(NOTICE_SECONDS + 2)
        resumed = time.monotonic()
        late = [at - paused for at in site.arrivals() if paused + NOTICE_SECONDS < at < resumed]
        assert late == []
        state = look(server, PORTAL)
        assert state.in_flight == 0, "what was leased ahead has been handed back"
        assert not state.finished
        with_queue(redis_url, lambda queue: queue.resume())
        until(lambda: site.arrivals()[-1] > resumed, "the first request after it")
        assert site.arrivals()[-1] - resumed < WAKE_UP_SECONDS
        finished(server)
    assert sorted(site.listings()) == sorted(f"/en/classified/{FIRST + number}" for number in range(100)), "once each"


def test_a_site_that_refuses_gets_no_request_for_as_long_as_it_says_and_then_a_lower_rate_that_rises(
    site: Site, fleet: Fleet, redis_url: str, server: Redis
) -> None:
    wait, rate, recover = 4.0, 20.0, 3.0
    with fleet(2, rate=rate, RATE_LIMIT_RECOVER_SECONDS=recover):
        push(redis_url, [request(site, number) for number in range(160)])
        until(lambda: len(site.listings()) > 30, "the middle of the crawl")
        refused = time.monotonic()
        with_queue(redis_url, lambda queue: queue.refuse("429", wait_seconds=wait))
        known = time.monotonic()
        finished(server)
        rate_limit = look(server, PORTAL).rate_limit
    arrivals = site.arrivals()
    again = refused + wait
    assert [at - known for at in arrivals if known + NOTICE_SECONDS < at < again] == []
    slower = [at for at in arrivals if again <= at < again + recover - 0.5]
    assert 0 < most_within(slower, 1.0) <= rate / 2 * 1.2, (
        "the pause that the site asked for does not count as recovery"
    )
    faster = [at for at in arrivals if at >= again + recover]
    assert rate / 2 * 1.2 < most_within(faster, 1.0) <= rate * 1.2
    assert rate_limit.factor == 1.0, "recovered"
    assert len(site.listings()) == len(set(site.listings())) == 160


def test_an_idle_worker_is_woken_by_a_new_request(site: Site, fleet: Fleet, redis_url: str, server: Redis) -> None:
    delays = []
    with fleet(1, rate=0):
        for number in range(6):
            until(lambda: waits_for_the_bell(server), "the worker to be idle")
            pushed = time.monotonic()
            push(redis_url, [request(site, number)])
            until(lambda: len(site.listings()) == number + 1, "the request")  # noqa: B023
            delays.append(site.arrivals()[-1] - pushed)
            finished(server)
    # The first also asks for robots.txt.
    assert statistics.median(delays[1:]) < WAKE_UP_SECONDS / 5


def waits_for_the_bell(server: Redis) -> bool:
    clients: Any = server.client_list()
    return any(client["cmd"] == "blpop" and "b" in client["flags"] for client in clients)
