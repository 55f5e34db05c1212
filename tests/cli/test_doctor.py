"""The doctor warns of a Redis or a database that will fail later, and of clocks that differ."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from redis import Redis
from typer.testing import CliRunner, Result

from realestate import doctor, settings
from realestate.cli import app
from realestate.storage.store import ServerState
from tests.redis_process import RedisProcess


@pytest.fixture
def redis(redis_process: RedisProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[Redis]:
    redis_process.start()
    monkeypatch.setattr(settings, "REDIS_URL", redis_process.url)
    monkeypatch.setattr(settings, "STORE_URL", None)
    with Redis.from_url(redis_process.url) as server:
        server.config_set("appendonly", "no")
        server.config_set("save", "3600 1")
        yield server


def run() -> Result:
    return CliRunner().invoke(app, ["doctor"])


def warnings() -> list[str]:
    return [f"{each.what}: {each.found}" for each in doctor.examine() if each.is_warning]


def test_a_redis_that_keeps_its_data_gets_no_warning(redis: Redis) -> None:
    assert warnings() == []


def test_a_redis_without_persistence_is_a_warning_and_no_fault(redis: Redis) -> None:
    redis.config_set("save", "")
    (warning,) = warnings()
    assert "keeps nothing on disk" in warning
    done = run()
    assert done.exit_code == 0, done.stdout
    assert "WARN Redis    it keeps nothing on disk" in done.stdout
    assert "-> set `appendonly yes`" in done.stdout
    redis.config_set("save", "3600 1")
    assert warnings() == []


def test_a_redis_that_deletes_keys_is_a_warning(redis: Redis) -> None:
    redis.config_set("maxmemory-policy", "allkeys-lru")
    assert warnings() == [], "without a limit it deletes nothing"
    redis.config_set("maxmemory", 500_000_000)
    (warning,) = warnings()
    assert "maxmemory-policy is allkeys-lru" in warning


@pytest.mark.parametrize(("free", "expected"), [(3, 1), (90, 0), (None, 0)])
def test_too_few_connections_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, store_url: str, free: int | None, expected: int
) -> None:
    _played(monkeypatch, store_url, ServerState(datetime.now(UTC), free))
    found = warnings()
    assert len(found) == expected
    assert all("3 connections are free; a worker needs up to " in warning for warning in found)


def test_a_clock_that_differs_is_a_warning(monkeypatch: pytest.MonkeyPatch, store_url: str) -> None:
    _played(monkeypatch, store_url, ServerState(datetime.fromtimestamp(time.time() - 120, UTC)))
    (warning,) = warnings()
    assert warning.startswith("clock: the clock of the database is 120 s behind")


def _played(monkeypatch: pytest.MonkeyPatch, store_url: str, state: ServerState) -> None:
    class Played:
        def server_state(self) -> ServerState:
            return state

        def counts(self) -> dict[str, Any]:
            return {}

        def close(self) -> None: ...

    monkeypatch.setattr(settings, "REDIS_URL", None)
    monkeypatch.setattr(settings, "STORE_URL", store_url)
    monkeypatch.setattr(doctor, "open_store", lambda url: Played())
