"""Embedded services after a server, the keeper, or everything was killed."""

import os
import signal
import sys
from pathlib import Path

import pytest
import redis

from realestate.embedded import EmbeddedError, running, services
from tests.embedded.users import StartUser, alive, all_gone, answers, eventually


def test_after_a_killed_keeper_the_next_start_works_and_has_the_data(start_user: StartUser) -> None:
    user = start_user()
    user.redis("SET", "killed-keeper", "yes")
    user.sql("CREATE TABLE killed_keeper AS SELECT 42 AS value")
    os.kill(user.pids["keeper"], signal.SIGKILL)
    again = start_user()
    assert again.redis("GET", "killed-keeper") == "yes"
    assert again.sql("SELECT value FROM killed_keeper") == [(42,)]
    assert all_gone(user)
    if sys.platform == "linux":  # only Linux signals a child when its parent dies
        os.kill(again.pids["keeper"], signal.SIGKILL)
        assert eventually(lambda: all_gone(again)), "the servers outlive their killed keeper"


def test_everything_killed_at_once_starts_again(start_user: StartUser) -> None:
    user = start_user()
    user.sql("CREATE TABLE killed AS SELECT 42 AS value")
    for pid in (*user.pids.values(), user.process.pid):
        os.kill(pid, signal.SIGKILL)
    assert start_user().sql("SELECT value FROM killed") == [(42,)]


def test_a_server_that_dies_returns_at_the_same_address_and_a_stopped_keeper_stops_both(
    start_user: StartUser, folder: Path
) -> None:
    user = start_user()
    for name in ("redis", "store"):
        os.kill(user.pids[name], signal.SIGKILL)
    assert eventually(lambda: not alive(user.pids["redis"]) and not alive(user.pids["store"]))
    assert eventually(lambda: answers(user))
    now = running(folder)
    assert now is not None
    os.kill(now.keeper_pid, signal.SIGTERM)
    pids = [now.keeper_pid, now.redis.pid, now.store.pid]
    assert eventually(lambda: not any(alive(pid) for pid in pids if pid))
    assert running(folder) is None


def test_a_broken_database_is_one_clear_line_and_redis_still_works(tmp_path: Path) -> None:
    data = tmp_path / "postgres" / "data"
    data.mkdir(parents=True, mode=0o700)
    (data / "PG_VERSION").write_text("18\n")
    with services(tmp_path) as found:
        with redis.Redis.from_url(found.redis_url) as client:
            assert client.ping()
        with pytest.raises(EmbeddedError, match=r"\APostgreSQL .*\Z"):
            _ = found.store_url


def test_a_first_start_that_was_killed_is_begun_again(start_user: StartUser, tmp_path: Path) -> None:
    user = start_user(tmp_path)
    lock = tmp_path / "postgres.lock"
    assert eventually(lambda: any(tmp_path.glob("postgres.new/data/*")) and lock.read_text() != "")
    os.kill(int(lock.read_text()), signal.SIGKILL)
    assert user.failure().startswith("PostgreSQL could not be set up")
    assert answers(start_user(tmp_path))
