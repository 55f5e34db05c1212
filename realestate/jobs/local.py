"""A crawl on this machine: starts workers as child processes and watches them until nothing is left to do."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Literal

from realestate.embedded import children
from realestate.jobs.fleet import State, look
from realestate.private_files import private_folder
from realestate.queue.workers import HeartbeatData

if TYPE_CHECKING:
    from redis import Redis

#: Long enough for the slowest page in flight (DOWNLOAD_TIMEOUT) and the last batch.
STOP_SECONDS = 45.0
STATE_SECONDS = 0.25
#: After the last page every worker sends one more heartbeat, with its totals (HEARTBEAT_SECONDS).
LAST_HEARTBEAT_SECONDS = 1.2


#: After this many failed tries to fetch a robots.txt, the next ones come too rarely to wait for.
ROBOTS_FAILURES = 3

Ending = Literal["finished", "stopped"]


class WorkerDied(RuntimeError):
    """A worker ended by itself. The message says why, or where its log is."""


@dataclass
class Progress:
    """What was done so far, by all workers: also by those that have ended."""

    states: Mapping[str, State] = field(default_factory=dict)
    seconds: float = 0.0
    _latest: dict[tuple[str, str], HeartbeatData] = field(default_factory=dict)

    def update(self, states: Mapping[str, State], seconds: float) -> None:
        self.states = states
        self.seconds = seconds
        for portal, state in states.items():
            self._latest.update({(portal, worker): heartbeat for worker, heartbeat in state.workers.items()})

    def total(self, portal: str, name: str) -> int:
        """The sum of one number of the portal's heartbeats, such as `pages`."""
        heartbeats = [heartbeat for (crawled, _), heartbeat in self._latest.items() if crawled == portal]
        return sum(getattr(heartbeat, name) for heartbeat in heartbeats)


def start_workers(
    portals: Sequence[str], count: int, env: Mapping[str, str], logs: Path, *, first: int = 1
) -> list[Popen[bytes]]:
    """Start workers that write to `logs`. `first` is the number of the first one, if others already run."""
    private_folder(logs)
    command = [sys.executable, "-m", "realestate", "work", *portals]
    return [children.spawn(command, env=env, log=logs / _log(number)) for number in range(first, first + count)]


def _log(number: int) -> str:
    return f"worker-{number}.log"


def _last_error(log: Path) -> str:
    """The last error that a worker logged, or the path of its log."""
    lines = [
        line for line in log.read_text("utf-8", "replace").splitlines() if "ERROR" in line or "realestate: " in line
    ]
    return lines[-1] if lines else f"see {log}"


def _is_stopped(state: State) -> bool:
    """Whether nothing more will come soon: the portal is paused, or its robots.txt cannot be fetched."""
    limit = state.rate_limit
    return not state.in_flight and (limit.paused or limit.robots_failures >= ROBOTS_FAILURES)


def watch(
    server: "Redis",
    portals: Sequence[str],
    workers: Sequence[Popen[bytes]],
    show: Callable[[Progress], None],
    logs: Path,
    is_over: Callable[[], bool] | None = None,
) -> Ending:
    """Wait until every portal is finished, or nothing more will come soon from those that are not.

    With `is_over`, wait until that is true, whatever else is in the queue."""
    progress = Progress()
    started = time.monotonic()
    while True:
        states = {portal: look(server, portal) for portal in portals}
        progress.update(states, time.monotonic() - started)
        show(progress)
        if is_over() if is_over else all(state.finished for state in states.values()):
            time.sleep(LAST_HEARTBEAT_SECONDS)
            progress.update({portal: look(server, portal) for portal in portals}, progress.seconds)
            show(progress)
            return "finished"
        if all(state.finished or _is_stopped(state) for state in states.values()):
            return "stopped"
        for number, worker in enumerate(workers, 1):
            if (code := worker.poll()) is not None:
                raise WorkerDied(f"worker {number} ended with code {code}: {_last_error(logs / _log(number))}")
        time.sleep(STATE_SECONDS)
