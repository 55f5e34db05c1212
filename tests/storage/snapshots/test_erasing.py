"""An erased page cannot be read anywhere; all other pages can."""

import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from realestate.storage.snapshots import DamagedSnapshot, Page, SnapshotError, SnapshotRef, SnapshotWriter, pages, read
from realestate.storage.snapshots.destinations import Bucket, Folder, locked, spool_of
from realestate.storage.snapshots.files import rewrite
from realestate.storage.snapshots.writer import sweep
from tests.storage.snapshots.examples import a_page

MakeWriter = Callable[..., SnapshotWriter]
SECRET = b"call +994 50 000 00 00"


def numbered(number: int) -> Page:
    body = SECRET if number == 2 else f"page {number}".encode()
    return a_page(ref=str(number), url=f"https://www.immoweb.be/en/classified/{number}", body=body)


def is_second(page: Page) -> bool:
    return page.ref == "2"


def written(writer: SnapshotWriter, count: int = 5) -> list[SnapshotRef]:
    rows = [writer.write(numbered(number)) for number in range(count)]
    writer.close()
    return rows


def bytes_below(folder: Path) -> bytes:
    """All bytes of the files: as they are, and decompressed as far as possible."""
    found = b""
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        found += data
        while (start := data.find(b"\x1f\x8b\x08")) >= 0:
            with suppress(zlib.error):
                found += zlib.decompressobj(31).decompress(data[start:])
            data = data[start + 1 :]
    return found


def test_the_page_is_gone_and_the_rows_of_the_others_are_correct(tmp_path: Path, make_writer: MakeWriter) -> None:
    before = written(make_writer(tmp_path))
    assert SECRET in bytes_below(tmp_path)
    done = rewrite(str(tmp_path), before[0].file, is_second)
    assert (done.outcome, done.erased) == ("done", 1)
    assert SECRET not in bytes_below(tmp_path)
    assert [read(str(tmp_path), row) for row in done.rows] == [numbered(number) for number in (0, 1, 3, 4)]
    assert [row for row, _ in pages(str(tmp_path))] == done.rows
    assert done.rows[:2] == before[:2]
    with pytest.raises(DamagedSnapshot):
        read(str(tmp_path), before[3])
    again = rewrite(str(tmp_path), before[0].file, is_second)
    assert (again.outcome, again.erased, again.rows) == ("done", 0, done.rows)


def test_a_file_with_only_erased_pages_is_removed(tmp_path: Path, make_writer: MakeWriter) -> None:
    (row,) = written(make_writer(tmp_path), 1)
    done = rewrite(str(tmp_path), row.file, lambda page: True)
    assert (done.outcome, done.erased, done.rows) == ("done", 1, [])
    assert Folder(tmp_path).names() == []
    assert rewrite(str(tmp_path), row.file, is_second).outcome == "missing"


def test_an_incomplete_page_is_erased_too(tmp_path: Path, make_writer: MakeWriter) -> None:
    rows = written(make_writer(tmp_path))
    path = tmp_path / rows[0].file
    whole = path.read_bytes()
    path.write_bytes(whole[: rows[4].offset] + whole[rows[2].offset : rows[2].offset + rows[2].length - 8])
    assert SECRET in bytes_below(tmp_path)
    done = rewrite(str(tmp_path), rows[0].file, is_second)
    assert [row.ref for row in done.rows] == ["0", "1", "3"]
    assert SECRET not in bytes_below(tmp_path)


def test_a_file_that_is_being_written_is_not_changed(tmp_path: Path, make_writer: MakeWriter) -> None:
    writer = make_writer(tmp_path)
    row = writer.write(numbered(2))
    writer.flush()
    assert rewrite(str(tmp_path), row.file, is_second).outcome == "in use"
    assert read(str(tmp_path), row) == numbered(2)
    writer.close()
    assert rewrite(str(tmp_path), row.file, is_second).outcome == "done"


def test_a_full_disk_leaves_the_file_unchanged(
    tmp_path: Path, make_writer: MakeWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = written(make_writer(tmp_path))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            rewrite(str(tmp_path), rows[0].file, is_second)
    assert [row for row, _ in pages(str(tmp_path))] == rows
    rewrite(str(tmp_path), rows[0].file, is_second)
    assert SECRET not in bytes_below(tmp_path), "the incomplete copy is removed too"


@pytest.mark.parametrize("name", ["../immoweb/failed/20261104T120000Z-w-1.warc.gz", "/etc/passwd", "x.warc.gz"])
def test_a_file_name_from_the_database_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(SnapshotError, match="not the name of a snapshot file"):
        rewrite(str(tmp_path), name, is_second)


# ----- in a bucket


def bytes_in(s3: Any, bucket: str, tmp_path: Path) -> bytes:
    """The bytes of all versions of all objects."""
    folder = tmp_path / "versions"
    folder.mkdir(exist_ok=True)
    for number, each in enumerate(s3.list_object_versions(Bucket=bucket).get("Versions", ())):
        version = s3.get_object(Bucket=bucket, Key=each["Key"], VersionId=each["VersionId"])
        (folder / str(number)).write_bytes(version["Body"].read())
    found = bytes_below(folder)
    for path in folder.iterdir():
        path.unlink()
    return found


@pytest.mark.parametrize("versions", [False, True], ids=["plain", "with versions"])
@pytest.mark.parametrize("left", [5, 0], ids=["others stay", "nothing stays"])
def test_a_page_is_erased_from_every_version_in_a_bucket(
    bucket: str, s3: Any, tmp_path: Path, make_writer: MakeWriter, versions: bool, left: int
) -> None:
    url = f"s3://{bucket}/raw"
    if versions:
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    rows = written(make_writer(url, spool=tmp_path))
    neighbour = make_writer(url, spool=tmp_path, worker="other")
    others = [neighbour.write(numbered(9))]
    neighbour.close()
    assert SECRET in bytes_in(s3, bucket, tmp_path)
    done = rewrite(url, rows[0].file, is_second if left else lambda page: True, spool=tmp_path)
    assert done.outcome == "done"
    assert SECRET not in bytes_in(s3, bucket, tmp_path)
    assert [row for row, _ in pages(url)] == sorted([*done.rows, *others], key=lambda row: (row.file, row.offset))
    assert rewrite(url, "immoweb/failed/20261104T120000Z-w-1.warc.gz", is_second).outcome == "missing"


def test_a_file_that_is_uploaded_later_does_not_contain_it(
    bucket: str, s3: Any, tmp_path: Path, make_writer: MakeWriter
) -> None:
    url = f"s3://{bucket}"
    rows = written(make_writer(tmp_path / "elsewhere"))
    spool = spool_of(url, tmp_path / "spool")
    (spool / rows[0].file).parent.mkdir(parents=True)
    (tmp_path / "elsewhere" / rows[0].file).rename(spool / rows[0].file)
    done = rewrite(url, rows[0].file, is_second, spool=tmp_path / "spool")
    assert (done.outcome, done.erased) == ("done", 1)
    assert sweep(Folder(spool), Bucket(url)) == 1
    assert [row for row, _ in pages(url)] == done.rows
    assert SECRET not in bytes_in(s3, bucket, tmp_path)


def test_an_upload_that_began_before_does_not_restore_it(
    bucket: str, s3: Any, tmp_path: Path, make_writer: MakeWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The upload has the file open and waits for its lock while the file is replaced."""
    url = f"s3://{bucket}"
    rows = written(make_writer(tmp_path / "elsewhere"))
    spool = spool_of(url, tmp_path / "spool")
    (spool / rows[0].file).parent.mkdir(parents=True)
    (tmp_path / "elsewhere" / rows[0].file).rename(spool / rows[0].file)

    def late(file: Any) -> bool:
        rewrite(str(spool), rows[0].file, is_second)
        return locked(file)

    with monkeypatch.context() as slow:
        slow.setattr("realestate.storage.snapshots.writer.locked", late)
        assert sweep(Folder(spool), Bucket(url)) == 0
    assert sweep(Folder(spool), Bucket(url)) == 1
    assert SECRET not in bytes_in(s3, bucket, tmp_path)
