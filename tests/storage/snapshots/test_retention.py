from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from realestate.storage.snapshots import KINDS, SnapshotWriter, pages, prune
from tests.storage.snapshots.examples import NOON, a_page
from tests.storage.snapshots.test_writer import Clock

MakeWriter = Callable[..., SnapshotWriter]


@pytest.fixture
def folder(tmp_path: Path, make_writer: MakeWriter) -> str:
    """A folder with one page of each kind per day, for ten days."""
    clock = Clock()
    writer = make_writer(tmp_path, max_seconds=60, clock=clock)
    for day in range(10):
        clock.now = NOON + timedelta(days=day)
        for kind in KINDS:
            writer.write(a_page(kind=kind, fetched_at=clock.now, ref=f"{kind} {day}"))
    writer.close()
    return str(tmp_path)


def kept(folder: str, kind: str) -> list[int]:
    return [int(row.ref.split()[1]) for row, _ in pages(folder) if row.kind == kind and row.ref]


def test_each_kind_is_kept_for_its_own_days(folder: str) -> None:
    removed = prune(folder, {"failed": 8, "sampled": 3.5}, NOON + timedelta(days=9, hours=1))
    assert kept(folder, "failed") == [2, 3, 4, 5, 6, 7, 8, 9]
    assert kept(folder, "sampled") == [6, 7, 8, 9]
    assert kept(folder, "all") == list(range(10)), "a kind without a limit is kept forever"
    assert len(removed) == 2 + 6
    assert prune(folder, {"failed": 8, "sampled": 3.5}, NOON + timedelta(days=9, hours=1)) == []


def test_rows_are_dropped_before_their_files_are_removed(folder: str) -> None:
    seen: list[int] = []

    def forget(files: object) -> None:
        seen.append(len(kept(folder, "failed")))
        raise ConnectionError("the database is away")

    with pytest.raises(ConnectionError):
        prune(folder, {"failed": 1}, NOON + timedelta(days=9), drop_rows=forget)
    assert seen == [10]
    assert len(kept(folder, "failed")) == 10, "the next call finds them again"


def test_a_file_that_is_being_written_stays(tmp_path: Path, make_writer: MakeWriter) -> None:
    clock = Clock()
    writer = make_writer(tmp_path, clock=clock)
    row = writer.write(a_page())
    later = NOON + timedelta(days=30)
    assert prune(str(tmp_path), {"failed": 0}, later) == []
    assert writer.write(a_page()).file == row.file
    writer.close()
    assert prune(str(tmp_path), {"failed": 0}, later) == [row.file]
    assert not list(pages(str(tmp_path)))


def test_a_missing_folder_has_nothing_to_remove(tmp_path: Path) -> None:
    assert prune(str(tmp_path / "never"), dict.fromkeys(KINDS, 0), NOON) == []
