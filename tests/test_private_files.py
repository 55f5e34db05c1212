"""Files and folders that only their owner can read."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from realestate import embedded
from realestate.jobs import local
from realestate.private_files import owner_only, private_folder
from realestate.storage.snapshots import SnapshotWriter, open_place
from tests.storage.snapshots.examples import a_page


@pytest.fixture(autouse=True)
def _generous() -> Iterator[None]:
    """A process that lets everybody read its files."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder: Path) -> dict[str, int]:
    """The modes of everything below the folder that others can use."""
    return {str(path.relative_to(folder)): mode(path) for path in folder.rglob("*") if mode(path) & 0o077}


def test_new_folders_are_private_and_existing_ones_stay_as_they_are(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    private_folder(tmp_path / "a/b")
    assert (mode(tmp_path / "a"), mode(tmp_path / "a/b"), mode(tmp_path)) == (0o700, 0o700, 0o755)
    private_folder(tmp_path / "a/b")
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        private_folder(tmp_path / "file")


def test_a_file_that_exists_becomes_private(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.touch(0o666)
    with open(file, "ab", opener=owner_only):
        assert mode(file) == 0o600


def test_raw_pages_are_private(tmp_path: Path) -> None:
    home = tmp_path / "raw"
    writer = SnapshotWriter(str(home), worker="w", max_bytes=1000, max_seconds=60)
    ref = writer.write(a_page())
    writer.close()
    assert mode(home) == 0o700
    assert modes(home) == {}
    open_place(str(home)).replace(ref.file, lambda before: before + b"\n")
    assert modes(home) == {}


def test_logs_of_local_workers_are_private(tmp_path: Path) -> None:
    logs = tmp_path / "home/logs"
    (worker,) = local.start_workers(["no such portal"], 1, dict(os.environ), logs)
    worker.wait(60)
    assert mode(logs / "worker-1.log") == 0o600
    assert (mode(logs), mode(logs.parent)) == (0o700, 0o700)


def test_the_folder_of_embedded_services_is_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with embedded.services(home) as services:
        assert services.store_url
        assert mode(home) & 0o077 in (0, 0o011 & mode(home)), "at most others may pass through, for PostgreSQL as root"
        found = {path.name: mode(path) for path in home.iterdir()}
        assert found["services.json"] == 0o600
        assert {name: each for name, each in found.items() if name.endswith(".log") and each != 0o600} == {}
        assert mode(home / "postgres/data") == 0o700
        assert mode(home / "redis") == 0o700
