"""Reports: one after each job, and one a day, which also proves that messages arrive."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from realestate.monitoring.channels import Channels
from realestate.monitoring.delivery import notify_operators
from realestate.monitoring.fleet_metrics import Samples
from realestate.storage.outbox import OutboxStore
from realestate.storage.states import State, StateStore
from realestate.storage.store import Job, JobKey, Store

#: The hour (UTC) after which the daily report is sent.
HOUR = 6
_DAY = "report:day"
_JOBS = "report:jobs"
#: event -> how a report calls it.
_SHOWN = {"listed": "new", "relisted": "back", "price_changed": "price changed", "delisted": "gone"}


@runtime_checkable
class ReportStore(Store, OutboxStore, StateStore, Protocol):
    """What reports need of the store."""


def report_jobs(store: ReportStore, channels: Channels, now: datetime) -> int:
    """Report each job that has ended since the last call, once. Jobs from before the first call are not reported."""
    state = store.change_state(_JOBS, lambda old: old or {"since": now.isoformat(), "after": store.last_event()})
    assert state is not None
    since = datetime.fromisoformat(state["since"])
    ended = [job for job in store.jobs(limit=100) if job.concluded_at is not None and job.concluded_at > since]
    if not ended:
        return 0
    counts = store.event_counts(state["after"])
    return sum(
        notify_operators(
            store,
            channels,
            topic="report:job",
            dedupe_key=f"report:job:{job.portal}:{job.job}",
            title=f"{job.portal}: job {job.job[:12]} has ended",
            body=_job_text(job, counts.get(JobKey(job.portal, job.job), {})),
        )
        for job in ended
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
    return ", ".join(f"{counts.get(event, 0):,} {shown}" for event, shown in _SHOWN.items())


def report_day(store: ReportStore, channels: Channels, samples: Samples, now: datetime) -> int:
    """Send the daily report, if that of today was not sent yet and HOUR has come. It is the self-test of the path:
    if it does not come, no alert would."""
    today = now.date().isoformat()
    state = store.change_state(_DAY, lambda old: old or {"day": "", "after": store.last_event()})
    assert state is not None
    if state["day"] == today or now.hour < HOUR:
        return 0
    last = store.last_event()
    enqueued = notify_operators(
        store,
        channels,
        topic="report:day",
        dedupe_key=f"report:day:{today}",
        title=f"realestate: the day until {now:%Y-%m-%d %H:%M} UTC",
        body=_day_text(store, samples, int(state["after"])),
    )
    store.change_state(_DAY, lambda old: _reported(old, today, last))
    return enqueued


def _reported(old: State | None, today: str, last: int) -> State:
    return {**(old or {}), "day": today, "after": last}


def report_now(store: ReportStore, channels: Channels, samples: Samples, now: datetime) -> int:
    """Send a report of the time since the last daily one. Return to how many addresses; at most once in a minute."""
    state = store.change_state(_DAY, lambda old: old or {"day": "", "after": store.last_event()})
    assert state is not None
    return notify_operators(
        store,
        channels,
        topic="report:now",
        dedupe_key=f"report:now:{now:%Y-%m-%dT%H:%M}",
        title=f"realestate: since the last daily report, until {now:%Y-%m-%d %H:%M} UTC",
        body="\n".join(_lines_of_portals(store, samples, int(state["after"]))),
    )


def _day_text(store: ReportStore, samples: Samples, after: int) -> str:
    lines = _lines_of_portals(store, samples, after)
    return "\n".join([*lines, "If this message does not come one day, no alert would come either."])


def _lines_of_portals(store: ReportStore, samples: Samples, after: int) -> list[str]:
    """For each portal: new, changed, gone, errors, what is stored."""
    by_portal: dict[str, Counter[str]] = {}
    for key, counts in store.event_counts(after).items():
        by_portal.setdefault(key.portal, Counter()).update(counts)
    stored = samples.get("realestate_stored_listings", {})
    responses = samples.get("realestate_fleet_responses", {})
    lines = []
    for portal in sorted({*by_portal, *(portal for (portal,) in stored)}):
        failed = sum(
            count
            for (name, outcome), count in samples.get("realestate_fleet_pages", {}).items()
            if name == portal and outcome in ("failed", "broken", "banned", "too_slow")
        )
        pages = responses.get((portal,), 0)
        errors = f"{failed / pages:.1%} errors of {pages:,.0f} pages" if pages else "no pages"
        total = stored.get((portal,), 0)
        lines.append(f"{portal}: {_counted(by_portal.get(portal, Counter()))}; {errors}; {total:,.0f} stored")
    return lines
