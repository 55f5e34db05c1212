"""Writes pages in a separate thread, so that the crawl does not wait for the disk."""

import errno
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from realestate.storage.snapshots.page import Page, SnapshotError, SnapshotRef
from realestate.storage.snapshots.writer import SnapshotWriter

logger = logging.getLogger(__name__)

#: How often to look for files that are old enough to be finished.
LOOK_SECONDS = 5.0
#: A worker that stops waits at most this long for the disk.
CLOSING_SECONDS = 30.0
#: The errors of a disk without room, or of a quota that is used up.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
#: How often a full disk is tried again.
FULL_SECONDS = 1.0
#: The most pages for one fsync, so that the first does not wait long for the last.
_TOGETHER = 100

_Waiting = tuple[Page, "Future[SnapshotRef]"]


class Recorder:
    """Takes pages while there is room in memory. A page whose parser failed is always taken: the site may never send it
    again. While the disk is full, pages wait."""

    def __init__(self, writer: SnapshotWriter, *, waiting_bytes: int) -> None:
        self._writer = writer
        self._most = waiting_bytes
        self._waiting: deque[_Waiting] = deque()
        self._bytes = 0
        self._closing = False
        self._is_disk_full = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="snapshots", daemon=True)
        self._thread.start()

    def take(self, page: Page) -> "Future[SnapshotRef] | None":
        """Return a future that is done when the page is on the disk, or None if too many bytes are waiting: then the
        page is not kept."""
        with self._changed:
            if page.kind != "failed" and self._bytes + _size(page) > self._most:
                return None
            future: Future[SnapshotRef] = Future()
            future.set_running_or_notify_cancel()  # the future cannot be cancelled: the page is written in any case
            self._waiting.append((page, future))
            self._bytes += _size(page)
            self._changed.notify()
            return future

    def close(self) -> None:
        """Write all waiting pages and start their upload. Waits at most CLOSING_SECONDS. If the disk is full, the
        futures of the waiting pages are never done."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        while not self._is_over():
            self._write(self._next())
            self._tidy(self._writer.rotate)
        self._tidy(self._writer.close)

    def _is_over(self) -> bool:
        with self._changed:
            return self._closing and (not self._waiting or self._is_disk_full)

    def _next(self) -> list[_Waiting]:
        with self._changed:
            if not self._waiting and not self._closing:
                self._changed.wait(LOOK_SECONDS)
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), _TOGETHER))]

    def _write(self, batch: list[_Waiting]) -> None:
        """Write the pages, and complete their futures after the fsync. If the disk is full, they wait."""
        written: list[tuple[_Waiting, SnapshotRef]] = []
        unwritten: list[_Waiting] = []
        full: OSError | None = None
        for each in batch:
            if full is not None:
                unwritten.append(each)
                continue
            try:
                written.append((each, self._writer.write(each[0])))
            except Exception as error:  # a faulty page must not stop the next one
                if isinstance(error, OSError) and error.errno in DISK_FULL:
                    full = error
                    unwritten.append(each)
                else:
                    each[1].set_exception(_explained(error))
        try:
            self._writer.flush()
        except OSError as error:
            if error.errno in DISK_FULL:
                full = error
                unwritten = [*(each for each, _ in written), *unwritten]
            else:
                for (_, future), _ in written:
                    future.set_exception(_explained(error))
        else:
            for (_, future), ref in written:
                future.set_result(ref)
        with self._changed:
            self._bytes -= sum(_size(page) for page, _ in batch) - sum(_size(page) for page, _ in unwritten)
            self._waiting.extendleft(reversed(unwritten))
        self._note_disk(full, is_written=bool(written))

    def _note_disk(self, full: OSError | None, *, is_written: bool) -> None:
        """Log once that the disk is full and once that it is not any more, and wait a little while it is full."""
        if full is None:
            if self._is_disk_full and is_written:
                self._is_disk_full = False
                logger.info("snapshot/disk_full: the disk has room again")
            return
        if not self._is_disk_full:
            self._is_disk_full = True
            logger.warning("snapshot/disk_full: %s; pages wait until there is room", full)
        with self._changed:
            if not self._closing:
                self._changed.wait(FULL_SECONDS)

    def _tidy(self, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as error:
            logger.error("snapshot/failed: %s", error)


def _size(page: Page) -> int:
    """Return about how many bytes of memory the page takes, also if it is empty."""
    return len(page.body) + 2048


def _explained(error: Exception) -> SnapshotError:
    return SnapshotError(f"page not kept: {type(error).__name__}: {error}")
