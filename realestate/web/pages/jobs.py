"""Jobs as the pages show them, and what is done with them here: the same as `realestate submit` and `jobs`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from realestate.jobs.manage import JobDesk
from realestate.jobs.state import CHANGED, GONE, NEW, JobState
from realestate.queue.redis_client import REDIS_ERRORS
from realestate.storage import FullStore
from realestate.storage.event_counts import counts_of
from realestate.storage.store import JobKey
from realestate.web.pages.site import Site

T = TypeVar("T")

#: The modes of a job, in words.
MODES = {
    "full": "full: every listing",
    "sweep": "sweep: new, changed and missing",
    "incremental": "incremental: new since last time",
    "refresh": "refresh: known ones that are due",
}


class NoRedis(RuntimeError):
    """Jobs need Redis, and none is configured."""


def with_desk(site: Site, act: Callable[[JobDesk], T]) -> T:
    """Call the function with the handle of jobs. Raises NoRedis."""
    server = site.server
    if server is None:
        raise NoRedis("jobs need Redis: set REDIS_URL")
    return site.ask(lambda store: act(JobDesk(store, server, site.simulator)))


def newest_jobs(site: Site, limit: int) -> Sequence[JobState]:
    """The newest jobs; none while Redis is away."""
    try:
        found = with_desk(site, lambda desk: desk.newest(limit=limit))
    except (NoRedis, *REDIS_ERRORS):
        return ()
    return [each if each.is_submitted or not each.is_over else _counted(site, each) for each in found]


def _counted(site: Site, state: JobState) -> JobState:
    """A job that began with a seed of another program has no summary: what it found is counted once."""
    key = JobKey(state.portal, state.job)
    if key not in site.job_counts:
        site.job_counts[key] = site.ask(lambda store: _counts(store, key))
    counts = site.job_counts[key]
    return replace(
        state,
        new=sum(counts.get(type, 0) for type in NEW),
        changed=sum(counts.get(type, 0) for type in CHANGED),
        gone=sum(counts.get(type, 0) for type in GONE),
    )


def _counts(store: FullStore, key: JobKey) -> Mapping[str, int]:
    return counts_of(store, store.jobs(key.portal, 1, job=key.job)).get(key, {})
