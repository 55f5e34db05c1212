"""Where snapshot files are: a folder, or a bucket that speaks S3."""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, Protocol
from urllib.parse import unquote, urlsplit

from realestate.storage.snapshots import filenames
from realestate.storage.snapshots.page import SnapshotError

_CLIENT: dict[str, Any] = {
    # A bucket that does not answer is noticed soon; the files wait in the spool.
    "connect_timeout": 5,
    "read_timeout": 30,
    "retries": {"mode": "standard", "max_attempts": 3},
    # Servers other than Amazon's do not all know the newer checksums; every record has its own.
    "request_checksum_calculation": "when_required",
    "response_checksum_validation": "when_required",
}
#: What S3 deletes by one request.
_AT_ONCE = 1000

#: A file that is missing may lie on another machine, until that one uploads it.
Replaced = Literal["done", "in use", "missing"]
Change = Callable[[bytes], bytes]


class Place(Protocol):
    """Files by name; see `filenames`."""

    def names(self, portal: str | None = None) -> list[str]:
        """All, the oldest first."""

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes: ...

    def is_in_use(self, name: str) -> bool:
        """Whether a worker still writes to it."""

    def remove(self, files: Sequence[str]) -> None: ...

    def replace(self, name: str, change: Change) -> Replaced:
        """Put what `change` makes of a file in its place, wholly or not at all, and leave nothing of what it was; one
        that is empty then is removed."""


def open_place(url: str, spool: Path | None = None) -> Place:
    """Nothing is connected or created yet. `spool` is where files for a bucket are written first."""
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
    """One for each bucket and prefix: files must not end in another's."""
    return spool / url.removeprefix("s3://").strip("/")


class Folder:
    """On this machine's disk, or one it mounts."""

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
            raise SnapshotError(f"no snapshots {name} in {self.path}") from error

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
    """Behind any server that speaks S3; boto3 reads its usual variables (`AWS_ENDPOINT_URL` …).

    What is not uploaded yet is read from this machine's spool, where it has one."""

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
                answer = self._client.delete_objects(Bucket=self.bucket, Delete={"Objects": keys, "Quiet": True})
            if refused := answer.get("Errors"):
                raise SnapshotError(f"{self.url}: {len(refused)} files stay: {refused[0].get('Message')}")
        if self.spool:
            self.spool.remove(files)

    def replace(self, name: str, change: Change) -> Replaced:
        """Also what is on its way there: it would be uploaded as it was."""
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
        """A bucket that keeps versions would keep what it was."""
        named = {"Bucket": self.bucket, "Key": key}
        with self._explained():
            if body:
                now = self._client.put_object(**named, Body=body, ContentType="application/warc")
            else:
                now = self._client.delete_object(**named)
            if "VersionId" not in now:
                return
            for answer in self._client.get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=key):
                for each in (*answer.get("Versions", ()), *answer.get("DeleteMarkers", ())):
                    if each["Key"] == key and each["VersionId"] != now["VersionId"]:
                        self._client.delete_object(**named, VersionId=each["VersionId"])

    def _listed(self, prefix: str) -> Iterator[str]:
        with self._explained():
            for answer in self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix):
                yield from (each["Key"].removeprefix(self.prefix) for each in answer.get("Contents", ()))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever goes wrong on the way, in one line."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except (BotoCoreError, ClientError) as error:
            raise SnapshotError(f"{self.url}: {error}") from error


def locked(file: IO[bytes]) -> bool:
    """Take the file for ourselves, if nobody else has it; the kernel gives it free when its process ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_still(path: Path, file: IO[bytes]) -> bool:
    """The lock is of the file, not of its name: another may have removed or replaced it before we had the lock."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def fsync_folder(folder: Path) -> None:
    """The name of a new file outlives a power cut too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    if data:
        hidden = path.with_name(f".{path.name}.new")
        with hidden.open("wb") as file:
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
