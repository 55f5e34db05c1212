"""The crawl never waits for the disk, and a page that failed is never dropped."""

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from realestate.storage.snapshots import Page, Recorder, SnapshotError, SnapshotRef, pages, read
from tests.storage.snapshots.examples import a_page, a_writer

PATIENCE = 60.0


class Slow:
    """A disk that writes nothing until the test allows it."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.written: list[Page] = []
        self.flushes = 0
        self.flushed = 0
        self.broken = False

    def write(self, page: Page) -> SnapshotRef:
        assert self.go.wait(PATIENCE)
        if page.body == b"poison":
            raise ValueError("what a page")
        self.written.append(page)
        return SnapshotRef.of(page, "immoweb/failed/20261104T120000Z-w-1.warc.gz", len(self.written), 1)

    def flush(self) -> None:
        if self.broken:
            raise OSError(5, "Input/output error")
        self.flushes += 1
        self.flushed = len(self.written)

    def rotate(self) -> None: ...

    def close(self) -> None: ...


def recorder(disk: Any, waiting_bytes: int = 100_000) -> Recorder:
    return Recorder(disk, waiting_bytes=waiting_bytes)


def taken(future: "Future[SnapshotRef] | None") -> "Future[SnapshotRef]":
    assert future is not None
    return future


def test_pages_are_written_and_their_rows_returned(tmp_path: Path) -> None:
    writing = recorder(a_writer(tmp_path))
    kept = [a_page(ref=str(number)) for number in range(20)]
    futures = [taken(writing.take(page)) for page in kept]
    rows = [future.result(PATIENCE) for future in futures]
    assert [read(str(tmp_path), row) for row in rows] == kept
    writing.close()
    assert [row for row, _ in pages(str(tmp_path))] == rows


def test_a_slow_disk_drops_sampled_pages_and_no_failed_page() -> None:
    disk = Slow()
    writing = recorder(disk)
    sampled = [writing.take(a_page(kind="sampled", body=b"x" * 30_000)) for _ in range(10)]
    assert [future is not None for future in sampled] == [True] * 3 + [False] * 7
    failed = [taken(writing.take(a_page(kind="failed", body=b"x" * 30_000))) for _ in range(10)]
    disk.go.set()
    assert all(future.result(PATIENCE) for future in failed)
    assert len(disk.written) == 13
    assert writing.take(a_page(kind="all", body=b"x" * 30_000)) is not None, "there is room again"
    writing.close()


def test_empty_pages_count_towards_the_limit_too() -> None:
    disk = Slow()
    writing = recorder(disk)
    refused = [writing.take(a_page(kind="sampled", body=b"")) for _ in range(1000)].count(None)
    assert refused > 900
    disk.go.set()
    writing.close()


def test_a_row_is_returned_after_fsync_and_many_pages_share_one_fsync() -> None:
    disk = Slow()
    writing = recorder(disk, 10**9)
    futures = [taken(writing.take(a_page())) for _ in range(50)]
    futures[-1].add_done_callback(lambda future: seen.append((disk.flushed, len(disk.written))))
    seen: list[tuple[int, int]] = []
    disk.go.set()
    futures[-1].result(PATIENCE)
    assert seen == [(50, 50)]
    assert disk.flushes <= 3
    writing.close()


def test_a_page_that_cannot_be_written_does_not_affect_the_next() -> None:
    disk = Slow()
    disk.go.set()
    writing = recorder(disk)
    poison, good = taken(writing.take(a_page(body=b"poison"))), taken(writing.take(a_page()))
    with pytest.raises(SnapshotError, match="ValueError: what a page"):
        poison.result(PATIENCE)
    assert good.result(PATIENCE)
    disk.broken = True
    with pytest.raises(SnapshotError, match="Input/output error"):
        taken(writing.take(a_page())).result(PATIENCE)
    disk.broken = False
    assert taken(writing.take(a_page())).result(PATIENCE)
    writing.close()


def test_closing_waits_for_pages_that_were_accepted() -> None:
    disk = Slow()
    writing = recorder(disk)
    futures = [taken(writing.take(a_page())) for _ in range(30)]
    threading.Timer(0.05, disk.go.set).start()
    writing.close()
    assert all(future.done() for future in futures)


def test_a_cancelled_wait_does_not_stop_the_writing() -> None:
    disk = Slow()
    writing = recorder(disk)
    future = taken(writing.take(a_page()))
    assert not future.cancel()
    disk.go.set()
    assert future.result(PATIENCE)
    writing.close()


def test_a_folder_that_cannot_be_written_is_an_error_of_each_page(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    writing = recorder(a_writer(tmp_path / "file"))
    with pytest.raises(SnapshotError, match="NotADirectoryError"):
        taken(writing.take(a_page())).result(PATIENCE)
    writing.close()
