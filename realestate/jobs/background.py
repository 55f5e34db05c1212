"""A thread of each worker process that completes jobs: one process of the fleet at a time does it."""

import logging
import time
from collections.abc import Sequence
from contextlib import closing
from threading import Thread

from realestate.jobs.finish import finish_jobs, reporter
from realestate.jobs.manage import JobDesk
from realestate.queue import keys
from realestate.queue.connection import connect_blocking
from realestate.queue.redis_client import REDIS_ERRORS
from realestate.storage import StoreError, open_store

logger = logging.getLogger(__name__)

#: How often a process tries. The one that gets the lock works; the lock ends by itself.
LOOK_SECONDS = 5.0
LOCK_MS = 4_500


class FinishThread(Thread):
    """Runs `finish_jobs` every few seconds. A daemon: it never keeps a worker alive."""

    def __init__(self, redis_url: str, store_url: str, simulator: str | None, notify_urls: Sequence[str] = ()) -> None:
        super().__init__(name="finish jobs", daemon=True)
        self._notify_urls = notify_urls
        self._redis_url = redis_url
        self._store_url = store_url
        self._simulator = simulator

    def run(self) -> None:
        while True:
            try:
                self._look_on()
            except (*REDIS_ERRORS, StoreError) as error:  # the worker itself logs that they are away
                logger.debug("job/not_finished: %s: %s", type(error).__name__, error)
            except Exception:
                logger.exception("job/not_finished: the jobs that have not ended could not be looked at")
            time.sleep(LOOK_SECONDS)

    def _look_on(self) -> None:
        with closing(open_store(self._store_url)) as store, connect_blocking(self._redis_url) as server:
            desk = JobDesk(store, server, self._simulator)
            report = reporter(store, self._notify_urls)
            while True:
                if server.set(keys.FINISH_JOBS, 1, nx=True, px=LOCK_MS):
                    finish_jobs(desk, report)
                time.sleep(LOOK_SECONDS)
