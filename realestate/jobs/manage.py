"""Jobs as one handle: submit, look at, cancel, pause, resume and retry them. Commands, timetable and API use it.

    jobs = JobDesk(store, server)                  # an open store, and a blocking client of Redis
    submitted = jobs.submit(JobOrder(portal="bina", operation="sale", key="nightly-2026-11-18"))
    state = jobs.show(submitted.job)               # a JobState; `jobs.newest()` returns the newest
    jobs.cancel(submitted.job, "not needed any more")

Every method may be called again after a crash at any point: an order is stored first, then its seeds are pushed, and
both happen once. `jobs.finish`, which each worker process runs, completes what a killed process left behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from realestate.jobs.order import JobOrder, check_order, job_id_of, read_order
from realestate.jobs.state import JobState, NoSuchJobId, state_of
from realestate.jobs.submit import push_seeds, seeds_of
from realestate.jobs.work import project_settings
from realestate.queue import job_marks
from realestate.queue.request_ids import buckets_for
from realestate.storage import WHOLE
from realestate.storage.orders import StoredOrder
from realestate.storage.store import Job, Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

__all__ = ["JobConflict", "JobDesk", "NoSuchJobId", "Submitted"]

#: The reason of a job that was cancelled without one.
CANCELLED_BY_HAND = "cancelled"
#: The beginning of an id is looked up among this many ids, the newest.
MANY = 100_000


class JobConflict(ValueError):
    """The job cannot be changed like this: its key belongs to another order, or it has ended."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """The response to a submission."""

    job: str
    portal: str
    seeds: int
    is_new: bool
    """False if an order with the same key was submitted before: this is that job."""
    checked_later: Sequence[str] = ()
    """The parts of the scope that the portal's searches cannot apply: they are checked on each result."""


class JobDesk:
    """Everything that can be done with jobs. A handle is used by one thread at a time, as its store is."""

    def __init__(self, store: Store, server: "Redis", simulator: str | None = None) -> None:
        self.store = store
        self.server = server
        self.simulator = simulator
        """The control address of `realestate simulate`, if its portals are crawled."""

    # ----- submitting

    def submit(self, order: JobOrder, *, job: str | None = None) -> Submitted:
        """Submit a job and return its id at once. The order is durable when this returns, and its seeds are pushed.

        Raises BadOrder if the portal cannot do it, JobConflict if the order's key was used for another order. `job` is
        the id of an order without a key; by default a new one."""
        checked = check_order(order, self.simulator)
        job = job_id_of(order.key) if order.key else job or uuid4().hex[:12]
        seeds = seeds_of(
            job,
            # A refresh fetches no search, so one seed is enough to start it.
            checked.urls[:1] if order.mode == "refresh" else checked.urls,
            mode=order.mode,
            scope=WHOLE if checked.is_everything else "",
            priority=order.priority,
            limit=order.limit,
            filter=str(order.scope),
            pages=order.pages or "",
        )
        given = new_order(job, order, seeds)
        stored = self.store.add_order(given, order.deadline_seconds)
        if stored.content != given.content:
            raise JobConflict(
                f"the key {order.key!r} belongs to job {stored.job} of {stored.submitted_at:%Y-%m-%d %H:%M}, which has"
                " other content; use another key"
            )
        self.push(stored)
        is_new = stored.pushed_at is None
        return Submitted(job, order.portal, len(stored.seeds), is_new, checked.checked_later)

    def push(self, order: StoredOrder) -> None:
        """Push the seeds of a stored order, unless that was done. Safe to repeat, by any number of processes."""
        if order.pushed_at is not None or order.ended_at is not None:
            return
        if order.deadline_at is not None:
            left = (order.deadline_at - order.submitted_at).total_seconds()
            job_marks.set_deadline(self.server, order.portal, order.job, left)
        push_seeds(self.server, order.portal, order.job, order.seeds)
        self.store.order_pushed(order.job)

    # ----- looking

    def newest(self, portal: str | None = None, limit: int = 20) -> Sequence[JobState]:
        """The newest jobs, also those that began with a seed that somebody pushed by hand."""
        orders = self.store.orders(portal, limit)
        records = self.store.jobs(portal, limit)
        return self._states(orders, records)[:limit]

    def unfinished(self, portal: str) -> list[JobState]:
        """The submitted jobs of the portal that have not ended."""
        states = [self.show(each.job, portal) for each in self.store.orders(portal, MANY, unended=True)]
        return [each for each in states if not each.is_over]

    def show(self, job: str, portal: str | None = None) -> JobState:
        """The state of one job. Its cost depends neither on the length of the queue nor on the number of old jobs.
        Raises NoSuchJobId; JobConflict if two portals have a job of this name and none was given."""
        return self._states(*self._found(job, portal))[0]

    def portal_of(self, job: str, portal: str | None = None) -> str:
        """The portal of the job with exactly this id. Raises as `show` does."""
        orders, records = self._found(job, portal)
        return orders[0].portal if orders else records[0].portal

    def ids(self, portal: str | None = None) -> list[str]:
        """The ids of all jobs, to find one by its beginning."""
        ordered = {each.job for each in self.store.orders(portal, MANY)}
        return sorted(ordered | {each.job for each in self.store.jobs(portal, MANY)})

    def _found(self, job: str, portal: str | None) -> tuple[list[StoredOrder], list[Job]]:
        """The order and the record of one job: there is at least one of them."""
        orders = [each for each in self.store.orders(jobs=[job]) if portal in (None, each.portal)]
        records = list(self.store.jobs(portal, 100, job=job))
        portals = sorted({each.portal for each in orders} | {each.portal for each in records})
        if not portals:
            raise NoSuchJobId(job)
        if len(portals) > 1:
            raise JobConflict(f"{', '.join(portals)} each have a job {job!r}: name the portal")
        return orders, records

    def _states(self, orders: Sequence[StoredOrder], records: Sequence[Job]) -> list[JobState]:
        by_order = {(each.portal, each.job): each for each in orders}
        by_record = {(each.portal, each.job): each for each in records}
        missing = [each for each in by_order if each not in by_record]
        for portal, job in missing:
            by_record.update({(each.portal, each.job): each for each in self.store.jobs(portal, 1, job=job)})
        unknown = [job for portal, job in by_record if (portal, job) not in by_order]
        if unknown:
            by_order.update(
                {(each.portal, each.job): each for each in self.store.orders(limit=len(unknown), jobs=unknown)}
            )
        names = {*by_order, *by_record}
        states = [state_of(self.store, self.server, by_order.get(name), by_record.get(name)) for name in names]
        return sorted(states, key=lambda state: (state.submitted_at, state.job), reverse=True)

    # ----- changing

    def cancel(
        self,
        job: str,
        reason: str = CANCELLED_BY_HAND,
        *,
        portal: str | None = None,
        removed: "Callable[[int, int], object] | None" = None,
    ) -> JobState:
        """Cancel a job: from now on no request of it is sent or enqueued; requests that are on their way are finished.

        The mark is one command, whatever the length of the queue. With `removed`, the requests of the job are then
        removed in bounded steps, and it is called with how many were removed and how many are left; without it, the
        workers do that. Raises NoSuchJobId, or JobConflict if the job has ended."""
        state = self.show(job, portal)
        if state.is_over and state.state != "cancelled":
            raise JobConflict(f"job {state.job} has ended already: {state.state}")
        if not self.store.order_cancelled(state.job, reason) and state.is_submitted and not state.is_over:
            raise JobConflict(f"job {state.job} has ended meanwhile")
        job_marks.cancel(self.server, state.portal, state.job, queue_keep_seconds())
        if removed is not None:
            self.remove(state.portal, state.job, removed)
        return self.show(state.job, state.portal)

    def remove(self, portal: str, job: str, removed: "Callable[[int, int], object]") -> None:
        """Remove the requests of a cancelled job, except those that workers hold."""
        sum_removed = 0
        while True:
            step, left = job_marks.remove_some(self.server, portal, job, fingerprint_sets())
            sum_removed += step
            removed(sum_removed, left)
            if not step:
                return

    def pause(self, job: str, portal: str | None = None) -> JobState:
        """Send no request of the job until `resume`. The rest of the portal goes on."""
        return self._pause(job, portal, paused=True)

    def resume(self, job: str, portal: str | None = None) -> JobState:
        """End a pause."""
        return self._pause(job, portal, paused=False)

    def _pause(self, job: str, portal: str | None, *, paused: bool) -> JobState:
        state = self.show(job, portal)
        if state.is_over:
            raise JobConflict(f"job {state.job} has ended already: {state.state}")
        self.store.order_paused(state.job, paused=paused)
        change = job_marks.pause if paused else job_marks.resume
        change(self.server, state.portal, state.job)
        return self.show(state.job, state.portal)

    def retry(self, job: str, portal: str | None = None) -> Submitted:
        """Submit an ended job again, as a new job. Calling it twice makes one new job."""
        state = self.show(job, portal)
        if not state.is_submitted:
            raise JobConflict(f"job {state.job} began with a seed of another program, so what was ordered is not known")
        if not state.is_over:
            raise JobConflict(f"job {state.job} has not ended: {state.state}")
        (order,) = self.store.orders(jobs=[state.job])
        content = {**order.content, "key": f"retry:{state.job}"}
        return self.submit(read_order(content))


def new_order(job: str, order: JobOrder, seeds: Sequence[str]) -> StoredOrder:
    """The record of an order that is not stored yet."""
    content = msgspec.json.decode(msgspec.json.encode(order.as_json()))
    return StoredOrder(
        job=job,
        portal=order.portal,
        key=order.key,
        content=content,
        seeds=seeds,
        events_after=0,
        submitted_at=datetime.fromtimestamp(0, UTC),
    )


@cache
def _queue_settings() -> Any:
    return project_settings()


def queue_keep_seconds() -> int:
    """How long the mark of a cancelled job is kept: as long as the fingerprints of its pages."""
    return int(_queue_settings().getint("DUPEFILTER_KEEP_SECONDS"))


def fingerprint_sets() -> int:
    """The number of sets with the fingerprints of one job; 0 if jobs share them."""
    settings = _queue_settings()
    return 0 if settings["DUPEFILTER_SCOPE"] == "portal" else buckets_for(settings.getint("DUPEFILTER_EXPECTED"))
