"""Says in one line which worker died and how many of its requests are ready again, for all portals of this process."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping

from realestate.queue.log_context import WHOLE_PROCESS
from realestate.queue.workers import process_of

logger = logging.getLogger(__name__)

#: All portals find a dead worker at about the same time. The line is written after this time.
GATHER_SECONDS = 3.0


class DeadWorkers:
    """The workers that this process found dead. A worker has a name per portal; their processes are counted here."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, int]] = defaultdict(dict)

    def found(self, portal: str, workers: Mapping[str, int]) -> None:
        """These workers of the portal were found dead, and held this many requests."""
        for worker, requests in workers.items():
            process = process_of(worker)
            if process not in self._found:
                asyncio.get_running_loop().call_later(GATHER_SECONDS, self._log, process)
            portals = self._found[process]
            portals[portal] = portals.get(portal, 0) + requests

    def _log(self, process: str) -> None:
        portals = self._found.pop(process)
        parts = ", ".join(f"{portal} {requests}" for portal, requests in sorted(portals.items()) if requests)
        text = f"{sum(portals.values())} requests are ready again" + (f": {parts}" if parts else "")
        logger.warning("worker/dead: %s sends no heartbeats; %s", process, text, extra=WHOLE_PROCESS)


#: All portals of this process share one.
DEAD_WORKERS = DeadWorkers()
