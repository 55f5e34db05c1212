"""Files of raw pages: written pages are complete and found again, also when the writer is killed."""

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from realestate.storage.snapshots import DamagedSnapshot, Page, SnapshotError, SnapshotRef, SnapshotWriter, pages, read
from realestate.storage.snapshots.filenames import FileName
from tests.storage.snapshots.examples import NOON, a_page, numbered

MakeWriter = Callable[..., SnapshotWriter]
ROOT = Path(__file__).parents[3]
WRITE_FOR_EVER = [sys.executable, "-m", "tests.storage.snapshots.examples"]


class Clock:
    """A clock that only moves when a test moves it."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def all_of(folder: Path) -> list[tuple[SnapshotRef, Page]]:
    return list(pages(str(folder)))


def test_a_page_can_be_read_by_its_row_at_once(tmp_path: Path, make_writer: MakeWriter) -> None:
    writer = make_writer(tmp_path)
    kept = [a_page(ref=str(number), body=bytes([number]) * 100) for number in range(5)]
    rows = [writer.write(page) for page in kept]
    assert [read(str(tmp_path), row) for row in rows] == kept, "the file is still open"
    assert all_of(tmp_path) == list(zip(rows, kept, strict=True))
    assert [row.offset for row in rows] == [sum(row.length for row in rows[:number]) for number in range(5)]
    writer.close()
    assert all_of(tmp_path) == list(zip(rows, kept, strict=True))


def test_a_row_has_no_content_of_the_page(tmp_path: Path, make_writer: MakeWriter) -> None:
    row = make_writer(tmp_path).write(a_page())
    assert (row.portal, row.ref, row.stage, row.job, row.kind, row.status, row.fetched_at) == (
        *("immoweb", "21000001", "extract", "j1", "failed", 200),
        NOON,
    )
    assert row.digest.startswith("sha1:")
    assert not hasattr(row, "body")
    assert not hasattr(row, "hints")


def test_a_login_of_an_address_is_in_neither_row_nor_file(tmp_path: Path, make_writer: MakeWriter) -> None:
    writer = make_writer(tmp_path)
    row = writer.write(a_page(url="https://me:s3cr3t@x.example/a"))
    assert row.url == read(str(tmp_path), row).url == "https://x.example/a"


def test_each_portal_and_kind_has_its_own_file(tmp_path: Path, make_writer: MakeWriter) -> None:
    writer = make_writer(tmp_path)
    for portal in ("immoweb", "emlak"):
        for kind in ("failed", "sampled", "all"):
            writer.write(a_page(portal=portal, kind=kind))
    names = {FileName.parse(row.file) for row, _ in all_of(tmp_path)}
    assert {(name.portal, name.kind) for name in names if name} == {
        (portal, kind) for portal in ("immoweb", "emlak") for kind in ("failed", "sampled", "all")
    }
    assert [row.portal for row, _ in pages(str(tmp_path), "emlak", kinds=["failed"])] == ["emlak"]


def test_a_file_ends_when_it_is_large(tmp_path: Path, make_writer: MakeWriter) -> None:
    writer = make_writer(tmp_path, max_bytes=1_000_000)
    rows = [writer.write(numbered(number)) for number in range(8)]
    files = [row.file for row in rows]
    assert len(set(files)) == 2
    assert files == sorted(files)
    assert [page for _, page in all_of(tmp_path)] == [numbered(number) for number in range(8)]


def test_a_file_ends_when_it_is_old_even_if_no_page_comes(tmp_path: Path, make_writer: MakeWriter) -> None:
    clock = Clock()
    writer = make_writer(tmp_path, max_seconds=60, clock=clock)
    first = writer.write(a_page())
    clock.now += timedelta(seconds=59)
    assert writer.write(a_page()).file == first.file
    clock.now += timedelta(seconds=1)
    second = writer.write(a_page())
    assert second.file > first.file
    clock.now += timedelta(seconds=60)
    writer.rotate()
    assert not writer._open


def test_pages_since_a_time(tmp_path: Path, make_writer: MakeWriter) -> None:
    clock = Clock()
    writer = make_writer(tmp_path, clock=clock)
    for hour in range(0, 100, 10):
        clock.now = NOON + timedelta(hours=hour)
        writer.write(a_page(fetched_at=clock.now, ref=str(hour)))
    found = [row.ref for row, _ in pages(str(tmp_path), "immoweb", since=NOON + timedelta(hours=70))]
    assert found == ["70", "80", "90"]


def test_two_workers_write_to_different_files(tmp_path: Path, make_writer: MakeWriter) -> None:
    one, two = make_writer(tmp_path, worker="host:1:aaa"), make_writer(tmp_path, worker="host:1:bbb")
    rows = [writer.write(numbered(number)) for number in range(10) for writer in (one, two)]
    assert len({row.file for row in rows}) == 2 * len({row.file for row in rows if "aaa" in row.file})
    assert sorted(rows, key=str) == sorted((row for row, _ in all_of(tmp_path)), key=str)
    assert [read(str(tmp_path), row).ref for row in rows] == [row.ref for row in rows]


def killed_while_writing(url: str, spool: Path, after: int) -> list[SnapshotRef]:
    """Kill a process after at least this many rows, and return the rows that it printed before."""
    process = subprocess.Popen([*WRITE_FOR_EVER, url, str(spool)], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    lines += process.stdout.readlines()
    process.stdout.close()
    rows = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [SnapshotRef(**{**row, "fetched_at": NOON}) for row in rows]


@pytest.mark.parametrize("after", [1, 2, 5, 9])
def test_kill_9_loses_no_page_whose_row_was_printed(tmp_path: Path, after: int) -> None:
    rows = killed_while_writing(str(tmp_path), tmp_path, after)
    assert len(rows) >= after
    for number, row in enumerate(rows):
        assert read(str(tmp_path), row) == numbered(number)
    found = all_of(tmp_path)
    assert [row for row, _ in found][: len(rows)] == rows
    assert [page for _, page in found] == [numbered(number) for number in range(len(found))], "no incomplete page"


def test_a_worker_does_not_append_to_the_file_of_a_dead_one(tmp_path: Path, make_writer: MakeWriter) -> None:
    rows = killed_while_writing(str(tmp_path), tmp_path, 1)
    (file,) = {row.file for row in rows}
    with (tmp_path / file).open("ab") as half:
        half.write(b"\x1f\x8b\x08 half a record")
    after = make_writer(tmp_path).write(a_page())
    assert after.file != file
    assert [row for row, _ in all_of(tmp_path) if row.file == after.file] == [after]


FULL_DISK = """
import resource, sys
from tests.storage.snapshots.examples import a_writer, numbered, as_json
writer = a_writer(sys.argv[1], max_bytes=1 << 30)
for number in range(20):
    if number == 3:  # the fourth page finds room for half of it
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
    if number == 5:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    try:
        print(as_json(writer.write(numbered(number))), flush=True)
    except OSError as error:
        print(f"refused {number}", flush=True)
writer.close()
"""


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_FSIZE)[1] != resource.RLIM_INFINITY, reason="a limit is set")
def test_a_full_disk_loses_only_the_page_that_did_not_fit(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("refused")] == ["refused 3", "refused 4"]
    rows = [json.loads(line) for line in lines if not line.startswith("refused")]
    found = all_of(tmp_path)
    assert [row.ref for row, _ in found] == [row["ref"] for row in rows]
    assert [row.offset for row, _ in found] == [row["offset"] for row in rows]
    assert [page for _, page in found] == [numbered(number) for number in range(20) if number not in (3, 4)]


def test_a_row_for_another_page_is_noticed(tmp_path: Path, make_writer: MakeWriter) -> None:
    writer = make_writer(tmp_path)
    row, other = writer.write(a_page()), writer.write(a_page(body=b"other"))
    mixed = SnapshotRef.of(a_page(), row.file, other.offset, other.length)
    with pytest.raises(DamagedSnapshot, match="not the page of its index row"):
        read(str(tmp_path), mixed)


@pytest.mark.parametrize(
    "file",
    [
        *("../secret.warc.gz", "/etc/passwd", "immoweb/failed/../../../x.warc.gz", "..", "immoweb/other/x.warc.gz"),
        *("../failed/20261104T120000Z-w-1.warc.gz", "a/failed/20269904T120000Z-w-1.warc.gz", ""),
    ],
)
def test_a_row_cannot_leave_the_folder(tmp_path: Path, file: str) -> None:
    row = SnapshotRef.of(a_page(), file, 0, 10)
    with pytest.raises(SnapshotError, match="not the name of a snapshot file"):
        read(str(tmp_path), row)


def test_a_missing_file_is_one_line_of_error(tmp_path: Path) -> None:
    row = SnapshotRef.of(a_page(), "immoweb/failed/20261104T120000Z-w-1.warc.gz", 0, 10)
    with pytest.raises(SnapshotError, match="snapshot file immoweb/failed/20261104T120000Z-w-1"):
        read(str(tmp_path), row)


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path, make_writer: MakeWriter) -> None:
    make_writer(tmp_path).write(a_page())
    for name in ("immoweb/failed/notes.txt", "immoweb/failed/x.warc.gz", "README"):
        (tmp_path / name).write_text("mine")
    assert len(all_of(tmp_path)) == 1


@pytest.mark.parametrize("url", ["https://x.example/a", "ftp://x", "gs://bucket"])
def test_an_address_of_another_kind_is_one_line_of_error(url: str, make_writer: MakeWriter) -> None:
    with pytest.raises(SnapshotError, match="SNAPSHOTS_URL begins with"):
        make_writer(url)


def test_a_folder_may_be_given_as_a_url(tmp_path: Path, make_writer: MakeWriter) -> None:
    folder = tmp_path / "a b"
    row = make_writer(folder.as_uri()).write(a_page())
    assert read(str(folder), row) == a_page()
