"""How many workers the fleet needs: a pure function of the load, the past minutes and a clock that is passed in."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf

#: The queue is to be emptied within this many seconds, as far as the rate limits allow.
HORIZON_SECONDS = 300.0
#: The share of its capacity that a worker is to use.
UTILISATION = 0.8
#: Fewer workers are wanted only if fewer were enough for this long ...
CALM_SECONDS = 300.0
#: ... with so much to spare: otherwise a load between two numbers of workers would change them again and again.
SPARE = 0.1
#: At most this share of the workers is taken away in a minute.
LARGEST_CUT = 0.25
CUT_SECONDS = 60.0
#: Pages per second of a worker whose speed is not known yet.
USUAL_PAGES_PER_SECOND = 5.0


@dataclass(frozen=True, slots=True)
class PortalLoad:
    """What one portal needs now."""

    portal: str
    ready: int
    """Requests that may be sent now, and seeds."""
    allowed: float
    """Requests per second that its rate limit allows now: 0 while it is paused or blocked, infinite without a limit."""

    @property
    def demand(self) -> float:
        """Pages per second that workers could fetch."""
        return min(self.ready / HORIZON_SECONDS, self.allowed)


@dataclass(frozen=True, slots=True)
class Load:
    """What the fleet needs now."""

    portals: Sequence[PortalLoad]
    pages_per_second: float | None = None
    """What one worker can do, as it was measured; None if that is not known."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many workers are wanted, and why."""

    workers: int
    reasons: Sequence[str] = ()

    def __str__(self) -> str:
        return "\n".join([*self.reasons, f"workers wanted: {self.workers}"])


@dataclass(slots=True)
class Scaler:
    """Called again and again. It remembers the last minutes, and when workers were last taken away."""

    least: int = 1
    most: int = 64
    _past: deque[tuple[float, int]] = field(default_factory=deque)
    _speed: float | None = None
    _cut_at: float = -inf

    def decide(self, load: Load | None, workers: int, now: float) -> Wanted:
        """How many workers there should be at the time `now`, in seconds. `workers` is how many there are. Missing data
        (None) never takes a worker away."""
        if load is None:
            kept = max(workers, self.least)
            return Wanted(kept, ["the load is not known: nothing is changed"])
        reasons = []
        self._speed = load.pages_per_second or self._speed
        speed = self._speed or USUAL_PAGES_PER_SECOND
        needed, lines = needed_workers(load, speed)
        reasons += lines
        if self._speed is None:
            reasons.append(f"no worker's speed is known yet: {speed:g} pages/s are assumed")
        self._past.append((now, needed_workers(load, speed * (1 - SPARE))[0]))
        while self._past[0][0] < now - CALM_SECONDS:
            self._past.popleft()
        wanted = max(self.least, min(self.most, needed))
        if needed > self.most:
            reasons.append(f"at most {self.most} workers fit here")
        if wanted > workers:
            return self._more(wanted, workers, reasons)
        if wanted < workers:
            return self._fewer(workers, now, reasons)
        return Wanted(wanted, reasons)

    def _more(self, wanted: int, workers: int, reasons: list[str]) -> Wanted:
        largest = max(1, 2 * workers)
        if wanted > largest:
            reasons.append(f"at most twice as many as the {workers} that run")
        return Wanted(min(wanted, largest), reasons)

    def _fewer(self, workers: int, now: float, reasons: list[str]) -> Wanted:
        recent = max(self.least, min(self.most, max(number for _, number in self._past)))
        if recent >= workers:
            reasons.append(f"with {SPARE:.0%} to spare, {recent} were needed within the last {CALM_SECONDS:.0f} s")
            return Wanted(workers, reasons)
        if now - self._cut_at < CUT_SECONDS:
            reasons.append(f"workers were taken away less than {CUT_SECONDS:.0f} s ago")
            return Wanted(workers, reasons)
        wanted = max(recent, workers - max(1, int(workers * LARGEST_CUT)))
        if wanted > recent:
            reasons.append(f"at most a quarter of the {workers} that run is taken away in a minute")
        self._cut_at = now
        return Wanted(wanted, reasons)


def needed_workers(load: Load, pages_per_second: float) -> tuple[int, list[str]]:
    """How many workers the load needs, and a line for each step of the calculation."""
    lines = []
    for each in load.portals:
        if each.ready:
            limit = "no rate limit" if each.allowed == inf else f"{each.allowed:g}/s allowed now"
            lines.append(
                f"{each.portal}: {each.ready:,} ready ÷ {HORIZON_SECONDS:.0f} s = {each.ready / HORIZON_SECONDS:.2f}/s,"
                f" {limit}: {each.demand:.2f}/s"
            )
    demand = sum(each.demand for each in load.portals)
    needed = ceil(round(demand / (UTILISATION * pages_per_second), 9))
    shown = "1 worker" if needed == 1 else f"{needed} workers"
    lines.append(f"{demand:.2f} pages/s ÷ ({UTILISATION:g} × {pages_per_second:.2f} pages/s per worker) = {shown}")
    return needed, lines
