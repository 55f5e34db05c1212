"""Tests of the PostgreSQL process that other tests stop and kill."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg2
import pytest

from realestate.embedded import poll
from tests.postgres_process import Pair, PostgresProcess


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[PostgresProcess]:
    process = PostgresProcess(tmp_path)
    process.start()
    yield process
    process.stop()


def lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_killed_server_starts_again_at_the_same_address_with_all_committed_data(
    postgres: PostgresProcess,
) -> None:
    address = postgres.address
    postgres.ask("CREATE TABLE kept (n integer)")
    postgres.ask("INSERT INTO kept VALUES (1)")
    assert postgres.process is not None
    running = psutil.Process(postgres.process.pid).children()
    assert running
    with postgres.session() as open_session:
        postgres.kill()
        with pytest.raises(psycopg2.OperationalError):
            open_session.execute("SELECT 1")
    assert poll.until(lambda: not any(map(lives, running)), 30)
    with pytest.raises(psycopg2.OperationalError):
        postgres.ask("SELECT 1")
    postgres.start()
    assert postgres.address == address
    assert postgres.ask("SELECT n FROM kept") == [(1,)]


def test_changed_settings_apply_after_a_restart(postgres: PostgresProcess) -> None:
    postgres.change(max_connections=7)
    postgres.restart()
    assert postgres.ask("SHOW max_connections") == [("7",)]
    assert postgres.ask("SHOW timezone") == [("UTC",)]


def test_a_synchronous_standby_has_all_acknowledged_writes_and_takes_over(tmp_path: Path) -> None:
    with Pair.running(tmp_path) as pair:
        pair.primary.ask("CREATE TABLE kept (n integer)")
        for number in range(50):
            pair.primary.ask("INSERT INTO kept VALUES (%s)", number)
        pair.primary.kill()
        with pytest.raises(psycopg2.OperationalError):
            psycopg2.connect(pair.address)
        pair.standby.promote()
        connection = psycopg2.connect(pair.address)
        with connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO kept VALUES (50)")
            cursor.execute("SELECT count(*) FROM kept")
            assert cursor.fetchone() == (51,)
        connection.close()
