"""Worker processes of this machine: started, started again when they die, and drained when it stops."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

from realestate.embedded import children
from realestate.jobs.local import STOP_SECONDS, start_workers

logger = logging.getLogger(__name__)

#: A worker that died is started again after this, and after twice as long each further time ...
FIRST_BACKOFF_SECONDS = 1.0
#: ... up to this.
LONGEST_BACKOFF_SECONDS = 60.0
#: A worker that lived for this long starts with the shortest backoff again.
HEALTHY_SECONDS = 60.0


@dataclass(slots=True)
class Place:
    """A place for one worker process."""

    number: int
    process: "Popen[bytes] | None" = None
    started_at: float = 0.0
    start_at: float = 0.0
    """When it is to be started."""
    backoff: float = FIRST_BACKOFF_SECONDS


@dataclass(slots=True)
class WorkerPool:
    """The worker processes of this machine."""

    portals: Sequence[str]
    env: Mapping[str, str]
    logs: Path
    clock: Callable[[], float] = time.monotonic
    start: Callable[[int], "Popen[bytes]"] | None = None
    """Starts the worker with this number; by default a real one."""
    places: list[Place] = field(default_factory=list)
    leaving: "list[Popen[bytes]]" = field(default_factory=list)
    """Workers that finish what they have begun."""

    def resize(self, wanted: int) -> None:
        """Have this many workers from now on. Workers beyond that number finish what they have begun."""
        while len(self.places) > wanted:
            place = self.places.pop()
            if place.process is not None:
                logger.info("up/draining worker=%d", place.number)
                place.process.terminate()
                self.leaving.append(place.process)
        taken = {place.number for place in self.places}
        numbers = (number for number in range(1, wanted + len(taken) + 1) if number not in taken)
        while len(self.places) < wanted:
            self.places.append(Place(next(numbers), start_at=self.clock()))
        self.look()

    def look(self) -> None:
        """Start what is to be started, and notice what has died."""
        now = self.clock()
        self.leaving = [each for each in self.leaving if each.poll() is None]
        for place in self.places:
            if place.process is not None and (code := place.process.poll()) is not None:
                self._died(place, code, now)
            if place.process is None and now >= place.start_at:
                place.process = self._started(place.number)
                place.started_at = now

    @property
    def living(self) -> int:
        """Workers that run and are to go on."""
        return sum(place.process is not None and place.process.poll() is None for place in self.places)

    def stop(self) -> None:
        """Drain all workers: they finish their pages and give back what they have not sent."""
        running = [place.process for place in self.places if place.process is not None]
        self.places = []
        children.stop([*running, *self.leaving], STOP_SECONDS)
        self.leaving = []

    def _died(self, place: Place, code: int, now: float) -> None:
        if now - place.started_at >= HEALTHY_SECONDS:
            place.backoff = FIRST_BACKOFF_SECONDS
        logger.error(
            "up/worker_died worker=%d code=%d log=%s; starting again in %.0f s",
            place.number,
            code,
            self.logs / f"worker-{place.number}.log",
            place.backoff,
        )
        place.process = None
        place.start_at = now + place.backoff
        place.backoff = min(2 * place.backoff, LONGEST_BACKOFF_SECONDS)

    def _started(self, number: int) -> "Popen[bytes]":
        if self.start is not None:
            return self.start(number)
        (process,) = start_workers(self.portals, 1, self.env, self.logs, first=number)
        return process
