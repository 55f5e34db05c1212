"""Jobs as the pages show them, and what is done with them here: the same as `realestate submit` and `jobs`."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from realestate.jobs.manage import JobDesk
from realestate.jobs.state import JobState
from realestate.queue.redis_client import REDIS_ERRORS
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
        return with_desk(site, lambda desk: desk.newest(limit=limit))
    except (NoRedis, *REDIS_ERRORS):
        return ()
