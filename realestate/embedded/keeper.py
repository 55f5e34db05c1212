"""The process that keeps the services of one folder running while anybody uses them, and not longer.

``python -m realestate.embedded.keeper <folder>`` goes to the background once it holds the folder's lock.
A server that ends unexpectedly is started again on the same port, since a crawl of hours should survive it:
clients reconnect, and both servers have on disk what they promised. If that does not help, all is stopped.
"""

import logging
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from realestate.embedded import locks, poll
from realestate.embedded.announcement import Service, Services, announce, withdraw
from realestate.embedded.errors import EmbeddedError
from realestate.embedded.postgres_server import PostgresServer
from realestate.embedded.redis_server import RedisServer
from realestate.embedded.server import Server

POLL_SECONDS = 0.1
LOCK_SECONDS = 2
"""A look at the lock by others holds it for an instant; another keeper holds it longer."""

logger = logging.getLogger(__name__)


class Keeper:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.redis = RedisServer(folder)
        self.store = PostgresServer(folder)
        self.told_to_stop = False

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop_soon)
        users = (self.folder / "users.lock").open("a+")
        try:
            self._announce(_started(self.redis), _started(self.store))
            while not self.told_to_stop and not locks.take_now(users):
                self._revive_ended()
                time.sleep(POLL_SECONDS)
        finally:
            withdraw(self.folder)
            for server in (self.store, self.redis):
                server.stop()

    def _stop_soon(self, number: int, frame: FrameType | None) -> None:
        self.told_to_stop = True

    def _announce(self, redis: Service, store: Service) -> None:
        self.services = Services(redis, store, os.getpid())
        announce(self.folder, self.services)

    def _revive_ended(self) -> None:
        if self.redis.has_ended():
            self._announce(self.redis.revive(), self.services.store)
        if self.store.has_ended():
            self._announce(self.services.redis, self.store.revive())


def _started(server: Server) -> Service:
    """Where one cannot start, the other still serves those who need no more."""
    try:
        return server.start()
    except (EmbeddedError, OSError, ValueError) as error:
        logger.exception("%s", server.title)
        server.stop()
        return Service(error=str(error))


def main(folder: Path) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    lock = (folder / "keeper.lock").open("a+")
    if not poll.until(lambda: locks.take_now(lock), LOCK_SECONDS):
        sys.exit(f"another keeper has {folder}")
    if os.fork():
        os._exit(0)  # whoever started us knows by this that the lock is ours; the child has it now
    Keeper(folder).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
