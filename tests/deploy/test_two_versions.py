"""An upgrade of a running fleet: workers of an older commit and of today share one Redis and one store."""

import io
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from redis import Redis

from realestate.demo.truth import compare_stored
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.queue import keys
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import Simulate, shared_simulators, simulate

__all__ = ["shared_simulators", "simulate"]

ROOT = Path(__file__).parents[2]
#: The commit before the deployment of this version was made.
OLD = "dd48687c37f25ecb62c3141098b5d8b14be7dad6"
PORTALS = ("immoweb", "emlak")
LISTINGS = 300


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The files of the old commit. Skips the test in a clone without its history."""
    packed = subprocess.run(["git", "archive", OLD, "realestate", "scrapy.cfg"], cwd=ROOT, capture_output=True)
    if packed.returncode != 0:
        pytest.skip(f"the history has no commit {OLD[:7]}")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(tmp_path / "old", filter="data")
    return tmp_path / "old"


@contextmanager
def worker(folder: Path, env: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker whose code is in the folder."""
    command = [sys.executable, "-m", "realestate", "work", *PORTALS, "--until-done"]
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **env, "PYTHONPATH": str(folder)}, stdout=file, stderr=file
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(60)


def workers_seen(server: Redis) -> set[bytes]:
    names: set[bytes] = set()
    for portal in PORTALS:
        found: Any = server.hkeys(keys.heartbeats(portal))
        names.update(found)
    return names


def listings_stored(store_url: str) -> int:
    """0 as long as there are no tables."""
    with closing(psycopg2.connect(store_url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('listings') IS NOT NULL")
        if not cursor.fetchone()[0]:  # type: ignore[index]
            return 0
        cursor.execute("SELECT count(*) FROM listings")
        return int(cursor.fetchone()[0])  # type: ignore[index]


@pytest.mark.empty_database
@pytest.mark.slow  # a crawl by two workers
def test_a_fleet_is_upgraded_while_it_crawls(
    old: Path, server: Redis, redis_url: str, store_url: str, simulate: Simulate, tmp_path: Path
) -> None:
    """Workers of the old version crawl; then one of today joins, and migrates the tables below them."""
    simulator = simulate(LISTINGS).url
    env = {"REDIS_URL": redis_url, "STORE_URL": store_url, "SIMULATOR_URL": simulator, "RATE_LIMIT": "5"}
    logs = {"old": tmp_path / "old.log", "new": tmp_path / "new.log"}
    for portal in PORTALS:
        submit(server, portal, seed_urls(portal, simulator))
    with worker(old, {**env, "REALESTATE_HOME": str(tmp_path / "a")}, logs["old"]) as first:
        until(lambda: listings_stored(store_url) > 20 or first.poll() is not None, 120)
        assert first.poll() is None, logs["old"].read_text("utf-8", "replace")[-2000:]
        with worker(ROOT, {**env, "REALESTATE_HOME": str(tmp_path / "b")}, logs["new"]) as second:
            until(lambda: both_work(server) or second.poll() is not None, 120)
            assert both_work(server), logs["new"].read_text("utf-8", "replace")[-2000:]
            until(lambda: None not in (first.poll(), second.poll()), 200)
            text = "\n".join(f"{name}: {log.read_text('utf-8', 'replace')[-1500:]}" for name, log in logs.items())
            assert (first.poll(), second.poll()) == (0, 0), text
    with closing(PostgresStore(store_url)) as store:
        for portal in PORTALS:
            found = compare_stored(store, simulator, portal)
            assert found.right, (portal, found)


def both_work(server: Redis) -> bool:
    return len({name.rpartition(b":")[0] for name in workers_seen(server)}) == 2


def until(true: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not true():
        time.sleep(0.2)
