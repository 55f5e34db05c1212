"""Files on their way into a bucket: written on this machine, uploaded when nobody writes to them any more."""

import logging
import threading

from realestate.storage.snapshots.page import SnapshotError
from realestate.storage.snapshots.places import Bucket, Folder, is_still, locked

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
