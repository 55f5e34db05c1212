"""Embedded services with real servers, real processes that use them, and real signals.

Starting the services costs most of the time, so tests share a start where they can.
"""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import redis

from realestate.embedded import EmbeddedError, locks, poll, running, services, starting

PROJECT = Path(__file__).parents[2]


class User:
    """A process that uses the services of a folder."""

    def __init__(self, folder: Path) -> None:
        self.modes_above = {path: path.stat().st_mode for path in folder.parents if path.exists()}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.embedded.user", folder],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._found: dict[str, Any] = {}

    @property
    def found(self) -> dict[str, Any]:
        """The URLs and process ids of its services. Waits until it has them."""
        if not self._found:
            assert self.process.stdout
            line = self.process.stdout.readline()
            assert line, self.failure()
            self._found = json.loads(line)
        return self._found

    @property
    def pids(self) -> dict[str, int]:
        pids: dict[str, int] = self.found["pids"]
        return pids

    def failure(self) -> str:
        """Its error when it got no services."""
        return self.process.communicate(timeout=60)[1].strip()

    def leave(self) -> None:
        self.process.communicate(timeout=60)

    def end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.leave()

    def redis(self, command: str, *arguments: str) -> Any:
        with redis.Redis.from_url(self.found["redis_url"], decode_responses=True) as client:
            return client.execute_command(command, *arguments)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        connection = psycopg2.connect(self.found["store_url"])
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()


StartUser = Callable[..., User]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all tests: whatever a test did to it, the next one must be able to start there."""
    return tmp_path_factory.mktemp("services") / ".realestate"


@pytest.fixture
def start_user(folder: Path) -> Iterator[StartUser]:
    users: list[User] = []
    folders = set()

    def start(at: Path = folder) -> User:
        folders.add(at)
        users.append(User(at))
        return users[-1]

    yield start
    for user in users:
        if user.process.returncode is None:
            user.end(signal.SIGKILL)
    assert eventually(lambda: not any(locks.is_taken(at / "keeper.lock") for at in folders))


def eventually(condition: Callable[[], bool]) -> bool:
    return poll.until(condition, 30)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with suppress(FileNotFoundError, ProcessLookupError):
        # a zombie has ended
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return not Path("/proc/self/stat").exists()


def all_gone(user: User) -> bool:
    return not any(alive(pid) for pid in user.pids.values())


def answers(user: User) -> bool:
    try:
        return bool(user.redis("PING")) and user.sql("SELECT 1") == [(1,)]
    except (redis.ConnectionError, psycopg2.OperationalError):
        return False


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
    second.leave()
    assert second.process.returncode == 0
    servers = [second.pids["redis"], second.pids["store"]]
    assert not any(map(alive, servers)), "the last user waits until the servers have stopped"
    assert not (folder / "services.json").exists()
    assert eventually(lambda: all_gone(second))


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


def test_a_broken_database_is_one_clear_line_and_redis_still_works(tmp_path: Path) -> None:
    data = tmp_path / "postgres" / "data"
    data.mkdir(parents=True, mode=0o700)
    (data / "PG_VERSION").write_text("18\n")
    with services(tmp_path) as found:
        with redis.Redis.from_url(found.redis_url) as client:
            assert client.ping()
        with pytest.raises(EmbeddedError, match=r"\APostgreSQL .*\Z"):
            _ = found.store_url


def test_services_can_start_in_the_background(folder: Path) -> None:
    with starting(folder) as ready:
        started = ready()
        assert started == ready() == running(folder)
    assert running(folder) is None


def test_a_user_that_leaves_before_they_are_ready_leaves_nothing_running(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt), starting(folder):
        raise KeyboardInterrupt
    assert eventually(lambda: not locks.is_taken(folder / "keeper.lock"))


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


def test_a_first_start_that_was_killed_is_begun_again(start_user: StartUser, tmp_path: Path) -> None:
    user = start_user(tmp_path)
    lock = tmp_path / "postgres.lock"
    assert eventually(lambda: any(tmp_path.glob("postgres.new/data/*")) and lock.read_text() != "")
    os.kill(int(lock.read_text()), signal.SIGKILL)
    assert user.failure().startswith("PostgreSQL could not be set up")
    assert answers(start_user(tmp_path))
