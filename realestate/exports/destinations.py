"""Where an export goes: a file, the standard output, or a bucket. A file gets its final name when it is complete."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile
from typing import IO, Any, Protocol
from urllib.parse import urlsplit

from realestate.exports.errors import ExportError, MissingExtra, WrongExport

MANIFEST = ".manifest.json"


class Destination(Protocol):
    """A place for a file and its manifest."""

    def opened(self) -> AbstractContextManager[IO[bytes]]:
        """A file to write into. What was written is deleted again, unless `finish` is called before the end."""

    def finish(self, file: IO[bytes], manifest: bytes) -> None:
        """Give the complete file its name, and write the manifest beside it. A file of the same name is replaced."""


def destination(out: str, media_type: str, *, is_text: bool) -> Destination:
    """The destination of an argument `--out`. WrongExport if there is no such place."""
    if out == "-":
        return StandardOutput(is_text=is_text)
    if out.startswith("s3://"):
        return BucketObject(out, media_type)
    if "://" in out:
        raise WrongExport(f"--out begins with {out.partition('://')[0]!r}: a file, - or s3://bucket/name is needed")
    return LocalFile(Path(out))


class StandardOutput:
    """Its manifest is not written: a pipe has room for one file only."""

    def __init__(self, *, is_text: bool) -> None:
        if not is_text and sys.stdout.isatty():
            raise WrongExport("this format is not text for a terminal: give --out file, or pipe it into a program")

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError as error:
            # Python would report the broken pipe again when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise ExportError("the program that read the output has ended; the export is not complete") from error

    def finish(self, file: IO[bytes], manifest: bytes) -> None:
        pass


class LocalFile:
    """A file of this machine. Until it is complete, it has a hidden name in the same folder."""

    def __init__(self, path: Path) -> None:
        try:
            if path.is_dir():
                raise WrongExport(f"--out {path} is a folder: give a file in it, such as {path / 'listings.csv'}")
            if not path.parent.is_dir():
                raise WrongExport(f"--out {path}: there is no folder {path.parent}")
        except OSError as error:  # the name is too long
            raise _cannot_be_written(path, error) from error
        self._path = path
        self._half = path.with_name(f".{path.name}.{token_hex(8)}.partial")
        self._manifest = path.with_name(path.name + MANIFEST)

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        try:
            file = self._half.open("xb")
        except OSError as error:
            raise _cannot_be_written(self._path, error) from error
        try:
            with file:
                yield file
        finally:
            self._half.unlink(missing_ok=True)

    def finish(self, file: IO[bytes], manifest: bytes) -> None:
        """A manifest is never beside a file that it does not describe: the old one is deleted first."""
        file.flush()
        os.fsync(file.fileno())
        self._manifest.unlink(missing_ok=True)
        self._half.replace(self._path)
        half = self._half.with_name(f"{self._half.name}.manifest")
        half.write_bytes(manifest)
        half.replace(self._manifest)


def _cannot_be_written(path: Path, error: OSError) -> WrongExport:
    return WrongExport(f"--out {path}: {error.strerror}")


class BucketObject:
    """An object on any S3 server. boto3 reads its usual environment variables. The export is written to a temporary
    file first, and uploaded when it is complete: S3 shows an object when all of it has arrived."""

    def __init__(self, url: str, media_type: str) -> None:
        parts = urlsplit(url)
        self._bucket = parts.netloc
        self._key = parts.path.lstrip("/")
        if not self._bucket or not self._key or self._key.endswith("/"):
            raise WrongExport(f"--out {url}: s3://bucket/name is needed, such as s3://exports/listings.parquet")
        self._url = url
        self._media_type = media_type
        try:
            import boto3
        except ImportError as error:
            raise MissingExtra("--out s3://…", "s3") from error
        self._client: Any = boto3.client("s3")

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        with self._explained():
            self._client.head_bucket(Bucket=self._bucket)  # before hours of work, not after them
        with TemporaryFile(prefix="realestate-export-") as file:
            yield file

    def finish(self, file: IO[bytes], manifest: bytes) -> None:
        file.seek(0)
        with self._explained():
            self._client.delete_object(Bucket=self._bucket, Key=self._key + MANIFEST)
            self._client.upload_fileobj(file, self._bucket, self._key, ExtraArgs={"ContentType": self._media_type})
            self._client.put_object(
                Bucket=self._bucket, Key=self._key + MANIFEST, Body=manifest, ContentType="application/json"
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except (BotoCoreError, ClientError, Boto3Error) as error:
            raise ExportError(f"{self._url}: {error}") from error
