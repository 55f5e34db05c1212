"""A crawl on this machine: workers as child processes, watched until nothing is left."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

from redis import Redis

from realestate.embedded import children
from realestate.jobs.fleet import State, look
from realestate.queue.workers import HeartbeatData

#: Long enough for the slowest page on its way (DOWNLOAD_TIMEOUT) and the last batch.
STOP_SECONDS = 45.0
LOOK_SECONDS = 0.25
#: After the last page every worker sends one more heartbeat with its totals (HEARTBEAT_SECONDS).
LAST_BEAT_SECONDS = 1.2


class WorkerDied(RuntimeError):
    """A worker ended by itself; the text says where its log is."""


@dataclass
class Progress:
    """What has been done so far, workers that have left included."""

    states: Mapping[str, State] = field(default_factory=dict)
    seconds: float = 0.0
    _latest: dict[tuple[str, str], HeartbeatData] = field(default_factory=dict)

    def update(self, states: Mapping[str, State], seconds: float) -> None:
        self.states, self.seconds = states, seconds
        for portal, state in states.items():
            self._latest.update({(portal, worker): beat for worker, beat in state.workers.items()})

    def total(self, portal: str, name: str) -> int:
        """The sum of one number of the portal's heartbeats, such as `pages`."""
        return sum(getattr(beat, name) for (of, _), beat in self._latest.items() if of == portal)


def start_workers(
    portals: Sequence[str], count: int, env: Mapping[str, str], logs: Path, *, first: int = 1
) -> list[Popen[bytes]]:
    """`first` is the number of the first of them, where others run already."""
    logs.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "realestate", "work", *portals]
    return [children.spawn(command, env=env, log=logs / _log(number)) for number in range(first, first + count)]


def _log(number: int) -> str:
    return f"worker-{number}.log"


def _last_words(log: Path) -> str:
    """The last error a worker logged, or where to look."""
    lines = [
        line for line in log.read_text("utf-8", "replace").splitlines() if "ERROR" in line or "realestate: " in line
    ]
    return lines[-1] if lines else f"see {log}"


def watch(
    server: Redis,
    portals: Sequence[str],
    workers: Sequence[Popen[bytes]],
    show: Callable[[Progress], None],
    logs: Path,
    limit: int | None = None,
) -> bool:
    """Until every portal is finished (True), or `limit` listings are stored (False: more is waiting)."""
    progress, began = Progress(), time.monotonic()
    while True:
        states = {portal: look(server, portal) for portal in portals}
        progress.update(states, time.monotonic() - began)
        show(progress)
        if all(state.finished for state in states.values()):
            time.sleep(LAST_BEAT_SECONDS)
            progress.update({portal: look(server, portal) for portal in portals}, progress.seconds)
            show(progress)
            return True
        if limit is not None and sum(progress.total(portal, "stored") for portal in portals) >= limit:
            return False
        for number, worker in enumerate(workers, 1):
            if (code := worker.poll()) is not None:
                raise WorkerDied(f"worker {number} ended with code {code}: {_last_words(logs / _log(number))}")
        time.sleep(LOOK_SECONDS)
