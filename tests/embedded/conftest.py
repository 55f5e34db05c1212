"""The folder of the services and the processes that use them."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from realestate.embedded import locks
from tests.embedded.users import StartUser, User, eventually


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
