"""Real servers, real processes that use them, real signals."""

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
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.embedded.user", folder],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._told: dict[str, Any] = {}

    @property
    def told(self) -> dict[str, Any]:
        """What it was given; waits until it has it."""
        if not self._told:
            assert self.process.stdout
            line = self.process.stdout.readline()
            assert line, self.failure()
            self._told = json.loads(line)
        return self._told

    @property
    def pids(self) -> dict[str, int]:
        pids: dict[str, int] = self.told["pids"]
        return pids

    def failure(self) -> str:
        """Its last words when it was given nothing."""
        return self.process.communicate(timeout=60)[1].strip()

    def leave(self) -> None:
        self.process.communicate(timeout=60)

    def end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.leave()

    def redis(self, command: str, *arguments: str) -> Any:
        with redis.Redis.from_url(self.told["redis_url"], decode_responses=True) as client:
            return client.execute_command(command, *arguments)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        connection = psycopg2.connect(self.told["store_url"])
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()


StartUser = Callable[..., User]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all: whatever a test did to it, the next must be able to start there."""
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
        # one whose parent has not collected it yet has ended all the same
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return not Path("/proc/self/stat").exists()


def all_gone(user: User) -> bool:
    return not any(alive(pid) for pid in user.pids.values())


def answers(user: User) -> bool:
    try:
        return bool(user.redis("PING")) and user.sql("SELECT 1") == [(1,)]
    except (redis.ConnectionError, psycopg2.OperationalError):
        return False


def test_both_services_answer(start_user: StartUser, folder: Path) -> None:
    user = start_user()
    assert answers(user)
    assert user.sql("SELECT current_database(), lower('ƏŞ')") == [("realestate", "əş")]
    assert stat.S_IMODE((folder / "services.json").stat().st_mode) == 0o600


def test_nobody_gets_in_without_the_password(start_user: StartUser) -> None:
    user = start_user()
    secret = user.told["redis_url"].partition(":")[2].partition("@")[0].removeprefix("//:")
    with (
        redis.Redis.from_url(user.told["redis_url"].replace(secret, "wrong")) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()
    with pytest.raises(psycopg2.OperationalError, match="password"):
        psycopg2.connect(user.told["store_url"].partition("?")[0], password="wrong", sslmode="disable")


def test_a_second_user_joins_and_the_last_to_leave_stops_both(start_user: StartUser, folder: Path) -> None:
    first = start_user()
    assert first.told
    second = start_user()
    assert second.told == first.told
    first.leave()
    assert answers(second)
    second.leave()
    assert second.process.returncode == 0
    servers = [second.pids["redis"], second.pids["store"]]
    assert not any(map(alive, servers)), "a user that leaves last sees them stopped"
    assert not (folder / "services.json").exists()
    assert eventually(lambda: all_gone(second))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_user_ended_by_a_signal_leaves_nothing_running(
    start_user: StartUser, folder: Path, number: signal.Signals
) -> None:
    user = start_user()
    assert answers(user)
    user.end(number)
    assert eventually(lambda: all_gone(user))
    assert not (folder / "services.json").exists()


def test_data_survive_a_restart(start_user: StartUser) -> None:
    user = start_user()
    user.redis("SET", "kept", "yes")
    user.sql("CREATE TABLE restarted AS SELECT 42 AS answer")
    user.leave()
    again = start_user()
    assert again.pids != user.pids
    assert again.redis("GET", "kept") == "yes"
    assert again.sql("SELECT answer FROM restarted") == [(42,)]


def test_after_a_killed_keeper_the_next_start_works_and_has_the_data(start_user: StartUser) -> None:
    user = start_user()
    user.redis("SET", "unkept", "yes")
    user.sql("CREATE TABLE unkept AS SELECT 42 AS answer")
    os.kill(user.pids["keeper"], signal.SIGKILL)
    again = start_user()
    assert again.redis("GET", "unkept") == "yes"
    assert again.sql("SELECT answer FROM unkept") == [(42,)]
    assert all_gone(user)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_the_servers_do_not_outlive_a_killed_keeper(start_user: StartUser) -> None:
    user = start_user()
    os.kill(user.pids["keeper"], signal.SIGKILL)
    assert eventually(lambda: all_gone(user))


def test_everything_killed_at_once_starts_again(start_user: StartUser) -> None:
    user = start_user()
    user.sql("CREATE TABLE killed AS SELECT 42 AS answer")
    for pid in (*user.pids.values(), user.process.pid):
        os.kill(pid, signal.SIGKILL)
    assert start_user().sql("SELECT answer FROM killed") == [(42,)]


def test_a_keeper_told_to_stop_stops_both(start_user: StartUser, folder: Path) -> None:
    user = start_user()
    os.kill(user.pids["keeper"], signal.SIGTERM)
    assert eventually(lambda: all_gone(user))
    assert running(folder) is None


def test_a_server_that_dies_comes_back_at_the_same_address(start_user: StartUser) -> None:
    user = start_user()
    for name in ("redis", "store"):
        os.kill(user.pids[name], signal.SIGKILL)
    assert eventually(lambda: not alive(user.pids["redis"]) and not alive(user.pids["store"]))
    assert eventually(lambda: answers(user))


def test_ten_users_at_once_share_what_one_of_them_starts(start_user: StartUser, tmp_path: Path) -> None:
    users = [start_user(tmp_path / "fresh") for _ in range(10)]
    assert all(user.told == users[0].told for user in users)


def test_a_very_deep_folder_is_fine(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["a folder with a long 'name'"] * 20)
    with services(folder) as found:
        connection = psycopg2.connect(found.store_url)
        connection.close()
        assert running(folder) == found
    assert running(folder) is None


def test_the_folders_above_are_not_opened_to_others(start_user: StartUser, folder: Path) -> None:
    above = list(folder.parents)
    before = [path.stat().st_mode & ~stat.S_IXOTH for path in above]
    assert answers(start_user())
    assert [path.stat().st_mode & ~stat.S_IXOTH for path in above] == before


def test_asking_what_runs_starts_and_creates_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    assert running(folder) is None
    assert not folder.exists()


def test_a_broken_database_is_one_clear_line_and_redis_still_serves(tmp_path: Path) -> None:
    data = tmp_path / "postgres" / "data"
    data.mkdir(parents=True, mode=0o700)
    (data / "PG_VERSION").write_text("18\n")
    with services(tmp_path) as found:
        with redis.Redis.from_url(found.redis_url) as client:
            assert client.ping()
        with pytest.raises(EmbeddedError, match=r"\APostgreSQL .*\Z"):
            _ = found.store_url


def test_who_need_not_have_them_at_once_waits_when_they_are_called_for(folder: Path) -> None:
    with starting(folder) as ready:
        started = ready()
        assert started == ready() == running(folder)
    assert running(folder) is None


def test_who_leaves_before_they_are_ready_leaves_nothing_running(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), starting(tmp_path):
        raise KeyboardInterrupt
    assert eventually(lambda: not locks.is_taken(tmp_path / "keeper.lock"))


def test_what_keeps_them_from_starting_is_told_to_who_calls_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with starting(tmp_path) as ready, pytest.raises(EmbeddedError, match="did not start"):
        ready()


def test_a_folder_that_is_a_file_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedError, match=r"\Ano services can be kept in .*\Z"), services(tmp_path / "file"):
        pass


def test_a_first_start_killed_half_way_is_begun_afresh(start_user: StartUser, tmp_path: Path) -> None:
    user = start_user(tmp_path)
    lock = tmp_path / "postgres.lock"
    assert eventually(lambda: any(tmp_path.glob("postgres.new/data/*")) and lock.read_text() != "")
    os.kill(int(lock.read_text()), signal.SIGKILL)
    assert user.failure().startswith("PostgreSQL could not be set up")
    assert answers(start_user(tmp_path))
