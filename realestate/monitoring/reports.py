"""Reports: one after each job, and one a day, which also proves that messages arrive."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable

from realestate.monitoring.channels import Channels
from realestate.monitoring.delivery import notify_operators
from realestate.monitoring.fleet_metrics import Samples
from realestate.storage.event_counts import EVENT_GROUPS, counts_of
from realestate.storage.orders import StoredOrder
from realestate.storage.outbox import OutboxStore
from realestate.storage.states import State, StateStore
from realestate.storage.store import Job, JobKey, Store

#: The hour (UTC) after which the daily report is sent.
HOUR = 6
_EVER = datetime(2000, 1, 1, tzinfo=UTC)
_DAY = "report:day"
_JOBS = "report:jobs"
#: What a report calls the groups of events.
_SHOWN = {"new": "new", "back": "back", "price": "price changed", "updated": "updated", "gone": "gone"}
#: At most this many jobs are reported at once, the newest.
_AT_ONCE = 1_000
#: What ended at a time may be seen so much later: the transaction takes that long.
_LATEST_COMMIT = timedelta(minutes=5)
#: A day has at most this many jobs.
_ORDERS = 100_000


@runtime_checkable
class ReportStore(Store, OutboxStore, StateStore, Protocol):
    """What reports need of the store."""


def report_jobs(store: ReportStore, channels: Channels, now: datetime) -> int:
    """Report each job that has ended since the last call, once. Jobs from before the first call are not reported."""
    state = store.change_state(_JOBS, lambda old: old or {"since": now.isoformat()})
    assert state is not None
    since = datetime.fromisoformat(state["since"])
    before = set(state.get("reported", ()))
    concluded = {_name(job): job for job in store.jobs(limit=_AT_ONCE, concluded_after=since)}
    # Some failed or were cancelled before they were concluded.
    ended = {_name(order): order for order in store.orders(limit=_AT_ONCE, ended_after=since)}
    unopened = {name: each for name, each in ended.items() if name not in concluded and each.outcome != "finished"}
    times = {name: job.concluded_at for name, job in concluded.items()}
    times |= {name: order.ended_at for name, order in unopened.items()}
    if times.keys() <= before:
        return 0
    fresh = [job for name, job in concluded.items() if name not in before]
    counts = counts_of(store, fresh)
    sent = sum(_report_job(store, channels, job, counts[JobKey(job.portal, job.job)]) for job in fresh)
    sent += sum(_report_unopened(store, channels, order) for name, order in unopened.items() if name not in before)
    newest = max(at for at in times.values() if at is not None)
    from_now = max(since, newest - _LATEST_COMMIT)
    reported = [name for name, at in times.items() if at is not None and at > from_now]
    store.change_state(_JOBS, lambda _: {"since": from_now.isoformat(), "reported": reported})
    return sent


def _name(job: Job | StoredOrder) -> str:
    return f"{job.portal}/{job.job}"


def _report_unopened(store: ReportStore, channels: Channels, order: StoredOrder) -> int:
    title = f"{order.portal}: job {order.job[:12]} {'was cancelled' if order.outcome == 'cancelled' else 'has failed'}"
    return _enqueue(store, channels, order.portal, order.job, title, order.reason or "no reason is known")


def report_job(store: ReportStore, channels: Channels, portal: str, job: str) -> int:
    """Report one submitted job that was concluded, unless it was reported."""
    record = next(iter(store.jobs(portal, 1, job=job)), None)
    orders = store.orders(jobs=[job])
    if record is None or record.concluded_at is None or not orders:
        return 0
    counts = store.event_counts(orders[0].events_after)
    return _report_job(store, channels, record, counts.get(JobKey(portal, job), {}))


def _report_job(store: ReportStore, channels: Channels, job: Job, counts: Mapping[str, int]) -> int:
    title = f"{job.portal}: job {job.job[:12]} has ended"
    return _enqueue(store, channels, job.portal, job.job, title, _job_text(job, counts))


def _enqueue(store: ReportStore, channels: Channels, portal: str, job: str, title: str, body: str) -> int:
    return notify_operators(
        store, channels, topic="report:job", dedupe_key=f"report:job:{portal}:{job}", title=title, body=body
    )


def _job_text(job: Job, counts: Mapping[str, int]) -> str:
    assert job.concluded_at is not None
    took = job.concluded_at - job.started_at
    complete = "complete" if job.complete else f"not complete: {job.reason or 'its search pages were not all read'}"
    lines = [
        f"{job.mode}, {job.scope}: {complete}; took {timedelta(seconds=int(took.total_seconds()))}",
        _counted(counts),
    ]
    if job.verdict == "withheld":
        lines.append(f"{job.departures} listings seem gone: too many, so none was delisted")
    return "\n".join(lines)


def _counted(counts: Mapping[str, int]) -> str:
    groups = {name: sum(counts.get(type, 0) for type in types) for name, types in EVENT_GROUPS.items()}
    return ", ".join(f"{groups[name]:,} {shown}" for name, shown in _SHOWN.items())


def report_day(store: ReportStore, channels: Channels, samples: Samples, now: datetime) -> int:
    """Send the daily report, if that of today was not sent yet and HOUR has come. It is the self-test of the path:
    if it does not come, no alert would."""
    today = now.date().isoformat()
    state = _last_report(store)
    if state["day"] == today or now.hour < HOUR:
        return 0
    last = store.last_event()
    until = store.server_state().now
    lines = _lines(store, samples, state)
    enqueued = notify_operators(
        store,
        channels,
        topic="report:day",
        dedupe_key=f"report:day:{today}",
        title=f"realestate: the day until {now:%Y-%m-%d %H:%M} UTC",
        body="\n".join([*lines, "If this message does not come one day, no alert would come either."]),
    )
    store.change_state(_DAY, lambda old: {**(old or {}), "day": today, "after": last, "until": until.isoformat()})
    return enqueued


def report_now(store: ReportStore, channels: Channels, samples: Samples, now: datetime) -> int:
    """Send a report of the time since the last daily one. Return to how many addresses; at most once in a minute."""
    return notify_operators(
        store,
        channels,
        topic="report:now",
        dedupe_key=f"report:now:{now:%Y-%m-%dT%H:%M}",
        title=f"realestate: since the last daily report, until {now:%Y-%m-%d %H:%M} UTC",
        body="\n".join(_lines(store, samples, _last_report(store))),
    )


def _last_report(store: ReportStore) -> State:
    """The day of the last daily report, and what had happened by then."""
    state = store.change_state(_DAY, lambda old: old or {"day": "", "after": store.last_event()})
    assert state is not None
    return state


@dataclass(slots=True)
class _Pages:
    """The pages of the jobs of a portal that have ended."""

    jobs: int = 0
    unsuccessful: int = 0
    """Jobs that failed or were cancelled."""
    done: int = 0
    failed: int = 0
    timed: int = 0
    """Those of jobs that have a rate."""
    seconds: float = 0.0
    """How long these jobs took."""

    def add(self, order: StoredOrder) -> None:
        self.jobs += 1
        self.unsuccessful += order.outcome != "finished"
        summary = order.summary or {}
        stages = summary.get("pages", {}).values()
        done = sum(each["done"] for each in stages)
        self.done += done
        self.failed += sum(each["failed"] for each in stages)
        if rate := summary.get("rate"):
            self.timed += done
            self.seconds += done / rate

    def __str__(self) -> str:
        if not self.jobs:
            return "no submitted job ended"
        jobs = f"{self.jobs:,} jobs" if self.jobs > 1 else "1 job"
        if self.unsuccessful:
            jobs += f" ({self.unsuccessful:,} failed or cancelled)"
        pages = self.done + self.failed
        errors = f", {self.failed / pages:.1%} errors" if pages else ""
        rate = f", {self.timed / self.seconds:.2f} pages/s" if self.seconds else ""
        return f"{jobs}, {pages:,} pages{errors}{rate}"


def _lines(store: ReportStore, samples: Samples, state: State) -> list[str]:
    """For each portal since the last daily report: what is new, changed and gone, jobs, errors, rate, what is stored.
    At the end the size of the database."""
    events: dict[str, Counter[str]] = {}
    for key, counts in store.event_counts(int(state["after"])).items():
        events.setdefault(key.portal, Counter()).update(counts)
    since = datetime.fromisoformat(state["until"]) if "until" in state else None
    pages: dict[str, _Pages] = {}
    for order in store.orders(limit=_ORDERS, ended_after=since or _EVER):
        pages.setdefault(order.portal, _Pages()).add(order)
    stored = samples.get("realestate_stored_listings", {})
    lines = [
        f"{portal}: {_counted(events.get(portal, Counter()))}; {pages.get(portal, _Pages())};"
        f" {stored.get((portal,), 0):,.0f} stored"
        for portal in sorted({*events, *pages, *(portal for (portal,) in stored)})
    ]
    if size := samples.get("realestate_store_bytes", {}).get(()):
        lines.append(f"database: {size / 1e6:,.1f} MB")
    return lines
