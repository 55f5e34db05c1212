"""`realestate status` as an operator meets it: at 80 columns, in a pipe, with a server away, and `--watch`."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from typer.testing import CliRunner, Result

from realestate import settings
from realestate.cli import app
from realestate.jobs.work import portals
from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import dead_letter
from realestate.queue.request_queue import QueueSettings, RequestQueue

#: Nothing listens there.
NOBODY = "127.0.0.1:1"
IDS = ("5f0c1d2e3a4b5c6d", "5f99aaaaaaaaaaaa", "77aaaaaaaaaaaaaa")


@pytest.fixture(autouse=True)
def _addresses(monkeypatch: pytest.MonkeyPatch, redis_url: str, server: Redis, store_url: str) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", redis_url)
    monkeypatch.setattr(settings, "STORE_URL", store_url)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def on_queue(redis_url: str, portal: str, act: Any) -> Any:
    async def run_it() -> Any:
        connection = connect_to(redis_url)
        try:
            return await act(RequestQueue(connection, portal, QueueSettings()))
        finally:
            await connection.aclose()

    return asyncio.run(run_it())


def fill(server: Redis, redis_url: str) -> None:
    """Two processes at work, one portal paused, some proxies."""
    now = int(server.time()[0])
    beat = {"pages": 1_234_567, "stored": 1_000_000, "pages_per_second": 12.5, "active_at": now - 90}
    for portal in ("immoweb", "onthemarket"):
        server.hset(keys.heartbeats(portal), f"a-rather-long-host-name:4711:{portal[:6]}", json.dumps(beat))
        server.set(keys.last_heartbeat(portal), now * 1000)
    server.hset(keys.heartbeats("immoweb"), "other:12:abcdef", "{}")
    for name, condition in (("p1", "healthy"), ("p2", "healthy"), ("p3", "banned")):
        server.hset(keys.proxies("immoweb"), name, json.dumps({"condition": condition}))
    on_queue(redis_url, "immoweb", lambda queue: queue.pause("new layout", "ops@desk"))


def test_at_80_columns_every_name_is_whole_and_every_line_fits(server: Redis, redis_url: str) -> None:
    fill(server, redis_url)
    env = {**os.environ, "REDIS_URL": redis_url, "STORE_URL": str(settings.STORE_URL), "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-m", "realestate", "status"], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout
    table, workers, *_ = done.stdout.split("\n\n")
    assert [line.split()[0] for line in table.splitlines()[1:]] == portals()
    assert max(map(len, table.splitlines())) <= 80, table
    assert max(map(len, workers.splitlines())) <= 80, workers
    assert "a-rather-long-host-name:4711" in workers
    assert "other:12" in workers


def test_a_pause_has_its_reason_and_its_owner_and_proxies_their_health(server: Redis, redis_url: str) -> None:
    fill(server, redis_url)
    text = run("status").stdout
    assert re.search(r"paused since 20\d\d-\d\d-\d\d \d\d:\d\d UTC by ops@desk: new layout", text)
    assert "by ops@desk: new layout; `realestate resume immoweb` starts it again" in text
    assert "immoweb: proxies: 1 banned, 2 healthy" in text
    found = json.loads(run("status", "--json").stdout)
    immoweb = found["portals"]["immoweb"]
    assert (immoweb["paused"]["reason"], immoweb["paused"]["by"], immoweb["paused"]["until"]) == (
        "new layout",
        "ops@desk",
        None,
    )
    assert immoweb["proxies"] == {"healthy": 2, "banned": 1}
    assert immoweb["pages_per_second"] == 12.5
    process = found["workers"]["a-rather-long-host-name:4711"]
    assert (process["portals"], process["pages_per_second"]) == (2, 25.0)
    (line,) = (line for line in text.splitlines() if line.startswith("immoweb "))
    assert line.split()[-5:] == ["0", "12.5", "2", "m", "paused"]


def test_without_workers_it_says_since_when(server: Redis) -> None:
    server.set(keys.last_heartbeat("tap"), 1_700_000_000_000)
    assert "no worker runs since 2023-11-1" in run("status").stdout


def test_with_the_database_down_it_says_so_and_shows_the_queues(
    monkeypatch: pytest.MonkeyPatch, server: Redis, redis_url: str
) -> None:
    fill(server, redis_url)
    monkeypatch.setattr(settings, "STORE_URL", f"postgresql://u:geheim@{NOBODY}/x")
    done = run("status")
    assert done.exit_code == 1
    assert "The database is not available: " in done.stdout
    assert "geheim" not in done.stdout
    assert "a-rather-long-host-name:4711" in done.stdout
    found = json.loads(run("status", "--json").stdout)
    assert not found["store"]["available"]
    assert found["portals"]["immoweb"]["listings"] is None
    assert found["portals"]["immoweb"]["workers"] == 2


def test_with_redis_down_it_says_so_and_shows_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", f"redis://:geheim@{NOBODY}/0")
    done = run("status")
    assert done.exit_code == 1
    assert "Redis is not available: " in done.stdout
    assert "geheim" not in done.stdout
    assert [line.split() for line in done.stdout.splitlines() if line.startswith("tap")] == [["tap", "0"]]
    found = json.loads(run("status", "--json").stdout)
    assert not found["redis"]["available"]
    assert found["portals"]["tap"] == {"listings": 0, "quarantined": 0}


def test_watch_shows_it_again_until_ctrl_c(redis_url: str, tmp_path: Path) -> None:
    env = {**os.environ, "REDIS_URL": redis_url, "STORE_URL": str(settings.STORE_URL), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "realestate", "status", "--watch"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        times = 0
        for line in process.stdout:
            times += line.startswith("portal ")
            if times == 2:
                process.send_signal(signal.SIGINT)
                break
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


def test_dead_letters_are_found_by_the_beginning_of_their_ids_and_are_never_cut(redis_url: str) -> None:
    url = "https://www.immoweb.be/en/classified/" + 200 * "x"
    text = dead_letter("http", "status 500", url=url, job="9c8b7a")

    async def add(queue: RequestQueue) -> None:
        for id in IDS:
            await queue.add_dead_letter(bytes.fromhex(id), text)

    on_queue(redis_url, "immoweb", add)
    listed = run("deadletters", "list", "immoweb", "--job", "9c8").stdout
    assert all(id in listed for id in IDS)
    assert listed.count(url) == len(IDS)
    assert "…" not in listed
    assert json.loads(run("deadletters", "show", "immoweb", "5f0").stdout)[0]["id"] == IDS[0]
    assert "'5f' fits 2 ids" in str(run("deadletters", "show", "immoweb", "5f").exception)
    assert "there is no dead letter of immoweb with the id '00'" in str(
        run("deadletters", "drop", "immoweb", "00").exception
    )
    assert run("deadletters", "drop", "immoweb", "77", "--dry-run").stdout == "would drop 1 of immoweb\n"
    assert run("deadletters", "drop", "immoweb", "77", "5f9").stdout == "dropped 2 of immoweb\n"
    assert [each["id"] for each in json.loads(run("deadletters", "list", "immoweb", "--json").stdout)] == [IDS[0]]
