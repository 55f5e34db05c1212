"""Which server programs are used on a machine that has several or none."""

from pathlib import Path

import pytest

from realestate.embedded import EmbeddedError, Service, postgres_available, redis_server_binary
from realestate.embedded.binaries import postgres_binaries


def redis_saying(folder: Path, words: str) -> Path:
    program = folder / "redis-server"
    program.write_text(f"#!/bin/sh\necho '{words}'\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("words", ["Redis server v=6.2.0 sha=0", "Valkey server v=8.1.3 sha=0"])
def test_the_redis_on_the_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    program = redis_saying(tmp_path, words)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis_server_binary() == program


@pytest.mark.parametrize("words", ["Redis server v=6.0.16 sha=0", "something else"])
def test_a_redis_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    program = redis_saying(tmp_path, words)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis_server_binary() != program


def test_postgres_comes_with_the_wheel() -> None:
    assert postgres_available()
    assert postgres_binaries("18") == postgres_binaries()


def test_data_of_another_postgres_are_not_opened_with_the_wrong_programs() -> None:
    assert postgres_binaries("9") is None


def test_a_service_that_is_not_there_says_why() -> None:
    with pytest.raises(EmbeddedError, match="no redis-server"):
        Service(error="no redis-server").required_url()
