"""One crawl of a whole portal by one crawler, timed from outside and the same way for all.

The time begins with the first request that reaches the portal. It ends with the portal's last response or, for a
crawler that stores, when the last listing is committed. So no crawler's start and end are counted. CPU is that of the
crawler's own process in this time, without Redis and PostgreSQL.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from bench import DoesNotCount
from bench.rig.site import Site

#: Short enough for a crawl of seconds, long enough not to disturb it.
LOOK_SECONDS = 0.05
#: A crawl that makes no request for this long, while pages are left, is stuck.
STUCK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lap:
    """One crawl that counts."""

    listings: int
    seconds: float
    cpu_seconds: float

    @property
    def pages_per_second(self) -> float:
        """Pages of listings: all crawlers need the same ones, and about as many search pages."""
        return self.listings / self.seconds

    @property
    def cpu_milliseconds(self) -> float:
        return self.cpu_seconds / self.listings * 1000


class Watch:
    """Watches the portal, and the store if there is one, until the crawl is over."""

    def __init__(self, site: Site, processes: Sequence[Popen[bytes]], stored: Callable[[], int] | None = None) -> None:
        self.site = site
        self.processes = processes
        self.stored = stored
        self._before = site.seen()
        self._count = self._before.requests
        self._first: tuple[float, float] | None = None
        self._last: tuple[float, float] | None = None
        self._is_stored = stored is None
        self._all_fetched = False
        self._cpu = 0.0

    def until(self, over: Callable[[], bool]) -> Lap:
        """Wait for the end of the crawl. `over` is called only when all pages are stored: it may be slow."""
        moved = time.monotonic()
        while True:
            ended = all(process.poll() is not None for process in self.processes)
            if self._look():
                moved = time.monotonic()
            if ended or (self._is_complete and over()):
                break
            if time.monotonic() - moved > STUCK_SECONDS:
                raise DoesNotCount(f"no request came for {STUCK_SECONDS:.0f} s")
            time.sleep(LOOK_SECONDS)
        if not self._first or not self._last:
            raise DoesNotCount("the portal got no request")
        began, cpu_before = self._first
        ended_at, cpu = self._last
        return Lap(len(self.site.refs), ended_at - began or LOOK_SECONDS, cpu - cpu_before)

    def _look(self) -> bool:
        """Whether something changed since the last check."""
        seen = self.site.seen()
        has_moved = seen.requests > self._count
        self._count = seen.requests
        self._all_fetched = seen.listings - self._before.listings >= len(self.site.refs)
        if self.stored and not self._is_stored and self._all_fetched:
            self._is_stored = self.stored() >= len(self.site.refs)
            has_moved = has_moved or self._is_stored
        if has_moved:
            self._last = time.monotonic(), self._cpu_seconds()
            self._first = self._first or self._last
        return has_moved

    @property
    def _is_complete(self) -> bool:
        return self._all_fetched and self._is_stored

    def _cpu_seconds(self) -> float:
        """CPU seconds of the processes. 0 on systems other than Linux, and for a process that has ended."""
        self._cpu = max(self._cpu, sum(map(_cpu_seconds, self.processes)))
        return self._cpu


def _cpu_seconds(process: Popen[bytes]) -> float:
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
