"""Raw pages in a bucket, over a real S3 API: every page arrives although uploads fail or workers are killed."""

import builtins
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer

from realestate.storage.snapshots import SnapshotError, SnapshotRef, SnapshotWriter, open_place, pages, prune, read
from realestate.storage.snapshots.destinations import Bucket, Folder, spool_of
from realestate.storage.snapshots.writer import sweep
from tests.storage.snapshots.examples import NOON, a_page, a_writer, numbered
from tests.storage.snapshots.test_writer import Clock, killed_while_writing

MakeWriter = Callable[..., SnapshotWriter]
PATIENCE = 60.0


def until(true: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"still waiting for {what}"
        time.sleep(0.02)


@pytest.fixture(params=["", "/raw/pages", "/raw/pages/"])
def url(bucket: str, request: pytest.FixtureRequest) -> str:
    return f"s3://{bucket}{request.param}"


def test_the_pages_of_a_closed_writer_are_in_the_bucket(url: str, tmp_path: Path, make_writer: MakeWriter) -> None:
    writer = make_writer(url, spool=tmp_path)
    kept = [a_page(ref=str(number)) for number in range(5)]
    rows = [writer.write(page) for page in kept]
    writer.close()
    assert [read(url, row) for row in rows] == kept
    assert list(pages(url, "immoweb")) == list(zip(rows, kept, strict=True))
    assert not Folder(tmp_path).names()
    assert not list(tmp_path.rglob("*.warc.gz"))


def test_keys_begin_with_the_prefix_and_one_page_is_one_range(
    bucket: str, s3: Any, tmp_path: Path, make_writer: MakeWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{bucket}/raw"
    writer = make_writer(url, spool=tmp_path)
    rows = [writer.write(numbered(number)) for number in range(3)]
    writer.close()
    listed = s3.list_objects_v2(Bucket=bucket)["Contents"]
    assert [each["Key"] for each in listed] == [f"raw/{rows[0].file}"]
    fetched: list[int] = []
    whole = Bucket.read

    def counted(self: Bucket, *arguments: Any) -> bytes:
        fetched.append(len(data := whole(self, *arguments)))
        return data

    monkeypatch.setattr(Bucket, "read", counted)
    assert read(url, rows[1]) == numbered(1)
    assert fetched == [rows[1].length]


def test_a_page_that_is_not_uploaded_yet_is_read_from_the_spool(
    bucket: str, tmp_path: Path, make_writer: MakeWriter
) -> None:
    url = f"s3://{bucket}"
    row = make_writer(url, spool=tmp_path).write(a_page())
    assert read(url, row, spool=tmp_path) == a_page()
    assert list(pages(url, spool=tmp_path)) == [(row, a_page())]
    with pytest.raises(SnapshotError, match="NoSuchKey"):
        read(url, row)


def test_a_large_or_old_file_is_uploaded_at_once(bucket: str, tmp_path: Path, make_writer: MakeWriter) -> None:
    url, clock = f"s3://{bucket}", Clock()
    writer = make_writer(url, spool=tmp_path, max_bytes=500_000, max_seconds=60, clock=clock)
    for number in range(3):
        writer.write(numbered(number))
    until(lambda: len(list(pages(url))) == 2, "the full file")
    clock.now += timedelta(seconds=60)
    writer.rotate()
    until(lambda: len(list(pages(url))) == 3, "the old file")
    assert [page for _, page in pages(url)] == [numbered(number) for number in range(3)]


def test_files_of_a_killed_worker_are_uploaded_by_the_next(
    bucket: str, tmp_path: Path, make_writer: MakeWriter
) -> None:
    url = f"s3://{bucket}/raw"
    rows = killed_while_writing(url, tmp_path, 4)
    assert not list(pages(url)), "no file was large or old enough"
    make_writer(url, spool=tmp_path)
    until(lambda: len(list(pages(url))) >= len(rows), "the dead worker's file")
    for number, row in enumerate(rows):
        assert read(url, row) == numbered(number)
    until(lambda: not list(tmp_path.rglob("*.warc.gz")), "the spool to be empty")


def test_a_file_that_is_written_to_is_not_uploaded(bucket: str, tmp_path: Path, make_writer: MakeWriter) -> None:
    url = f"s3://{bucket}"
    row = make_writer(url, spool=tmp_path).write(a_page())
    assert sweep(Folder(spool_of(url, tmp_path)), Bucket(url)) == 0
    assert not list(pages(url))
    assert read(url, row, spool=tmp_path) == a_page()


def test_two_workers_on_one_machine_upload_each_file_once(
    bucket: str, s3: Any, tmp_path: Path, make_writer: MakeWriter
) -> None:
    url = f"s3://{bucket}"
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    writers = [make_writer(url, spool=tmp_path, max_bytes=1, worker=f"host:{number}") for number in range(2)]
    rows = [writer.write(numbered(number)) for number in range(10) for writer in writers]
    for writer in writers:
        writer.close()
    assert [read(url, row).ref for row in rows] == [row.ref for row in rows]
    versions = s3.list_object_versions(Bucket=bucket)["Versions"]
    assert sorted(each["Key"] for each in versions) == sorted({row.file for row in rows})


def test_a_bucket_gets_its_files_after_an_outage(tmp_path: Path, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    url, spool = "s3://pages-away", Folder(spool_of("s3://pages-away", tmp_path))
    monkeypatch.setattr("realestate.storage.snapshots.destinations._CLIENT", {"retries": {"total_max_attempts": 1}})
    writer = a_writer(url, spool=tmp_path)
    row = writer.write(a_page())
    writer.close()
    assert read(str(spool.path), row) == a_page(), "the file stays in the spool"
    with pytest.raises(SnapshotError, match="s3://pages-away"):
        sweep(spool, Bucket(url))
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    back = Bucket(url)
    back._client.create_bucket(Bucket="pages-away", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    assert sweep(spool, back) == 1
    assert read(url, row) == a_page()
    server.stop()


def test_an_empty_file_is_not_uploaded(bucket: str, tmp_path: Path) -> None:
    url = f"s3://{bucket}"
    empty = spool_of(url, tmp_path) / "immoweb/failed/20261104T120000Z-w-0001.warc.gz"
    empty.parent.mkdir(parents=True)
    empty.touch()
    assert sweep(Folder(spool_of(url, tmp_path)), Bucket(url)) == 0
    assert not empty.exists()
    assert not open_place(url).names()


def test_old_files_are_removed_from_the_bucket(bucket: str, tmp_path: Path, make_writer: MakeWriter) -> None:
    url, clock = f"s3://{bucket}/raw", Clock()
    writer = make_writer(url, spool=tmp_path, max_seconds=60, clock=clock)
    rows = []
    for day in range(4):
        clock.now = NOON + timedelta(days=day)
        rows.append(writer.write(a_page(fetched_at=clock.now)))
    writer.close()
    forgotten: list[str] = []
    removed = prune(url, {"failed": 2}, NOON + timedelta(days=3, hours=1), drop_rows=forgotten.extend, spool=tmp_path)
    assert removed == forgotten == [rows[0].file, rows[1].file]
    assert [row for row, _ in pages(url)] == rows[2:]


def test_more_files_than_s3_deletes_at_once(bucket: str, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realestate.storage.snapshots.destinations._AT_ONCE", 2)
    names = [f"immoweb/sampled/20261104T12000{n}Z-w-0001.warc.gz" for n in range(5)]
    for name in [*names, "somebody/elses.gz"]:
        s3.put_object(Bucket=bucket, Key=name, Body=b"x")
    assert open_place(f"s3://{bucket}").names() == names
    assert prune(f"s3://{bucket}", {"sampled": 1}, NOON + timedelta(days=3)) == names
    assert [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["somebody/elses.gz"]


def test_a_missing_bucket_is_one_line_of_error(s3: Any) -> None:
    row = SnapshotRef.of(a_page(), "immoweb/failed/20261104T120000Z-w-1.warc.gz", 0, 10)
    with pytest.raises(SnapshotError, match=r"s3://no-such-bucket: .*NoSuchBucket"):
        read("s3://no-such-bucket", row)
    with pytest.raises(SnapshotError, match="NoSuchBucket"):
        list(pages("s3://no-such-bucket"))
    with pytest.raises(SnapshotError, match="s3://bucket/prefix is needed"):
        open_place("s3:///prefix")


def test_without_boto3_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "boto3":
            raise ImportError(name)
        return imported(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SnapshotError, match=r"pip install 'realestate\[s3\]'"):
        open_place("s3://bucket")
