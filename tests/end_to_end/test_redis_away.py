"""Redis is restarted, away, not started yet, failed over, read-only or full, or replies are lost: workers continue."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.queue.connection import connect_blocking
from realestate.storage.postgres import PostgresStore
from tests import redis_fleet
from tests.end_to_end.conftest import IN_BOTH_MODES_IF_SLOW, PATIENCE, PYTHON, Simulate, Worker, until
from tests.end_to_end.site import (
    LISTINGS,
    PORTAL,
    SHORT_LEASE,
    SHORT_OUTAGE,
    WORK,
    Site,
    assert_all_live_and_stop,
    until_finished,
    worker_with,
)
from tests.redis_process import RedisProcess
from tests.relay import Line


@pytest.fixture
def site(simulate: Simulate, env: dict[str, str], store: PostgresStore, tmp_path: Path) -> Site:
    return Site(simulate(LISTINGS), store, env, tmp_path)


@pytest.fixture
def redis(redis_process: RedisProcess) -> RedisProcess:
    redis_process.start()
    return redis_process


def waits(*workers: Worker, because: str = "queue/redis_away") -> bool:
    return all(because in worker.text() for worker in workers)


@pytest.mark.parametrize(
    ("seconds", "count", "command", "acceleration"),
    [
        pytest.param(0.0, 1, WORK, "on", id="restarted"),
        pytest.param(SHORT_OUTAGE, 2, worker_with(SHORT_LEASE), "on", id="away for longer than a short lease"),
        pytest.param(SHORT_OUTAGE, 2, worker_with(SHORT_LEASE), "off", id="accelerate off", marks=pytest.mark.slow),
        pytest.param(60.0, 2, WORK, "on", id="away for a minute, longer than a lease", marks=pytest.mark.slow),
    ],
    indirect=["acceleration"],
)
def test_nothing_is_lost_when_redis_goes_and_comes_back(
    site: Site, redis: RedisProcess, seconds: float, count: int, command: list[str]
) -> None:
    with Redis.from_url(redis.url) as server, site.workers(count, command, REDIS_URL=redis.url) as workers:
        site.seed(server)
        site.until_the_middle(server)
        redis.stop()
        time.sleep(seconds)
        until(lambda: waits(*workers), "the workers to notice")
        redis.start()
        until_finished(server)
        assert look(server, PORTAL).dead == 0
        assert_all_live_and_stop(workers)
    site.assert_stored_once()


def test_a_worker_that_starts_before_redis_waits_for_it_and_takes_seeds_after_every_restart(
    site: Site, redis_process: RedisProcess
) -> None:
    with Redis.from_url(redis_process.url) as server, site.workers(1, REDIS_URL=redis_process.url) as workers:
        until(lambda: waits(*workers), "the worker to notice")
        redis_process.start()
        until(lambda: server.hlen(keys.heartbeats(PORTAL)), "the first heartbeat")
        redis_process.stop()
        redis_process.start()
        site.seed(server)
        until_finished(server)
        assert_all_live_and_stop(workers)
    site.assert_stored_once()


@pytest.mark.slow
@pytest.mark.parametrize("lost", [False, True], ids=["in step", "the last writes lost"])
def test_nothing_is_lost_when_sentinel_fails_over(site: Site, tmp_path: Path, lost: bool) -> None:
    """Replication is asynchronous: the old master acknowledged writes that the new master does not have."""
    with redis_fleet.watched(tmp_path / "redis") as fleet, site.workers(2, REDIS_URL=fleet.url) as workers:
        with fleet.master.client() as server:
            site.seed(server)
            site.until_the_middle(server)
            if lost:
                fleet.cut_off_the_replica()
                before = site.requests()
                until(lambda: site.requests() > before + 20, "pages that the replica does not know of")
                assert not look(server, PORTAL).finished
        fleet.master.stop(kill=True)
        until(fleet.promoted, "the replica to be the master")
        with fleet.replica.client() as server:
            until_finished(server)
            assert look(server, PORTAL).dead == 0
        assert waits(*workers)
        assert_all_live_and_stop(workers)
    site.assert_stored_once()


def fill(server: Any, full: bool) -> None:
    server.config_set("maxmemory", 1 if full else 0)


def refused(server: Any, command: str) -> int:
    """How often Redis refused this command."""
    return int(server.info("commandstats").get(f"cmdstat_{command}", {}).get("rejected_calls", 0))


def forbid_writes(server: Any, forbidden: bool) -> None:
    """Make Redis a replica of a missing server: it replies to reads and refuses writes."""
    server.replicaof(redis_fleet.HOST, redis_fleet.free_port()) if forbidden else server.replicaof("NO", "ONE")


@pytest.mark.parametrize(
    ("disturb", "complaint"), [(fill, "OOM"), (forbid_writes, "read only")], ids=["out of memory", "read-only"]
)
def test_nothing_is_lost_while_redis_refuses_writes(
    site: Site, redis: RedisProcess, disturb: Callable[[Any, bool], None], complaint: str
) -> None:
    with Redis.from_url(redis.url) as server, site.workers(1, REDIS_URL=redis.url) as workers:
        site.seed(server)
        site.until_the_middle(server)
        disturb(server, True)
        until(lambda: waits(*workers, because=complaint), "the worker to notice")
        until(lambda: refused(server, "blmove"), "its plain commands too")
        disturb(server, False)
        until_finished(server)
        assert look(server, PORTAL).dead == 0
        assert workers[0].text().count("queue/redis_away") == 1, "it replies to reads, and is away all the same"
        assert_all_live_and_stop(workers)
    site.assert_stored_once()


@pytest.fixture
def line(redis: RedisProcess) -> Iterator[Line]:
    with Line(redis.url) as line:
        yield line


@IN_BOTH_MODES_IF_SLOW
def test_requests_leased_in_a_lost_reply_are_crawled(site: Site, redis: RedisProcess, line: Line) -> None:
    """The worker is alive and sends heartbeats, so no other worker would get these requests."""
    with Redis.from_url(redis.url) as server, site.workers(1, REDIS_URL=line.url) as workers:
        site.seed(server)
        site.until_the_middle(server, after=10)  # before all is leased ahead
        line.lose_reply_to(b"ahead", longer_than=300)  # the reply to a take is this long only if it leases requests
        until(line.lost.is_set, "a lost reply with leases")
        until_finished(server)
        assert_all_live_and_stop(workers)
    site.assert_stored_once()


def test_a_seed_moved_in_a_lost_reply_is_crawled(site: Site, redis: RedisProcess, line: Line) -> None:
    with Redis.from_url(redis.url) as server, site.workers(1, REDIS_URL=line.url) as workers:
        until(lambda: server.hlen(keys.heartbeats(PORTAL)), "the first heartbeat")
        until(lambda: any(client["cmd"] == "blmove" for client in server.client_list()), "the worker to wait")
        line.lose_reply_to(b"BLMOVE", longer_than=20)
        site.seed(server)
        until(line.lost.is_set, "a lost reply with a seed")
        until_finished(server)
        assert_all_live_and_stop(workers)
    site.assert_stored_once()


@IN_BOTH_MODES_IF_SLOW
def test_a_worker_stopped_while_redis_is_away_hands_its_requests_back_when_redis_returns(
    site: Site, redis: RedisProcess
) -> None:
    with Redis.from_url(redis.url) as server, site.workers(1, REDIS_URL=redis.url) as workers:
        site.seed(server)
        site.until_the_middle(server)
        redis.stop()
        until(lambda: waits(*workers), "the worker to notice")
        workers[0].process.terminate()
        until(lambda: "Received SIGTERM" in workers[0].text(), "the worker to stop")
        redis.start()
        assert workers[0].process.wait(PATIENCE) == 0
        state = look(server, PORTAL)
        assert (state.in_flight, state.workers) == (0, {})
        assert not state.finished
        with site.workers(1, REDIS_URL=redis.url) as others:
            until_finished(server)
            assert_all_live_and_stop(others)
    site.assert_stored_once()
    assert site.listings_asked_for() == LISTINGS, (
        "the worker sent its acknowledgements later, so no page is fetched again"
    )


def test_a_stopped_worker_ends_although_redis_stays_away(site: Site, redis: RedisProcess) -> None:
    command = worker_with("realestate.queue.fleet.LEAVING_SECONDS=3")
    with Redis.from_url(redis.url) as server, site.workers(1, command, REDIS_URL=redis.url) as workers:
        site.seed(server)
        site.until_the_middle(server)
        redis.stop()
        until(lambda: waits(*workers), "the worker to notice")
        assert workers[0].stop() == 0
        assert "Redis did not take the held requests back" in workers[0].text()
        redis.start()
        with site.workers(1, REDIS_URL=redis.url) as others:
            until_finished(server)
            assert_all_live_and_stop(others)
    site.assert_stored_once()


def test_workers_of_a_cluster_wait_while_no_node_or_only_some_nodes_answer(site: Site, tmp_path: Path) -> None:
    with redis_fleet.cluster(tmp_path / "redis") as nodes:
        url = cluster_url(nodes)
        with connect_blocking(url) as server, site.workers(2, REDIS_URL=url) as workers:
            site.seed(server)
            site.until_the_middle(server)
            for node in nodes:
                node.stop()
            until(lambda: waits(*workers), "the workers to notice")
            with site.workers(1, REDIS_URL=url) as late:
                nodes[1].start()
                until(lambda: waits(*late), "a worker that starts meanwhile to notice")
                time.sleep(2.0)
                for node in (nodes[0], nodes[2]):
                    node.start()
                until_finished(server)
                assert look(server, PORTAL).dead == 0
                assert_all_live_and_stop([*workers, *late])
    site.assert_stored_once()


def test_a_redis_that_goes_while_a_job_is_opened_does_not_end_the_portal(
    site: Site, redis: RedisProcess, line: Line
) -> None:
    """The seed is taken, and the question whether its job is open gets no reply."""
    with Redis.from_url(redis.url) as server, site.workers(1, REDIS_URL=line.url) as workers:
        until(lambda: server.hlen(keys.heartbeats(PORTAL)), "the first heartbeat")
        line.lose_reply_to(b"HEXISTS")
        site.seed(server)
        until(line.lost.is_set, "a lost reply")
        until_finished(server)
        assert look(server, PORTAL).dead == 0
        assert "start_error" not in workers[0].text()
        assert_all_live_and_stop(workers)
    site.assert_stored_once()


def test_a_portal_reads_seeds_again_after_any_error(site: Site, redis: RedisProcess) -> None:
    """Keys of a wrong type, then a job that cannot be opened at first: the worker goes on."""
    with Redis.from_url(redis.url) as server, site.workers(1, REDIS_URL=redis.url) as workers:
        until(lambda: server.hlen(keys.heartbeats(PORTAL)), "the first heartbeat")
        (worker,) = [name.decode() for name in server.hkeys(keys.heartbeats(PORTAL))]
        for key in (keys.start_urls(PORTAL), keys.taken_seeds(PORTAL, worker), keys.seed_names(PORTAL)):
            server.set(key, "not what it should be")
            if key == keys.seed_names(PORTAL):
                site.seed(server)
            until(lambda: f"{key} is a string" in workers[0].text(), f"{key} to be set aside")  # noqa: B023
        until_finished(server)
        assert look(server, PORTAL).dead == 3, "one dead letter each"
        server.set(keys.open_jobs(PORTAL), "not a hash")
        site.seed(server)
        until(lambda: "seed/reader_restarted" in workers[0].text(), "the reader to start again")
        until_finished(server)
        assert look(server, PORTAL).dead == 3, "the key is set aside, and the seed is read"
        assert workers[0].process.poll() is None
        assert workers[0].stop() == 0
    site.assert_stored_once()


def cluster_url(nodes: list[redis_fleet.Node]) -> str:
    return "redis+cluster://" + ",".join(f"{redis_fleet.HOST}:{node.port}" for node in nodes)


def test_a_crawl_uses_a_redis_cluster(site: Site, tmp_path: Path) -> None:
    with redis_fleet.cluster(tmp_path / "redis") as nodes:
        url = cluster_url(nodes)
        with connect_blocking(url) as server, site.workers(2, REDIS_URL=url) as workers:
            site.seed(server)
            until_finished(server)
            assert_all_live_and_stop(workers)
        command = [PYTHON, "-m", "realestate", "status", "--json"]
        status = subprocess.run(command, env={**site.env, "REDIS_URL": url}, capture_output=True, text=True)
        assert status.returncode == 0, status.stderr
        assert f'"listings": {LISTINGS}' in status.stdout
    site.assert_stored_once()
