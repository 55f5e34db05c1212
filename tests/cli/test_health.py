"""`realestate health --role`: the health check of each container."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from redis import Redis

from realestate.monitoring.endpoint import Endpoint, Ready
from realestate.storage.postgres import PostgresStore
from tests.redis_fleet import free_port

NOWHERE = {"REDIS_URL": "redis://127.0.0.1:1/0", "STORE_URL": "postgresql://x:y@127.0.0.1:1/x"}


def health(role: str, env: dict[str, str]) -> tuple[int, dict[str, bool]]:
    """The exit code, and for each part whether it is healthy."""
    command = [sys.executable, "-m", "realestate", "health", "--role", role, "--json"]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=120)
    parts = json.loads(done.stdout)["parts"] if done.stdout else []
    return done.returncode, {part["name"]: part["is_healthy"] for part in parts}


@pytest.fixture
def env(redis_url: str, server: Redis, store_url: str, store: PostgresStore, tmp_path: Path) -> dict[str, str]:
    return {"REDIS_URL": redis_url, "STORE_URL": store_url, "REALESTATE_HOME": str(tmp_path)}


def test_a_worker_is_healthy_while_it_serves_a_portal(env: dict[str, str]) -> None:
    serving = [False]
    endpoint = Endpoint.start(free_port(), "127.0.0.1", CollectorRegistry(), lambda: Ready(serving[0]))
    assert endpoint is not None
    env["METRICS_PORT"] = str(endpoint.port)
    try:
        assert health("worker", env) == (1, {"worker": False, "redis": True, "store": True})
        serving[0] = True
        assert health("worker", env) == (0, {"worker": True, "redis": True, "store": True})
        assert health("worker", env | NOWHERE) == (1, {"worker": True, "redis": False, "store": False})
    finally:
        endpoint.stop()
    assert health("worker", env) == (1, {"worker": False, "redis": True, "store": True})


def test_a_health_check_loads_no_spider(env: dict[str, str]) -> None:
    """It runs every minute in each container: with all spiders it would take several times as long."""
    code = (
        "import sys; from realestate.cli.role_health import Role, parts_of_role; parts_of_role(Role('worker'));"
        "assert not {'scrapy.crawler', 'realestate.crawling', 'realestate.spiders'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, check=True, timeout=120)


def test_the_timetable_is_healthy_while_it_reaches_its_servers(env: dict[str, str]) -> None:
    assert health("timetable", env) == (0, {"redis": True, "store": True})
    assert health("timetable", NOWHERE) == (1, {"redis": False, "store": False})


def test_a_server_that_does_not_respond_is_not_healthy() -> None:
    port = free_port()
    assert health("exporter", {**NOWHERE, "METRICS_PORT": str(port)}) == (1, {"exporter": False})


def test_an_unknown_role_is_a_wrong_argument() -> None:
    command = [sys.executable, "-m", "realestate", "health", "--role", "wrong"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "realestate: --role 'wrong': the roles are worker, timetable, watch, web, exporter\n"
