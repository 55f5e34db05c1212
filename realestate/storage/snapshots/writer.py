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

from realestate.storage.snapshots import filenames, warc
from realestate.storage.snapshots.page import Kind, Page, SnapshotError, SnapshotRef
from realestate.storage.snapshots.places import Bucket, Folder, folder_of, fsync_folder, is_still, locked, spool_of

logger = logging.getLogger(__name__)

#: After a failed upload the next is tried so much later.
AGAIN_SECONDS = 60.0
#: A worker that ends waits so long for its last files; what is left waits in the spool for the next.
CLOSING_SECONDS = 20.0


def sweep(spool: Folder, bucket: Bucket) -> int:
    """Upload every finished file: a worker's own, and what one that was killed left behind. Returns how many."""
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
    """Sweeps in a thread of its own: an upload takes as long as it takes, and the crawl goes on."""

    def __init__(self, spool: Folder, bucket: Bucket) -> None:
        self._spool = spool
        self._bucket = bucket
        self._work = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="snapshot uploads", daemon=True)
        self._work.set()  # whatever was left here goes first
        self._thread.start()

    def wake(self) -> None:
        """A file is finished."""
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
                logger.warning("snapshot/away: %s; the files wait in %s", error, self._spool.path)
            if last:
                return


logger = logging.getLogger(__name__)

#: Whoever looks for the pages of a day may leave out files begun before the day before.
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
    """Belongs to one thread.

    A record is written whole or cut off again; a process killed half-way leaves half a record at the end of a file that
    nobody appends to any more, and every record before it can be read. A page written is safe after `flush`.
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
        # Whatever a worker is called, its files meet no other's.
        self.worker = f"{worker}-{token_hex(4)}"
        self.max_bytes = max_bytes
        self.max_age = timedelta(seconds=min(max_seconds, LONGEST_SECONDS))
        self.clock = clock
        self._number = 0
        self._open: dict[tuple[str, Kind], _OpenFile] = {}
        self._uploader: Uploader | None = None
        if url.startswith("s3://"):
            if spool is None:
                raise SnapshotError("a bucket needs a spool on this machine")
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
        offset, into.size = into.size, into.size + len(record)
        return SnapshotRef.of(page, into.name, offset, len(record))

    def flush(self) -> None:
        """What was written outlives a power cut. A file that cannot be made safe takes no more pages."""
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
        """Finish files that are old; a bucket gets them now."""
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
        path.parent.mkdir(parents=True, exist_ok=True)
        # Its name appears only when it is locked: nobody takes it for a dead worker's.
        hidden = path.with_name(f".{path.name}")
        file = hidden.open("xb", buffering=0)
        locked(file)
        hidden.rename(path)
        fsync_folder(path.parent)
        return _OpenFile(name, now, file)

    def _finish(self, key: tuple[str, Kind]) -> None:
        done = self._open.pop(key)
        with done.file:
            os.fsync(done.file.fileno())
        if self._uploader:
            self._uploader.wake()

    def _cut_off(self, page: Page, into: _OpenFile) -> None:
        """After a write that failed half-way, what was whole stays whole."""
        try:
            into.file.seek(into.size)
            into.file.truncate()
        except OSError as error:
            logger.warning("snapshot/damaged: %s ends with half a record: %s", into.name, error)
            self._finish((page.portal, page.kind))


def _write_all(file: IO[bytes], data: bytes) -> None:
    """A file without a buffer may take less than it is given."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
