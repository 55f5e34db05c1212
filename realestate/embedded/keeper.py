"""The background process that runs the services of one folder while any process uses them.

``python -m realestate.embedded.keeper <folder>`` goes to the background once it holds the folder's lock.
It restarts a server that ended unexpectedly, on the same port: clients reconnect, both servers have their data on
disk, and a crawl of hours survives. If a server ends too often, the keeper stops both.
"""

import logging
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from realestate.embedded import locks, poll, services_file
from realestate.embedded.postgres_server import PostgresServer
from realestate.embedded.redis_server import RedisServer
from realestate.embedded.server import Server
from realestate.embedded.services_file import EmbeddedError, Service, Services

POLL_SECONDS = 0.1
#: Another process may hold the lock for an instant to test it. Another keeper holds it longer.
LOCK_SECONDS = 2

logger = logging.getLogger(__name__)


class Keeper:
    """Starts both servers, restarts them if they end, and stops them after the last user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.redis = RedisServer(folder)
        self.store = PostgresServer(folder)
        self.stop_requested = False

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._request_stop)
        users = (self.folder / "users.lock").open("a+")
        try:
            self._publish(_started(self.redis), _started(self.store))
            while not self.stop_requested and not locks.take_now(users):
                self._restart_ended()
                time.sleep(POLL_SECONDS)
        finally:
            services_file.remove(self.folder)
            for server in (self.store, self.redis):
                server.stop()

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self.stop_requested = True

    def _publish(self, redis: Service, store: Service) -> None:
        self.services = Services(redis, store, os.getpid())
        services_file.write(self.folder, self.services)

    def _restart_ended(self) -> None:
        if self.redis.has_ended():
            self._publish(self.redis.start_again(), self.services.store)
        if self.store.has_ended():
            self._publish(self.services.redis, self.store.start_again())


def _started(server: Server) -> Service:
    """Start the server. If it cannot start, return the error: the other server may be all that a user needs."""
    try:
        return server.start()
    except (EmbeddedError, OSError, ValueError) as error:
        logger.exception("%s did not start", server.title)
        server.stop()
        return Service(error=str(error))


def main(folder: Path) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    lock = (folder / "keeper.lock").open("a+")
    if not poll.until(lambda: locks.take_now(lock), LOCK_SECONDS):
        sys.exit(f"another keeper process already runs for {folder}")
    if os.fork():
        os._exit(0)  # tells the starter that we hold the lock; the forked child holds it from now on
    Keeper(folder).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
