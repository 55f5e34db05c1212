"""What jobs found, counted from their events."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from realestate.storage.store import Job, JobKey, Store

#: Events are numbered in the order in which they were stored, nearly that of their times.
_MARGIN = timedelta(minutes=10)


def counts_of(store: Store, jobs: Sequence[Job]) -> Mapping[JobKey, Mapping[str, int]]:
    """The number of events of each job, by type. Only events since the first of these jobs are read."""
    if not jobs:
        return {}
    counts = store.event_counts(last_before(store, min(job.started_at for job in jobs)))
    return {key: counts.get(key, {}) for key in (JobKey(job.portal, job.job) for job in jobs)}


def last_before(store: Store, at: datetime) -> int:
    """The number of an event shortly before this time, found with a few dozen small reads."""
    first = 0
    last = store.last_event()
    while first < last:
        middle = (first + last) // 2
        (event,) = store.events(middle, 1) or (None,)
        if event is not None and event.event.at < at - _MARGIN:
            first = event.seq
        else:
            last = middle
    return first
