"""The operator at night: reads the log of a worker while Redis restarts, another worker dies, a job ends."""

import json
import re
import signal
from pathlib import Path
from typing import cast

import pytest
from redis import Redis

from realestate.jobs.work import portals
from realestate.queue import keys
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, Simulate, Worker, running, until
from tests.end_to_end.site import LISTINGS, PORTAL, SHORT_LEASE, Site, until_finished, worker_with
from tests.redis_process import RedisProcess

#: Lines that a worker may write at its start, whatever the number of portals.
START_LINES = 15
WORK_ALL = [PYTHON, "-m", "realestate", "work"]


@pytest.fixture
def site(simulate: Simulate, env: dict[str, str], store: PostgresStore, tmp_path: Path) -> Site:
    return Site(simulate(LISTINGS), store, env, tmp_path)


def lines(worker: Worker, words: str = "") -> list[str]:
    return [line for line in worker.text().splitlines() if words in line]


def all_portals_beat(server: Redis, names: list[str]) -> bool:
    return all(server.hlen(keys.heartbeats(name)) for name in names)


def test_a_worker_of_all_portals_starts_with_a_few_lines_and_a_restart_of_redis_is_two(
    env: dict[str, str], redis_process: RedisProcess, tmp_path: Path
) -> None:
    redis_process.start()
    own = {**env, "REDIS_URL": redis_process.url, "STATS_DUMP": "OFF"}
    names = portals()
    with (
        Redis.from_url(redis_process.url) as server,
        running(WORK_ALL, own, tmp_path / "worker.log") as worker,
    ):
        until(lambda: all_portals_beat(server, names), "the heartbeats of all portals")
        assert 10 <= len(lines(worker)) <= START_LINES, worker.text()
        assert f"worker/portals: {len(names)}: " in worker.text()
        redis_process.stop()
        until(lambda: lines(worker, "queue/redis_away"), "the worker to notice")
        redis_process.start()
        until(lambda: lines(worker, "queue/redis_back"), "the worker to notice the end")
        server.flushall()
        until(lambda: all_portals_beat(server, names), "new heartbeats of all portals")
        assert worker.stop() == 0
    assert len(lines(worker, "queue/redis_away")) == 1, worker.text()
    assert len(lines(worker, "queue/redis_back")) == 1, worker.text()
    assert re.search(
        r"queue/redis_back: Redis is available again after \d+\.\d s; \d+ calls failed$", worker.text(), re.M
    )
    assert "worker/stopped: 0 pages 0 listings in" in worker.text()
    assert len(lines(worker)) <= START_LINES + 5, worker.text()


def test_the_start_and_the_end_of_a_job_are_lines_and_json_has_their_fields(site: Site, server: Redis) -> None:
    with site.workers(1, LOG_FORMAT="json", STATS_DUMP="OFF") as (worker,):
        site.seed(server)
        until_finished(server)
        until(lambda: lines(worker, "job/concluded"), "the last line of the job")
        assert worker.stop() == 0
    found = [json.loads(line) for line in lines(worker)]
    assert all({"time", "level", "logger", "message", "portal", "job", "worker"} <= line.keys() for line in found)
    assert len({line["worker"] for line in found}) == 1
    (opened,) = (line for line in found if line["message"].startswith("job/opened"))
    (ended,) = (line for line in found if line["message"].startswith("job/concluded"))
    assert opened["job"] == ended["job"] != ""
    assert opened["portal"] == ended["portal"] == PORTAL
    listed = len(list(site.store.records(PORTAL)))
    assert f" listed={listed}" in ended["message"]
    assert f" {listed} listings in " in found[-1]["message"]


def test_the_worker_that_finds_another_one_dead_says_so_once(site: Site, server: Redis) -> None:
    with site.workers(2, worker_with(SHORT_LEASE)) as (first, second):
        site.seed(server)
        site.until_the_middle(server)
        until(
            lambda: server.scard(f"{keys.prefix(PORTAL)}held:{_name_of(server, first)}"), "requests of the first worker"
        )
        first.process.send_signal(signal.SIGKILL)
        until(lambda: lines(second, "worker/dead"), "the line of the second worker")
        until_finished(server)
        assert second.stop() == 0
    (line,) = lines(second, "worker/dead")
    assert f":{first.process.pid} sends no heartbeats; " in line
    assert re.search(rf"[1-9]\d* requests are ready again: {PORTAL} \d+$", line)


def _name_of(server: Redis, worker: Worker) -> str:
    """The worker's name in the portal's queue."""
    names: list[str] = [str(name, "utf-8") for name in cast("list[bytes]", server.hkeys(keys.heartbeats(PORTAL)))]
    return next((name for name in names if name.split(":")[1] == str(worker.process.pid)), "")
