"""The metrics of the whole fleet, read from Redis and the store: for `realestate exporter` and `realestate watch`.

A `FleetReader` reads everything once per call of `read`; nobody reads more often than once in READ_SECONDS, however
many ask. A worker without a heartbeat is not in Redis any more, so its series end with its lease (LEASE_SECONDS).
"""

import os
import re
import shutil
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client.registry import Collector

from realestate.monitoring.catalogue import MOST_SERIES
from realestate.monitoring.drift import DRIFT, FieldDrift
from realestate.monitoring.worker_metrics import Family, family
from realestate.queue import keys
from realestate.queue.redis_client import REDIS_ERRORS, in_one_step
from realestate.queue.workers import HeartbeatData, process_of
from realestate.storage import StoreError
from realestate.storage.orders import DEADLINE, StoredOrder
from realestate.storage.store import Job

if TYPE_CHECKING:
    from redis import Redis

    from realestate.storage import FullStore

Samples = dict[str, dict[tuple[str, ...], float]]
"""metric -> label values -> value."""

READ_SECONDS = 5.0
#: To count listings reads the whole table.
COUNT_SECONDS = 600.0
#: Two priorities never share a score: see `lua/common.lua`.
_ARRIVALS = 4398046511104
#: Samples of the number of arrivals: enough for a day at one every ten seconds.
_SAMPLES = 8640
#: More occurrences than are due within the longest task.
_OCCURRENCES = 1_000
_MEMINFO = Path("/proc/meminfo")


class QueueAges:
    """How long the oldest ready request of each portal has waited.

    A request has a number of arrival, and no time. So we note how many had arrived at which time."""

    def __init__(self) -> None:
        self._arrived: dict[str, deque[tuple[float, int]]] = {}

    def age(self, portal: str, arrived: int, oldest: int | None, now: float) -> float:
        """Return the seconds. `arrived` is the number of the newest request, `oldest` of the oldest one that waits."""
        samples = self._arrived.setdefault(portal, deque(maxlen=_SAMPLES))
        if not samples or samples[-1][1] != arrived or now - samples[-1][0] >= 10:
            samples.append((now, arrived))
        if oldest is None:
            return 0.0
        return now - next((at for at, count in samples if count >= oldest), now)


class Totals:
    """Counters of the whole fleet, from those of workers that come and go. They never fall while this process runs.

    They begin at 0: what workers had counted before this process started is not new. Otherwise a restart of the
    exporter would look like all dead letters of a month within a moment."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, dict[_Count, float]]] = {}
        """portal -> worker -> what it had counted. Workers that are gone stay for a while: one may have been silent
        only, and go on counting where it was."""
        self.totals: dict[tuple[str, str], dict[str, float]] = {}
        """(metric, portal) -> last label value -> total"""

    def update(self, portal: str, workers: Mapping[str, HeartbeatData]) -> None:
        is_first = portal not in self._known
        known = self._known.setdefault(portal, {})
        for metric, label in _COUNTED_FROM_THE_START:
            self.totals.setdefault((metric, portal), {}).setdefault(label, 0.0)
        for name, heartbeat in workers.items():
            now = _counts(heartbeat)
            before = now if is_first else known.pop(name, {})
            for (metric, label), value in now.items():
                total = self.totals.setdefault((metric, portal), {})
                total[label] = total.get(label, 0.0) + max(0.0, value - before.get((metric, label), 0.0))
            known[name] = now
        while len(known) > len(workers) + _GONE_KEPT:
            del known[next(iter(known))]

    def samples(self, samples: Samples) -> None:
        for (metric, portal), values in self.totals.items():
            for label, value in values.items():
                labels = (portal, label) if label else (portal,)
                samples.setdefault(metric, {})[labels] = value


_Count = tuple[str, str]
"""A metric, and its last label value; "" if it has none but the portal."""

#: Exported as 0 before anything is counted. The increase of a counter that begins with its first ban pages is 0: alert
#: rules would miss them.
_COUNTED_FROM_THE_START: Sequence[_Count] = (
    ("realestate_fleet_responses", ""),
    ("realestate_fleet_listings_new", ""),
    ("realestate_fleet_dead_letters", ""),
    ("realestate_fleet_pages", "ok"),
    ("realestate_fleet_pages", "failed"),
    ("realestate_fleet_pages", "banned"),
)
#: Workers of a portal that are gone and remembered.
_GONE_KEPT = 1_000


def _counts(heartbeat: HeartbeatData) -> dict[_Count, float]:
    counts: dict[_Count, float] = {
        ("realestate_fleet_responses", ""): heartbeat.pages,
        ("realestate_fleet_listings_new", ""): heartbeat.new,
        ("realestate_fleet_dead_letters", ""): heartbeat.dead,
    }
    counts.update({("realestate_fleet_pages", name): count for name, count in heartbeat.outcomes.items()})
    return counts


class FleetReader:
    """Reads the state of the fleet. Used by one thread at a time."""

    def __init__(
        self,
        portals: Callable[[], Sequence[str]],
        look: "Callable[[Redis, str], Any]",
        redis: "Callable[[], Redis]",
        store: "Callable[[], FullStore]",
        folder: Path,
        clock: Callable[[], float] = time.time,
        wanted: Callable[[Mapping[str, Any]], int] | None = None,
    ) -> None:
        """`look` reads the state of a portal. `wanted` says how many workers the states of all portals need."""
        self._portals = portals
        self._wanted = wanted
        self._look = look
        self._open_redis = redis
        self._open_store = store
        self._folder = folder
        self._clock = clock
        self._redis: Redis | None = None
        self._store: FullStore | None = None
        self._ages = QueueAges()
        self._totals = Totals()
        self._counted: tuple[float, Mapping[str, tuple[int, int]], int] = (0.0, {}, 0)
        self.errors: dict[str, str] = {}
        """service -> why it cannot be reached now"""

    def read(self) -> Samples:
        """All samples of now. What cannot be reached is missing, and `realestate_up` says so."""
        samples: Samples = {}
        self.errors = {}
        self._read_service("redis", samples, self._read_redis, REDIS_ERRORS)
        self._read_service("store", samples, self._read_store, (StoreError, OSError))
        self._totals.samples(samples)
        _read_machine(samples, self._folder)
        return samples

    def close(self) -> None:
        if self._redis is not None:
            self._redis.close()
        if self._store is not None:
            self._store.close()

    def _read_service(
        self, name: str, samples: Samples, read: Callable[[Samples], None], errors: tuple[type[Exception], ...]
    ) -> None:
        """All of its samples, or none: half of them would look as if the others had ended."""
        up = samples.setdefault("realestate_up", {})
        found: Samples = {}
        try:
            read(found)
        except errors as error:
            up[name,] = 0
            self.errors[name] = str(error).partition("\n")[0] or type(error).__name__
        else:
            up[name,] = 1
            samples.update(found)

    # ----- Redis

    def _read_redis(self, samples: Samples) -> None:
        if self._redis is None:
            self._redis = self._open_redis()
        processes: set[str] = set()
        states: dict[str, Any] = {}
        for portal in self._portals():
            state = states[portal] = self._look(self._redis, portal)
            _read_portal(samples, portal, state)
            _set(samples, "realestate_queue_oldest_seconds", self._oldest(portal), portal)
            self._totals.update(portal, state.workers)
            processes |= set(map(process_of, state.workers))
        _set(samples, "realestate_worker_processes", len(processes))
        if self._wanted is not None:
            _set(samples, "realestate_workers_wanted", self._wanted(states))
        _set(samples, "realestate_timetable_broken", float(bool(self._redis.exists(keys.TIMETABLE_ERROR))))

    def _oldest(self, portal: str) -> float:
        """The first request, and the first of the lowest priority: one of them waits longest."""
        assert self._redis is not None
        ready = keys.ready(portal)
        first, last, arrived = in_one_step(self._redis, lambda commands: _read_ends(commands, portal))
        numbers = [_arrival(score) for _, score in first]
        if last:
            lowest = _priority(last[0][1])
            found: Any = self._redis.zrangebyscore(ready, lowest * _ARRIVALS, "+inf", start=0, num=1, withscores=True)
            numbers += [_arrival(score) for _, score in found]
        return self._ages.age(portal, int(arrived or 0), min(numbers, default=None), self._clock())

    # ----- the store

    def _read_store(self, samples: Samples) -> None:
        if self._store is None:
            self._store = self._open_store()
        store = self._store
        now = self._clock()
        if now - self._counted[0] >= COUNT_SECONDS:
            self._counted = (now, store.counts(), store.size())
        for portal, (stored, quarantined) in self._counted[1].items():
            _set(samples, "realestate_stored_listings", stored, portal)
            _set(samples, "realestate_stored_quarantined", quarantined, portal)
        _set(samples, "realestate_store_bytes", self._counted[2])
        open_jobs = Counter(order.portal for order in store.orders(limit=1000, unended=True))
        for portal in self._portals():
            _read_jobs(samples, store, portal)
            _set(samples, "realestate_jobs_open", open_jobs[portal], portal)
        _read_fields(samples, store)
        for each in store.occurrences(limit=_OCCURRENCES):
            if each.decision == "skipped" and now - _seconds(each.decided_at) < 3600:
                _add(samples, "realestate_occurrences_skipped", each.entry)
            elif each.error is not None and now - _seconds(each.done_at) < 3600:
                _add(samples, "realestate_occurrences_failed", each.entry)
        for state in ("waiting", "failed"):
            found = store.notifications(state=state, limit=1000)
            recent = [each for each in found if state == "waiting" or now - _seconds(each.settled_at) < 86_400]
            _set(samples, "realestate_notifications", len(recent), state)


def _read_ends(commands: Any, portal: str) -> None:
    commands.zrange(keys.ready(portal), 0, 0, withscores=True)
    commands.zrange(keys.ready(portal), -1, -1, withscores=True)
    commands.get(keys.arrivals(portal))


def _priority(score: float) -> int:
    """How many times the distance between two priorities the score is, rounded down: less is more important."""
    return int(score // _ARRIVALS)


def _arrival(score: float) -> int:
    return int(score - _priority(score) * _ARRIVALS)


def _seconds(at: Any) -> float:
    return at.timestamp() if at is not None else 0.0


def _set(samples: Samples, name: str, value: float, *labels: str) -> None:
    samples.setdefault(name, {})[labels] = value


def _add(samples: Samples, name: str, label: str) -> None:
    series = samples.setdefault(name, {})
    series[label,] = series.get((label,), 0) + 1


def _read_portal(samples: Samples, portal: str, state: Any) -> None:
    for name in ("seeds", "ready", "delayed", "in_flight"):
        _set(samples, "realestate_queue_requests", getattr(state, name), portal, name)
    _set(samples, "realestate_workers", len(state.workers), portal)
    _set(samples, "realestate_dead_letters", state.dead, portal)
    limit = state.rate_limit
    stopped = limit.paused or limit.blocked_seconds > 0
    _set(samples, "realestate_rate_limit_per_second", 0.0 if stopped else limit.rate * limit.factor, portal)
    _set(samples, "realestate_rate_limit_factor", limit.factor, portal)
    for who in ("worker", "person"):
        by_this = limit.paused and limit.is_paused_by_worker == (who == "worker")
        _set(samples, "realestate_portal_paused", float(by_this), portal, who)
    for condition, count in state.proxies.items():
        _set(samples, "realestate_proxies", count, portal, condition)
    if total := sum(state.proxies.values()):
        usable = sum(count for condition, count in state.proxies.items() if condition in ("healthy", "probation"))
        _set(samples, "realestate_proxies_usable_ratio", usable / total, portal)


#: Why a job did not read all that its portal has: somebody wanted that.
_WANTED = re.compile(r"at most \d+ listings|only |it was cancelled")


def is_wanted(job: Job, order: StoredOrder | None) -> bool:
    """Whether somebody ordered only a part of the portal, or cancelled the job: no reason for an alert. A job whose
    deadline was over is one."""
    if job.complete is not False or not _WANTED.match(job.reason or ""):
        return False
    return order is None or order.reason != DEADLINE


def _read_jobs(samples: Samples, store: "FullStore", portal: str) -> None:
    """What the newest finished job says, beside the one before it of the same scope; and whether a newer one failed."""
    orders = {order.job: order for order in store.orders(portal, 20)}
    ended = [job for job in store.jobs(portal, 20) if job.swept_at is not None]
    finished = [job for job in ended if not is_wanted(job, orders.get(job.job))]
    swept_at = _seconds(finished[0].swept_at) if finished else 0.0
    has_failed = any(each.outcome == "failed" and _seconds(each.ended_at) > swept_at for each in orders.values())
    if not finished:
        if has_failed:
            _set(samples, "realestate_job_incomplete", 1.0, portal)
        return
    newest = finished[0]
    _set(samples, "realestate_job_incomplete", float(newest.complete is False or has_failed), portal)
    _set(samples, "realestate_delisting_withheld", float(newest.verdict == "withheld"), portal)
    before = next((job for job in finished[1:] if (job.scope, job.mode) == (newest.scope, newest.mode)), None)
    _set(samples, "realestate_searches_empty", _emptied(store, newest, before), portal)


def _read_fields(samples: Samples, store: "FullStore") -> None:
    """The coverage of fields, and which of them have vanished."""
    for name, state in store.states(DRIFT).items():
        portal = name.removeprefix(DRIFT)
        fields = FieldDrift.from_state(state)
        for field, share in fields.coverage().items():
            _set(samples, "realestate_field_coverage_ratio", share, portal, field)
            _set(samples, "realestate_field_vanished", float(field in fields.vanished), portal, field)


def _emptied(store: "FullStore", newest: Job, before: Job | None) -> int:
    """Searches that had results in the job before, and have none in this one."""
    if before is None:
        return 0
    had = {part.search for part in store.parts(before.job, before.portal) if part.total}
    return sum(part.search in had and part.total == 0 for part in store.parts(newest.job, newest.portal))


def _read_machine(samples: Samples, folder: Path) -> None:
    existing = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    disk = shutil.disk_usage(existing)
    _set(samples, "realestate_disk_free_ratio", disk.free / disk.total)
    if _MEMINFO.exists():
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        available = int(lines["MemAvailable"].split()[0])
        _set(samples, "realestate_memory_available_ratio", available / int(lines["MemTotal"].split()[0]))
    _set(samples, "realestate_load_per_cpu", os.getloadavg()[1] / (os.cpu_count() or 1))


class FleetMetrics(Collector):
    """The samples as metrics. They are read again when the last ones are READ_SECONDS old."""

    def __init__(self, read: Callable[[], Samples], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._samples: tuple[float, Samples] | None = None

    def describe(self) -> Iterable[Family]:
        """Nothing: the names are in the catalogue."""
        return []

    def samples(self) -> Samples:
        with self._lock:
            now = self._clock()
            if self._samples is None or now - self._samples[0] >= READ_SECONDS:
                self._samples = (now, self._read())
            return self._samples[1]

    def collect(self) -> Iterable[Family]:
        for name, series in exported(self.samples()).items():
            yield family(name, series)


def exported(samples: Samples) -> Samples:
    """What is served. In a fleet of so many portals that there would be more than MOST_SERIES, the usual coverage of
    fields is left out, and fields that have not vanished: no alert needs them."""
    if sum(map(len, samples.values())) <= MOST_SERIES:
        return samples
    vanished = samples.get("realestate_field_vanished", {})
    without = {name: series for name, series in samples.items() if name != "realestate_field_coverage_ratio"}
    return {**without, "realestate_field_vanished": {labels: value for labels, value in vanished.items() if value}}
