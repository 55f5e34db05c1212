"""The exit code is 0 only for work that was done. Every error is one line. A portal that failed is started again."""

import re
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.jobs.fleet import look
from realestate.queue import keys
from tests.end_to_end.conftest import PYTHON, ROOT, Simulate, running, until
from tests.end_to_end.site import worker_with
from tests.redis_process import RedisProcess

SCRAPY = [PYTHON, "-m", "scrapy", "crawl", "emlak"]
#: A worker has no room for anything: Scrapy closes the spider with the reason `memusage_exceeded`.
NO_ROOM = {"MEMUSAGE_ENABLED": "True", "MEMUSAGE_LIMIT_MB": "1", "MEMUSAGE_CHECK_INTERVAL_SECONDS": "1"}


def ended(command: list[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.fixture
def worker_env(env: dict[str, str], simulate: Simulate) -> dict[str, str]:
    return {**env, "SIMULATOR_URL": simulate(60).url}


@pytest.mark.parametrize("how", ["scrapy crawl", "realestate work"])
def test_a_crawl_that_is_closed_by_an_error_ends_with_1(worker_env: dict[str, str], how: str) -> None:
    if how == "scrapy crawl":
        command = [*SCRAPY, *(part for name, value in NO_ROOM.items() for part in ("-s", f"{name}={value}"))]
    else:
        command = worker_with(*(f"{name}={value.lower()}" for name, value in NO_ROOM.items()))
    done = ended(command, worker_env)
    assert "memusage_exceeded" in done.stderr
    assert done.returncode == 1


def test_a_crawl_that_is_stopped_ends_with_0(worker_env: dict[str, str], server: Redis, tmp_path: Path) -> None:
    with running(SCRAPY, worker_env, tmp_path / "log") as worker:
        until(lambda: server.hlen(keys.heartbeats("emlak")), "the first heartbeat")
        assert worker.stop() == 0


WRONG_ADDRESSES = [
    ({"REDIS_URL": "nonsense"}, "REDIS_URL is not an address of Redis"),
    ({"REDIS_URL": "redis://:secret@127.0.0.1:port/0"}, "the port is not a number"),
    ({"REDIS_URL": "sentinel://127.0.0.1:1"}, "the name of the service is missing"),
    ({"REDIS_URL": "", "REDIS_HOST": "h", "REDIS_PORT": "x"}, "REDIS_PORT is 'x'"),
    ({"SIMULATOR_URL": "nonsense"}, "SIMULATOR_URL: something like"),
    ({"BAN_RULES": "/no/such/file"}, "BAN_RULES: there is no such file"),
]


@pytest.mark.parametrize(
    ("change", "words"), WRONG_ADDRESSES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_wrong_address_is_one_line(worker_env: dict[str, str], change: dict[str, str], words: str) -> None:
    _ends_with_one_line([PYTHON, "-m", "realestate", "work", "emlak"], {**worker_env, **change}, words)


@pytest.mark.parametrize(
    ("change", "words"),
    [pytest.param(*each, marks=() if number == 1 else pytest.mark.slow) for number, each in enumerate(WRONG_ADDRESSES)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_address_is_one_line_of_scrapy_too(
    worker_env: dict[str, str], change: dict[str, str], words: str
) -> None:
    _ends_with_one_line(SCRAPY, {**worker_env, **change}, words)


def _ends_with_one_line(command: list[str], env: dict[str, str], words: str) -> None:
    done = ended(command, {**env, "LOG_LEVEL": "ERROR"})
    assert done.returncode in (1, 2), done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [["submit", "emlak"], ["pause", "emlak"], ["deadletters", "list", "emlak"]])
def test_a_cluster_that_cannot_be_reached_is_one_line(worker_env: dict[str, str], arguments: list[str]) -> None:
    env = {**worker_env, "REDIS_URL": "redis+cluster://127.0.0.1:1,127.0.0.1:2"}
    done = ended([PYTHON, "-m", "realestate", *arguments], env)
    assert done.returncode == 1
    assert done.stderr.startswith("realestate: Redis: ")
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_status_says_that_a_cluster_cannot_be_reached(worker_env: dict[str, str]) -> None:
    env = {**worker_env, "REDIS_URL": "redis+cluster://127.0.0.1:1,127.0.0.1:2"}
    done = ended([PYTHON, "-m", "realestate", "status"], env)
    assert done.returncode == 1
    assert done.stdout.startswith("Redis is not available")
    assert "Traceback" not in done.stderr


def test_a_refused_password_ends_a_worker_with_one_line(
    worker_env: dict[str, str], redis_process: RedisProcess
) -> None:
    redis_process.start()
    with Redis.from_url(redis_process.url) as client:
        client.config_set("requirepass", "right")
    url = redis_process.url.replace("redis://", "redis://:wrong@")
    done = ended([PYTHON, "-m", "realestate", "work", "emlak"], {**worker_env, "REDIS_URL": url})
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Redis refuses the login" in done.stderr
    assert "wrong@" not in done.stderr


def test_a_mistyped_list_of_start_urls_is_named(worker_env: dict[str, str], server: Redis) -> None:
    server.rpush("imoweb:start_urls", "https://www.immoweb.be/en", "https://www.immoweb.be/fr")
    server.rpush("immoweb:start_urls", "https://www.immoweb.be/en")
    server.rpush("books:start_urls", "https://books.example/")
    server.zadd(keys.jobs("books"), {"job": 1})
    sentence = "imoweb:start_urls has 2 seeds that no portal reads; immoweb:start_urls was probably meant"
    status = ended([PYTHON, "-m", "realestate", "status"], worker_env)
    assert status.returncode == 0
    assert [line for line in status.stdout.splitlines() if "start_urls" in line] == [sentence]
    as_json = ended([PYTHON, "-m", "realestate", "status", "--json"], worker_env)
    assert '"unread_start_urls": {' in as_json.stdout
    assert '"imoweb:start_urls": 2' in as_json.stdout
    doctor = ended([PYTHON, "-m", "realestate", "doctor"], worker_env)
    assert doctor.returncode == 1
    assert sentence in doctor.stdout


def test_submit_pushes_all_seeds_once_although_redis_restarts(
    worker_env: dict[str, str], redis_process: RedisProcess, tmp_path: Path
) -> None:
    redis_process.start()
    env = {**worker_env, "REDIS_URL": redis_process.url}
    with Redis.from_url(redis_process.url) as client:
        client.execute_command("CLIENT", "PAUSE", "60000", "WRITE")  # the script of `submit` waits
        with running([PYTHON, "-m", "realestate", "submit", "emlak"], env, tmp_path / "log") as submitting:
            until(lambda: _waits_for_eval(client), "the command to wait for Redis")
            redis_process.stop()
            time.sleep(0.5)
            redis_process.start()
            assert submitting.process.wait(60) == 0, submitting.text()
        seeds = client.lrange(keys.start_urls("emlak"), 0, -1)
        said = int(re.findall(r"(\d+) seeds? for emlak;", submitting.text())[0])
        assert len(seeds) == len(set(seeds)) == said > 0
        assert look(client, "emlak").seeds == said


def _waits_for_eval(client: Any) -> bool:
    return any(each["cmd"] == "eval" for each in client.client_list())
