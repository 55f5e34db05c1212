"""Where snapshot files are: a folder, or an S3 bucket."""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, Protocol
from urllib.parse import unquote, urlsplit

from realestate.private_files import owner_only
from realestate.storage.snapshots import filenames
from realestate.storage.snapshots.page import SnapshotError

_CLIENT: dict[str, Any] = {
    # Short, because the files are safe in the spool while the bucket does not respond.
    "connect_timeout": 5,
    "read_timeout": 30,
    "retries": {"mode": "standard", "max_attempts": 3},
    # Not every S3 server supports the newer checksums. Every record has a digest anyway.
    "request_checksum_calculation": "when_required",
    "response_checksum_validation": "when_required",
}
#: The most files that S3 deletes with one request.
_AT_ONCE = 1000

#: A file that is missing may be in the spool of another machine, until that one uploads it.
Replaced = Literal["done", "in use", "missing"]
Change = Callable[[bytes], bytes]


class Place(Protocol):
    """A place with snapshot files. For their names see `filenames`."""

    def names(self, portal: str | None = None) -> list[str]:
        """The names of all files, or those of one portal, the oldest first."""

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes: ...

    def is_in_use(self, name: str) -> bool:
        """Whether a worker still writes to it."""

    def remove(self, files: Sequence[str]) -> None: ...

    def replace(self, name: str, change: Change) -> Replaced:
        """Replace the content of a file by what `change` returns for it, completely or not at all. No copy of the old
        content stays. A file that is empty then is removed."""


def open_place(url: str, spool: Path | None = None) -> Place:
    """Return the place of a URL, without connecting or creating anything. Files for a bucket are written to `spool`
    first."""
    if url.startswith("s3://"):
        return Bucket(url, Folder(spool_of(url, spool)) if spool else None)
    return Folder(folder_of(url))


def folder_of(url: str) -> Path:
    if "://" not in url:
        return Path(url)
    if url.startswith("file:///"):
        return Path(unquote(urlsplit(url).path))
    raise SnapshotError(f"SNAPSHOTS_URL begins with {url.partition(':')[0]!r}: a folder or s3://… is needed")


def spool_of(url: str, spool: Path) -> Path:
    """Return the spool folder of a bucket and prefix. Each has its folder, so that no file goes to the wrong bucket."""
    return spool / url.removeprefix("s3://").strip("/")


class Folder:
    """A folder on a disk of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self, portal: str | None = None) -> list[str]:
        found = (str(path.relative_to(self.path)) for path in self.path.glob(f"{portal or '*'}/*/*{filenames.SUFFIX}"))
        return _in_order(name for name in found if filenames.FileName.parse(name))

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        try:
            with (self.path / filenames.checked(name)).open("rb") as file:
                file.seek(offset)
                return file.read(-1 if length is None else length)
        except FileNotFoundError as error:
            raise SnapshotError(f"snapshot file {name} not found in {self.path}") from error

    def is_in_use(self, name: str) -> bool:
        try:
            with (self.path / filenames.checked(name)).open("rb") as file:
                return not locked(file)
        except FileNotFoundError:
            return False

    def remove(self, files: Sequence[str]) -> None:
        for name in files:
            (self.path / filenames.checked(name)).unlink(missing_ok=True)

    def replace(self, name: str, change: Change) -> Replaced:
        path = self.path / filenames.checked(name)
        try:
            with path.open("rb") as file:
                if not locked(file) or not is_still(path, file):
                    return "in use"
                before = file.read()
                if (after := change(before)) != before:
                    _replace(path, after)
                return "done"
        except FileNotFoundError:
            return "missing"


class Bucket:
    """A bucket on any S3 server. boto3 reads its usual environment variables (`AWS_ENDPOINT_URL` …).

    A file that is not uploaded yet is read from this machine's spool, if it is there."""

    def __init__(self, url: str, spool: Folder | None = None) -> None:
        parts = urlsplit(url)
        if not parts.netloc:
            raise SnapshotError(f"SNAPSHOTS_URL is {url!r}: s3://bucket/prefix is needed")
        self.url = url
        self.bucket = parts.netloc
        self.prefix = f"{parts.path.strip('/')}/".lstrip("/")
        self.spool = spool
        self._client = _client()

    def names(self, portal: str | None = None) -> list[str]:
        found = self._listed(self.prefix + (f"{portal}/" if portal else ""))
        waiting = self.spool.names(portal) if self.spool else []
        return _in_order({*waiting, *(name for name in found if filenames.FileName.parse(name))})

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        whole = not offset and length is None
        span = {} if whole else {"Range": f"bytes={offset}-{'' if length is None else offset + length - 1}"}
        try:
            return self._get(name, **span)
        except SnapshotError as error:
            if self.spool and self._is_missing(error):
                return self.spool.read(name, offset, length)
            raise

    def is_in_use(self, name: str) -> bool:
        return self.spool is not None and self.spool.is_in_use(name)

    def remove(self, files: Sequence[str]) -> None:
        for start in range(0, len(files), _AT_ONCE):
            keys = [{"Key": self.prefix + filenames.checked(name)} for name in files[start : start + _AT_ONCE]]
            with self._explained():
                response = self._client.delete_objects(Bucket=self.bucket, Delete={"Objects": keys, "Quiet": True})
            if refused := response.get("Errors"):
                raise SnapshotError(f"{self.url}: {len(refused)} files not deleted: {refused[0].get('Message')}")
        if self.spool:
            self.spool.remove(files)

    def replace(self, name: str, change: Change) -> Replaced:
        """Replace the file in the bucket, and first in the spool: the old content would be uploaded later."""
        waiting = self.spool.replace(name, change) if self.spool else "missing"
        if waiting == "in use":
            return "in use"
        try:
            before = self._get(name)
        except SnapshotError as error:
            if self._is_missing(error):
                return waiting
            raise
        if (after := change(before)) != before:
            self._replace(self.prefix + name, after)
        return "done"

    def put(self, name: str, file: IO[bytes]) -> None:
        key = self.prefix + filenames.checked(name)
        with self._explained():
            self._client.put_object(Bucket=self.bucket, Key=key, Body=file, ContentType="application/warc")

    def _get(self, name: str, **span: str) -> bytes:
        key = self.prefix + filenames.checked(name)
        with self._explained():
            body: bytes = self._client.get_object(Bucket=self.bucket, Key=key, **span)["Body"].read()
            return body

    def _is_missing(self, error: SnapshotError) -> bool:
        return isinstance(error.__cause__, self._client.exceptions.NoSuchKey)

    def _replace(self, key: str, body: bytes) -> None:
        """Replace or delete the object, and delete its older versions if the bucket keeps versions."""
        named = {"Bucket": self.bucket, "Key": key}
        with self._explained():
            if body:
                now = self._client.put_object(**named, Body=body, ContentType="application/warc")
            else:
                now = self._client.delete_object(**named)
            if "VersionId" not in now:
                return
            for page in self._client.get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=key):
                for each in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
                    if each["Key"] == key and each["VersionId"] != now["VersionId"]:
                        self._client.delete_object(**named, VersionId=each["VersionId"])

    def _listed(self, prefix: str) -> Iterator[str]:
        with self._explained():
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix):
                yield from (each["Key"].removeprefix(self.prefix) for each in page.get("Contents", ()))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of boto3 into SnapshotError with a message of one line."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except (BotoCoreError, ClientError) as error:
            raise SnapshotError(f"{self.url}: {error}") from error


def locked(file: IO[bytes]) -> bool:
    """Lock the file, and return whether that succeeded. The kernel releases the lock when the process ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_still(path: Path, file: IO[bytes]) -> bool:
    """Whether the path still names this file. Another process may have removed or replaced the file before it was
    locked."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def fsync_folder(folder: Path) -> None:
    """Write the folder to the disk, so that the name of a new file survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    if data:
        hidden = path.with_name(f".{path.name}.new")
        with open(hidden, "wb", opener=owner_only) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(path)
    else:
        path.unlink()
    fsync_folder(path.parent)


def _in_order(found: Iterable[str]) -> list[str]:
    return sorted(found, key=lambda name: (name.rpartition("/")[2], name))


def _client() -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise SnapshotError("SNAPSHOTS_URL: s3:// needs boto3: pip install 'realestate[s3]'") from error
    return boto3.client("s3", config=Config(**_CLIENT))
