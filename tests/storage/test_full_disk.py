"""A full disk is waited for like an outage: nothing is lost, nothing is stored twice. On a real small disk."""

import logging
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from realestate.embedded import poll
from realestate.storage.snapshots import Recorder, pages
from tests.postgres_process import PostgresProcess
from tests.storage.snapshots.examples import a_writer, numbered
from tests.storage.test_postgres_away import PATIENCE, any_has_gone_on, writing

SmallDisk = Callable[[int], Path]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Mount a disk of this many megabytes in memory. Skips the test where that is not possible."""
    mounted: list[Path] = []

    def mount(megabytes: int) -> Path:
        folder = tmp_path / "disk"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0711", "tmpfs", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("no full disk: this system has no `mount`")
        if done.returncode:
            pytest.skip(f"no full disk: a small disk cannot be mounted here: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Write a file until there is no room. Deleting it makes room again."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 65_536)
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 512)
    return filler


def test_a_postgres_without_room_has_what_it_acknowledged_and_nothing_twice(small_disk: SmallDisk) -> None:
    disk = small_disk(160)
    postgres = PostgresProcess(disk / "db", min_wal_size="32MB", max_wal_size="32MB", max_connections=20)
    postgres.start()
    try:
        with writing(postgres.address) as writers:
            for _ in range(2):
                before = [len(writer.acknowledged) for writer in writers]
                assert poll.until(partial(any_has_gone_on, writers, before), PATIENCE)
                failures = [writer.failures for writer in writers]
                filler = fill(disk)
                assert poll.until(
                    lambda: all(
                        writer.failures > count
                        for writer, count in zip(writers, failures, strict=True)  # noqa: B023
                    ),
                    PATIENCE,
                )
                filler.unlink()
                if postgres.has_ended():  # without room for its log it may end; an operator starts it again
                    postgres.start()
    finally:
        postgres.stop()


def test_raw_pages_wait_for_a_full_disk(small_disk: SmallDisk, caplog: pytest.LogCaptureFixture) -> None:
    disk = small_disk(4)
    caplog.set_level(logging.INFO, "realestate.storage.snapshots.recorder")
    recorder = Recorder(a_writer(disk / "raw"), waiting_bytes=1 << 30)
    filler = fill(disk)
    os.truncate(filler, filler.stat().st_size - 700_000)  # room for two pages of 300 kB
    futures = [recorder.take(numbered(number)) for number in range(6)]
    assert poll.until(lambda: "snapshot/disk_full" in caplog.text, PATIENCE)
    assert not all(future is not None and future.done() for future in futures)
    filler.unlink()
    refs = [future.result(PATIENCE) for future in futures if future is not None]
    recorder.close()
    assert [ref.ref for ref in refs] == [str(number) for number in range(6)]
    assert sorted(page.ref or "" for _, page in pages(str(disk / "raw"))) == [str(number) for number in range(6)]
    lines = [record.message for record in caplog.records]
    assert len(lines) == 2, lines
    assert "No space left on device" in lines[0]
    assert lines[1] == "snapshot/disk_full: the disk has room again"


def test_a_worker_that_stops_while_the_disk_is_full_ends(small_disk: SmallDisk) -> None:
    disk = small_disk(1)
    recorder = Recorder(a_writer(disk / "raw"), waiting_bytes=1 << 30)
    fill(disk)
    future = recorder.take(numbered(1))
    assert future is not None
    recorder.close()
    assert not recorder._thread.is_alive()
    assert not future.done(), "the page is not acknowledged: another worker fetches it again"
