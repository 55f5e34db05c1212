"""Writes pages to files, and uploads finished files to a bucket."""

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import IO

from realestate.private_files import owner_only, private_folder
from realestate.storage.snapshots import filenames, warc
from realestate.storage.snapshots.destinations import (
    Bucket,
    Folder,
    folder_of,
    fsync_folder,
    is_still,
    locked,
    spool_of,
)
from realestate.storage.snapshots.page import Kind, Page, SnapshotError, SnapshotRef

logger = logging.getLogger(__name__)

#: A failed upload is retried after this long.
AGAIN_SECONDS = 60.0
#: A worker that stops waits this long for its last uploads. Files left in the spool are uploaded by the next worker.
CLOSING_SECONDS = 20.0


def sweep(spool: Folder, bucket: Bucket) -> int:
    """Upload every finished file in the spool, also those of killed workers. Return how many were uploaded."""
    done = 0
    for name in spool.names():
        path = spool.path / name
        try:
            with path.open("rb") as file:
                if not locked(file) or not is_still(path, file):
                    continue
                if path.stat().st_size:
                    bucket.put(name, file)
                    done += 1
                path.unlink()
        except FileNotFoundError:
            continue
    return done


class Uploader:
    """Calls `sweep` in a separate thread, so that the crawl does not wait for uploads."""

    def __init__(self, spool: Folder, bucket: Bucket) -> None:
        self._spool = spool
        self._bucket = bucket
        self._work = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="snapshot uploads", daemon=True)
        self._work.set()  # upload at once what earlier workers left
        self._thread.start()

    def wake(self) -> None:
        """Upload soon: a file is finished."""
        self._work.set()

    def close(self) -> None:
        self._closing = True
        self._work.set()
        self._thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        while True:
            self._work.wait(AGAIN_SECONDS)
            self._work.clear()
            last = self._closing
            try:
                sweep(self._spool, self._bucket)
            except (SnapshotError, OSError) as error:
                logger.warning(
                    "snapshot/upload failed: %s; the files stay in %s until a later try", error, self._spool.path
                )
            if last:
                return


logger = logging.getLogger(__name__)

#: A file is written to for at most this long. So a search for pages since a time can skip files begun
#: that much earlier.
LONGEST_SECONDS = 24 * 3600.0


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class _OpenFile:
    name: str
    begun: datetime
    file: IO[bytes]
    size: int = 0
    safe: bool = True


class SnapshotWriter:
    """Writes pages to files. Used by one thread only.

    A record that cannot be written completely is cut off again. A killed process may leave an incomplete record at the
    end of a file. No process appends to that file later, and all earlier records are readable. A written page survives
    a power cut after `flush`.
    """

    def __init__(
        self,
        url: str,
        *,
        worker: str,
        max_bytes: int,
        max_seconds: float,
        spool: Path | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        # Random, so that file names differ even if two workers have the same name.
        self.worker = f"{worker}-{token_hex(4)}"
        self.max_bytes = max_bytes
        self.max_age = timedelta(seconds=min(max_seconds, LONGEST_SECONDS))
        self.clock = clock
        self._number = 0
        self._open: dict[tuple[str, Kind], _OpenFile] = {}
        self._uploader: Uploader | None = None
        if url.startswith("s3://"):
            if spool is None:
                raise SnapshotError("a bucket needs a spool folder on this machine")
            self.folder = spool_of(url, spool)
            self._uploader = Uploader(Folder(self.folder), Bucket(url))
        else:
            self.folder = folder_of(url)

    def write(self, page: Page) -> SnapshotRef:
        page = page.fit_to_keep()
        record = warc.encode(page)
        into = self._file_for(page)
        into.safe = False
        try:
            _write_all(into.file, record)
        except OSError:
            self._cut_off(page, into)
            raise
        offset = into.size
        into.size += len(record)
        return SnapshotRef.of(page, into.name, offset, len(record))

    def flush(self) -> None:
        """Write all pages to the disk (fsync). A file for which that fails is closed and takes no more pages."""
        for key, each in list(self._open.items()):
            if not each.safe:
                try:
                    os.fsync(each.file.fileno())
                except OSError:
                    del self._open[key]
                    each.file.close()
                    raise
                each.safe = True

    def rotate(self) -> None:
        """Finish files that are old enough, and upload them if there is a bucket."""
        for key, each in list(self._open.items()):
            if self.clock() - each.begun >= self.max_age:
                self._finish(key)

    def close(self) -> None:
        for key in list(self._open):
            self._finish(key)
        if self._uploader:
            self._uploader.close()

    def _file_for(self, page: Page) -> _OpenFile:
        key = (page.portal, page.kind)
        held = self._open.get(key)
        if held and (held.size >= self.max_bytes or self.clock() - held.begun >= self.max_age):
            self._finish(key)
        if key not in self._open:
            self._open[key] = self._begun(*key)
        return self._open[key]

    def _begun(self, portal: str, kind: Kind) -> _OpenFile:
        self._number += 1
        now = self.clock()
        name = filenames.checked(filenames.make(portal, kind, now, self.worker, self._number))
        path = self.folder / name
        private_folder(path.parent)
        # The file gets its name after it is locked, so that no other worker takes it for a dead worker's file.
        hidden = path.with_name(f".{path.name}")
        file = open(hidden, "xb", buffering=0, opener=owner_only)  # noqa: SIM115 (it stays open)
        try:
            locked(file)
            hidden.rename(path)
            fsync_folder(path.parent)
        except OSError:
            file.close()
            hidden.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            raise
        return _OpenFile(name, now, file)

    def _finish(self, key: tuple[str, Kind]) -> None:
        done = self._open.pop(key)
        with done.file:
            os.fsync(done.file.fileno())
        if self._uploader:
            self._uploader.wake()

    def _cut_off(self, page: Page, into: _OpenFile) -> None:
        """Remove the incomplete record that a failed write left at the end of the file."""
        try:
            into.file.seek(into.size)
            into.file.truncate()
        except OSError as error:
            logger.warning("snapshot/damaged: %s ends with an incomplete record: %s", into.name, error)
            self._finish((page.portal, page.kind))


def _write_all(file: IO[bytes], data: bytes) -> None:
    """Write all data. A file without a buffer may write less than it is given."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
