"""The Redis users of docker/redis/users.acl: each role can do its work, and nothing else."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient
from redis import Redis
from redis.exceptions import NoPermissionError

from realestate.demo.truth import compare_stored
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.queue.connection import connect_blocking
from realestate.queue.dead_letters import DeadLetters
from realestate.storage import open_store
from realestate.storage.postgres import PostgresStore
from realestate.web.app import create_app
from realestate.web.keys import new_key, read_keys
from realestate.web.pages.operations import with_queue
from tests.end_to_end.conftest import Simulate, shared_simulators, simulate
from tests.redis_process import RedisProcess

__all__ = ["shared_simulators", "simulate"]

ROOT = Path(__file__).parents[2]
USERS = (ROOT / "docker" / "redis" / "users.acl").read_text("utf-8")
ROLES = re.findall(r"^user (\w+) ", USERS, re.MULTILINE)
LoginAs = Callable[[str], str]


@pytest.fixture
def login_as(tmp_path: Path) -> Iterator[LoginAs]:
    """A Redis with our users. Returns the address for a role; its password is the role's name."""
    lines = [line for line in USERS.splitlines() if line and not line.startswith("#")]
    for role in ROLES:
        total = sha256(role.encode()).hexdigest()
        lines = [line.replace(f" #{role.upper()} ", f" #{total} ") for line in lines]
    (tmp_path / "users.acl").write_text("\n".join(lines) + "\n", "utf-8")
    process = RedisProcess(tmp_path, ["--aclfile", str(tmp_path / "users.acl")], "default:default")
    process.start()
    host = urlsplit(process.url).netloc
    yield lambda role: f"redis://{role}:{role}@{host}/0"
    process.stop()


def refusals(url: str) -> list[str]:
    """What Redis refused. CLIENT is what redis-py says of itself; it goes on without it."""
    with Redis.from_url(url, decode_responses=True) as server:
        entries = [
            (entry["username"], entry["reason"], entry["object"].partition("|")[0]) for entry in server.acl_log()
        ]
        return [" ".join(entry) for entry in entries if entry[2] != "client"]


def run_command(words: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "realestate", *words]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=240)


def test_a_whole_crawl_needs_no_more_than_a_worker_may_do(
    login_as: LoginAs, store: PostgresStore, store_url: str, simulate: Simulate, tmp_path: Path
) -> None:
    simulator = simulate(60).url
    env = {
        "REDIS_URL": login_as("worker"),
        "STORE_URL": store_url,
        "SIMULATOR_URL": simulator,
        "REALESTATE_HOME": str(tmp_path / "home"),
    }
    with connect_blocking(login_as("timetable")) as server:
        submit(server, "immoweb", seed_urls("immoweb", simulator))
        submit(server, "emlak", seed_urls("emlak", simulator))
    worked = run_command(["work", "immoweb", "emlak", "--until-done"], env)
    assert worked.returncode == 0, worked.stderr
    assert refusals(login_as("default")) == []
    for portal in ("immoweb", "emlak"):
        assert compare_stored(store, simulator, portal).right
    for words in (["pause", "emlak", "--reason", "x"], ["resume", "emlak"], ["deadletters", "list", "emlak"]):
        assert run_command(words, env).returncode == 0
    # A job is cancelled while it waits: the timetable may cancel (`overlap = "replace"`); workers remove its requests.
    submitted = run_command(["submit", "immoweb", "--json"], env)
    assert submitted.returncode == 0, submitted.stderr
    cancelled = json.loads(submitted.stdout)["job"]
    as_timetable = {**env, "REDIS_URL": login_as("timetable")}
    assert run_command(["jobs", "cancel", cancelled], as_timetable).returncode == 0
    assert run_command(["work", "immoweb", "--until-done"], env).returncode == 0
    status = run_command(["status"], {**env, "REDIS_URL": login_as("exporter")})
    assert refusals(login_as("default")) == []
    assert status.returncode == 0, status.stdout
    assert refusals(login_as("default")) == []


def test_the_pages_need_no_more_than_web_may_do(login_as: LoginAs, store: PostgresStore, store_url: str) -> None:
    url = login_as("web")
    key, entry = new_key("test", "operate")
    app = create_app(lambda: open_store(store_url), url, api_keys=read_keys(entry), rate_limit="1000/minute")
    with TestClient(app, headers={"authorization": f"Bearer {key}"}) as client:
        answer = client.post("/api/v1/jobs", json={"portal": "immoweb"})
        assert answer.status_code in (200, 201, 202), answer.text
        job = answer.json()["job"]
        for path in ("jobs", f"jobs/{job}", "deadletters/immoweb", "portals"):
            assert client.get(f"/api/v1/{path}").status_code == 200, path
        cancelled = client.post(f"/api/v1/jobs/{job}/cancel")
        assert cancelled.status_code == 200, refusals(login_as("default"))
        assert client.get("/").status_code in (200, 303)

    async def act() -> None:
        await with_queue(url, "immoweb", lambda queue: queue.pause("test", "test"))
        await with_queue(url, "immoweb", lambda queue: queue.resume())
        await with_queue(url, "immoweb", lambda queue: DeadLetters(queue).newest(5))
        await with_queue(url, "immoweb", lambda queue: DeadLetters(queue).replay([bytes(16)], 1))
        await with_queue(url, "immoweb", lambda queue: DeadLetters(queue).drop([bytes(16)]))

    asyncio.run(act())
    assert refusals(login_as("default")) == []


def test_the_rate_limit_of_a_key_holds_after_its_first_window(
    login_as: LoginAs, store: PostgresStore, store_url: str
) -> None:
    """Then the count of one window becomes that of the one before. If Redis refused that, there would be no limit."""
    key, entry = new_key("test", "read")
    app = create_app(lambda: open_store(store_url), login_as("web"), api_keys=read_keys(entry), rate_limit="100/second")
    with TestClient(app, headers={"authorization": f"Bearer {key}"}) as client:
        for _ in range(3):
            assert client.get("/api/v1/portals").status_code == 200
            time.sleep(1.1)
    assert refusals(login_as("default")) == []


def test_no_role_may_use_a_command_that_nobody_uses() -> None:
    """Not the exporter: other programs log in as it too."""
    lua = "".join(path.read_text("utf-8") for path in (ROOT / "realestate").rglob("*.lua"))
    python = "".join(path.read_text("utf-8") for path in (ROOT / "realestate").rglob("*.py"))
    # A short script may be in a Python file.
    used = {name.lower() for name in re.findall(r"redis\.p?call\(\s*['\"](\w+)", lua + python)}
    used |= {name.removesuffix("_iter") for name in re.findall(r"\.(\w+)\(", python)}
    # Logins, transactions and scripts as the client sends them; `zrange` backwards is ZREVRANGE.
    of_client = {"auth", "hello", "client|setname", "select", "multi", "exec", "discard", "evalsha", "script|load"}
    of_client |= {"zrevrange"}
    of_rate_limit = {"pttl", "rename"}
    for role, commands in re.findall(r"^user (worker|timetable|web) .* -@all (.*)$", USERS, re.MULTILINE):
        granted = {word.removeprefix("+") for word in commands.split()}
        assert granted - used - of_client - (of_rate_limit if role == "web" else set()) == set(), role


def test_the_watch_and_the_exporter_only_read(login_as: LoginAs, store: PostgresStore, store_url: str) -> None:
    with connect_blocking(login_as("timetable")) as server:
        submit(server, "immoweb", ["https://www.immoweb.be/en/search-results/house/for-sale?countries=BE&page=1"])
    env = {"REDIS_URL": login_as("exporter"), "STORE_URL": store_url}
    assert run_command(["watch", "--once"], env).returncode == 0
    watched = run_command(["health", "--role", "watch"], env)
    assert watched.returncode == 0, watched.stdout
    assert refusals(login_as("default")) == []


@pytest.mark.parametrize("role", [role for role in ROLES if role != "default"])
@pytest.mark.parametrize(
    "command",
    [
        "FLUSHALL",
        "CONFIG SET dir /tmp",
        "SHUTDOWN NOSAVE",
        "REPLICAOF 127.0.0.1 1",
        "MODULE LIST",
        "DEBUG SLEEP 0",
        "ACL LIST",
        "KEYS *",
        "GET other:program",
        "SET other:program 1",
        "EVAL return(redis.call('GET','other:program')) 0",
    ],
)
def test_no_role_reaches_what_it_does_not_need(login_as: LoginAs, role: str, command: str) -> None:
    with Redis.from_url(login_as(role)) as server, pytest.raises(Exception, match=r"(?i)permission|ACL|access"):
        server.execute_command(*command.split(" "))


def test_the_exporter_changes_nothing(login_as: LoginAs) -> None:
    with Redis.from_url(login_as("exporter")) as server:
        for command in ("DEL {immoweb}:ready", "LPUSH immoweb:start_urls x", "HSET {immoweb}:rate_limit paused 1"):
            with pytest.raises(NoPermissionError):
                server.execute_command(*command.split(" "))


def test_without_a_login_nothing_is_allowed(login_as: LoginAs) -> None:
    anonymous = login_as("worker").replace("worker:worker@", "")
    with Redis.from_url(anonymous) as server, pytest.raises(Exception, match=r"(?i)authentica"):
        server.ping()
