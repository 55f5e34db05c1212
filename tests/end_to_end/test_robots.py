"""A fleet of real workers fetches and obeys the robots.txt of a site that the test controls."""

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.settings import LEASE_SECONDS
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, Fleet, Simulate, dead_letters, running, until
from tests.end_to_end.test_rate_limit import FIRST, PORTAL, Handler, Site, most_within, push, request
from tests.redis_process import RedisProcess

TEXT = b"User-agent: *\nDisallow: /en/search-results/kot/\n"
COUNT = 30


class Talking(Site):
    """A site whose robots.txt can change, fail, or never be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = Answers
        self.robots: tuple[int, bytes] = (200, TEXT)
        self.hold = threading.Event()
        self.hold.set()

    def times_asked(self) -> int:
        return [path for _, path in self.asked].count("/robots.txt")


class Answers(Handler):
    server: Talking

    def do_GET(self) -> None:  # noqa: N802 - http.server's own
        if self.path != "/robots.txt":
            super().do_GET()
            return
        self.server.asked.append((time.monotonic(), self.path))
        answer = self.server.robots
        self.server.hold.wait(60)
        self._send(*answer)


@pytest.fixture
def site() -> Iterator[Talking]:
    server = Talking()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.hold.set()
    server.shutdown()
    thread.join()
    server.server_close()


def pushed(url: str, site: Site, count: int = COUNT, first: int = 0) -> None:
    push(url, [request(site, number) for number in range(first, first + count)])


def finished(server: "Redis") -> None:
    until(lambda: look(server, PORTAL).finished, "the end")


def assert_all_asked_for_once(site: Site, count: int = COUNT) -> None:
    assert sorted(site.listings()) == sorted(f"/en/classified/{FIRST + number}" for number in range(count))


@pytest.mark.parametrize("rate", [0, 20])
def test_a_fleet_fetches_robots_txt_once_and_keeps_the_rate_limit(
    site: Talking, fleet: Fleet, redis_url: str, server: Redis, rate: float
) -> None:
    with fleet(3, rate) as workers:
        pushed(redis_url, site, 60)
        finished(server)
        server.lpush(keys.start_urls(PORTAL), f"{site.url}/en/search-results/kot/for-sale")
        until(lambda: dead_letters(redis_url, PORTAL), "the dead letter")
        assert [worker.stop() for worker in workers] == [0] * 3
    assert site.times_asked() == 1
    assert "/en/search-results/kot/for-sale" not in [path for _, path in site.asked]
    assert [letter["reason"] for letter in dead_letters(redis_url, PORTAL)] == ["robots"]
    assert_all_asked_for_once(site, 60)
    assert site.asked[0][1] == "/robots.txt", "before anything else"
    if rate:
        assert most_within(site.arrivals(), 1.0) <= rate + 2, "robots.txt too"
    with fleet(1, rate):  # a worker that starts later knows robots.txt
        pushed(redis_url, site, 1, first=60)
        finished(server)
    assert site.times_asked() == 1


def test_another_worker_replaces_one_that_is_killed_while_it_fetches_robots_txt(
    site: Talking, fleet: Fleet, redis_url: str, server: Redis
) -> None:
    site.hold.clear()
    with fleet(2) as workers:
        pushed(redis_url, site)
        until(site.times_asked, "the first question")
        asking: Any = server.get(f"{{{PORTAL}}}:robots:{site.url}:lock")
        asker = next(worker for worker in workers if f":{worker.process.pid}:" in asking.decode())
        asker.process.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        until(lambda: site.times_asked() == 2, "the second question")
        assert time.monotonic() - killed < LEASE_SECONDS * 3
        site.hold.set()
        finished(server)
    assert site.times_asked() == 2
    assert_all_asked_for_once(site)
    assert dead_letters(redis_url, PORTAL) == []


@pytest.mark.parametrize("status", [503, 403])
def test_nothing_is_lost_while_robots_txt_cannot_be_fetched(
    site: Talking, fleet: Fleet, redis_url: str, server: Redis, store: PostgresStore, status: int
) -> None:
    site.robots = (status, b"not now")
    with fleet(2):
        pushed(redis_url, site)
        until(lambda: site.times_asked() >= 3, "robots.txt to be fetched again")
        assert site.listings() == []
        state = look(server, PORTAL)
        assert not state.finished
        assert state.dead == 0
        site.robots = (200, TEXT)
        finished(server)
    assert_all_asked_for_once(site)
    assert dead_letters(redis_url, PORTAL) == []
    assert store.counts()[PORTAL] == (COUNT, 0)


def test_requests_become_dead_letters_if_robots_txt_cannot_be_fetched_for_too_long(
    site: Talking, fleet: Fleet, redis_url: str, server: Redis
) -> None:
    site.robots = (500, b"")
    with fleet(1, RETRY_TIMES=-2, RETRY_DELAY_SECONDS=0.05) as workers:  # waits twice
        pushed(redis_url, site, 3)
        finished(server)
        assert workers[0].stop() == 0
    assert site.listings() == []
    dead = dead_letters(redis_url, PORTAL)
    assert {(letter["reason"], letter["error"]) for letter in dead} == {
        ("robots", "robots.txt cannot be fetched: status 500")
    }
    assert len(dead) == 3
    assert "'page/extract/forbidden': 3" in workers[0].text()


def test_an_old_copy_of_robots_txt_is_used_while_it_cannot_be_fetched(
    site: Talking, fleet: Fleet, redis_url: str, server: Redis
) -> None:
    with fleet(1, ROBOTSTXT_SECONDS=1.0):
        pushed(redis_url, site, 1)
        finished(server)
        site.robots = (503, b"")
        time.sleep(1.5)
        server.lpush(keys.start_urls(PORTAL), f"{site.url}/en/search-results/kot/for-sale")
        pushed(redis_url, site, COUNT - 1, first=1)
        finished(server)
    assert site.times_asked() >= 2
    assert_all_asked_for_once(site)
    assert [letter["error"] for letter in dead_letters(redis_url, PORTAL)] == ["Forbidden by robots.txt"]


def test_redis_may_be_restarted_or_emptied(site: Talking, fleet: Fleet, redis_process: RedisProcess) -> None:
    redis_process.start()
    with Redis.from_url(redis_process.url) as server, fleet(2, 20, redis_process.url) as workers:
        pushed(redis_process.url, site)
        until(lambda: len(site.listings()) > 5, "the middle of the crawl")
        redis_process.stop()
        time.sleep(1)
        redis_process.start()
        finished(server)
        assert site.times_asked() == 1, "robots.txt is still known"
        server.flushall()
        until(lambda: server.hlen(keys.heartbeats(PORTAL)) == 2, "the workers' heartbeats")
        pushed(redis_process.url, site, COUNT)
        finished(server)
        assert [worker.process.poll() for worker in workers] == [None, None]
        assert look(server, PORTAL).dead == 0
    assert len(site.listings()) == len(set(site.listings())) * 2 == COUNT * 2
    assert most_within(site.arrivals(), 1.0) <= 22


def test_a_worker_that_cannot_fetch_robots_txt_can_be_stopped(
    site: Talking, fleet: Fleet, redis_url: str, server: Redis
) -> None:
    site.robots = (503, b"")
    with fleet(1) as workers:
        pushed(redis_url, site)
        until(site.times_asked, "the first question")
        assert workers[0].stop() == 0
    state = look(server, PORTAL)
    assert state.in_flight == state.dead == 0
    assert state.ready + state.delayed == COUNT, "all requests wait for another worker"


def test_all_workers_keep_a_crawl_delay(site: Talking, fleet: Fleet, redis_url: str, server: Redis) -> None:
    site.robots = (200, TEXT + b"Crawl-delay: 0.5\n")
    with fleet(2):
        pushed(redis_url, site, 8)
        finished(server)
    arrivals = site.arrivals()[2:]  # the first were sent before the crawl delay was known
    assert len(arrivals) == 7
    assert most_within(arrivals, 1.0) <= 3
    assert look(server, PORTAL).rate_limit.crawl_delay_seconds == 0.5


def test_two_workers_fetch_the_robots_txt_of_a_simulated_portal_once(
    simulate: Simulate, env: dict[str, str], server: Redis, store: PostgresStore, tmp_path: Path
) -> None:
    """A portal with only sitemaps is crawled through the sitemaps that its robots.txt names."""
    simulated = simulate(40)
    env["SIMULATOR_URL"] = simulated.url
    command = [PYTHON, "-m", "realestate", "work", "generic"]
    with (
        running(command, env, tmp_path / "1.log") as first,
        running(command, env, tmp_path / "2.log") as second,
    ):
        server.lpush(keys.start_urls("generic"), simulated.portals["generic"] + "/")
        until(lambda: store.counts().get("generic", (0, 0)) != (0, 0), "the first listings")
        until(lambda: look(server, "generic").finished, "the end")
        assert [first.stop(), second.stop()] == [0, 0]
    seen = simulated.by_kind("generic")
    assert (seen["robots"], seen["search"]) == (2, 1), "once to obey it, once to read its sitemaps"
    assert sum(store.counts()["generic"]) == seen["listing"] == len(simulated.truth("generic"))
