"""Embedded services start with their first user and stop with the last one.

Starting the services costs most of the time, so tests share a start where they can.
"""

import signal
import stat
import sys
from pathlib import Path

import psycopg2
import pytest
import redis

from realestate.embedded import EmbeddedError, locks, running, services, starting
from tests.embedded.users import StartUser, alive, all_gone, answers, eventually


def test_both_services_respond_to_the_right_password_only(start_user: StartUser, folder: Path) -> None:
    user = start_user()
    assert answers(user)
    assert user.sql("SELECT current_database(), lower('ƏŞ')") == [("realestate", "əş")]
    assert stat.S_IMODE((folder / "services.json").stat().st_mode) == 0o600
    for path, mode in user.modes_above.items():
        assert path.stat().st_mode & ~stat.S_IXOTH == mode & ~stat.S_IXOTH, f"{path} was opened to other users"
    redis_url = user.found["redis_url"]
    secret = redis_url.partition(":")[2].partition("@")[0].removeprefix("//:")
    with (
        redis.Redis.from_url(redis_url.replace(secret, "wrong")) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()
    with pytest.raises(psycopg2.OperationalError, match="password"):
        psycopg2.connect(user.found["store_url"].partition("?")[0], password="wrong", sslmode="disable")


def test_a_second_user_joins_and_the_last_to_leave_stops_both(start_user: StartUser, folder: Path) -> None:
    first = start_user()
    assert first.found
    second = start_user()
    assert second.found == first.found
    first.leave()
    assert answers(second)
    second.redis("SET", "kept", "yes")
    second.sql("CREATE TABLE restarted AS SELECT 42 AS value")
    second.leave()
    assert second.process.returncode == 0
    servers = [second.pids["redis"], second.pids["store"]]
    assert not any(map(alive, servers)), "the last user waits until the servers have stopped"
    assert not (folder / "services.json").exists()
    assert eventually(lambda: all_gone(second))
    again = start_user()
    assert again.redis("GET", "kept") == "yes"
    assert again.sql("SELECT value FROM restarted") == [(42,)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_user_ended_by_a_signal_leaves_nothing_running_and_keeps_the_data(
    start_user: StartUser, folder: Path, number: signal.Signals
) -> None:
    user = start_user()
    user.redis("INCR", "signals")
    user.sql("CREATE TABLE IF NOT EXISTS signals AS SELECT 42 AS value")
    count = user.redis("GET", "signals")
    user.end(number)
    assert eventually(lambda: all_gone(user))
    assert not (folder / "services.json").exists()
    if number == signal.SIGTERM:
        again = start_user()
        assert again.pids != user.pids
        assert again.redis("GET", "signals") == count
        assert again.sql("SELECT value FROM signals") == [(42,)]


def test_ten_users_at_once_share_what_one_of_them_starts_in_a_very_deep_folder(
    start_user: StartUser, tmp_path: Path
) -> None:
    folder = tmp_path.joinpath(*["a folder with a long 'name'"] * 20)
    users = [start_user(folder) for _ in range(10)]
    assert all(user.found == users[0].found for user in users)
    assert answers(users[0])
    found = running(folder)
    assert found is not None
    assert (found.redis_url, found.store_url) == (users[0].found["redis_url"], users[0].found["store_url"])
    for user in users:
        user.leave()
    assert running(folder) is None


def test_asking_what_runs_starts_and_creates_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    assert running(folder) is None
    assert not folder.exists()


def test_services_can_start_in_the_background(folder: Path) -> None:
    with starting(folder) as ready:
        started = ready()
        assert started == ready() == running(folder)
    assert running(folder) is None


def test_a_user_that_leaves_before_they_are_ready_leaves_nothing_running(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), starting(tmp_path):
        raise KeyboardInterrupt
    assert eventually(lambda: not locks.is_taken(tmp_path / "keeper.lock"))


def test_a_failed_start_in_the_background_is_raised_where_the_services_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with starting(tmp_path) as ready, pytest.raises(EmbeddedError, match="did not start"):
        ready()


def test_a_folder_that_is_a_file_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    message = r"\Athe embedded services cannot use the folder .*\Z"
    with pytest.raises(EmbeddedError, match=message), services(tmp_path / "file"):
        pass
