"""Completes what happens to jobs beside their pages: seeds of orders whose submitter died, deadlines, endings, and what
follows a job. Any number of processes may do it; every step is safe to repeat."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any, cast

from realestate.jobs.manage import JobConflict, JobDesk, queue_keep_seconds
from realestate.jobs.order import BadOrder, read_order
from realestate.jobs.state import InRedis, JobState, read_redis, state_of, why_failed
from realestate.monitoring.channels import Channels
from realestate.monitoring.reports import ReportStore, report_job
from realestate.queue import job_marks
from realestate.storage import Store
from realestate.storage.orders import DEADLINE, Outcome, StoredOrder

logger = logging.getLogger(__name__)

#: A submitter that has not pushed its seeds by then has died.
PUSH_SECONDS = 5
#: Orders looked at in one turn.
MOST = 1000
REFUSED = "no worker opened it, and none of its seeds is left: they were refused (see `realestate deadletters list`)"
LOST = "Redis lost its requests; `realestate jobs retry` starts it again"

Report = Callable[[JobState], object]
"""Called with a job that has finished, if its order asks for a report. It must be safe to repeat."""


def reporter(store: Store, addresses: Sequence[str]) -> Report:
    """Writes the report into the outbox, to each of these addresses (NOTIFY_URLS). `realestate watch` sends it, and
    reports a job only once."""
    channels = Channels(addresses)
    return lambda state: report_job(cast("ReportStore", store), channels, state.portal, state.job)


def finish_jobs(desk: JobDesk, report: Report | None = None) -> int:
    """Look at all jobs that have not ended, once. Returns how many ended now."""
    now = desk.store.server_state().now
    ended = 0
    for order in desk.store.orders(limit=MOST, unended=True):
        if order.pushed_at is None and now - order.submitted_at > timedelta(seconds=PUSH_SECONDS):
            desk.push(order)
        if order.deadline_at is not None and now >= order.deadline_at and order.cancelled_at is None:
            desk.store.order_cancelled(order.job, DEADLINE)
            job_marks.cancel(desk.server, order.portal, order.job, queue_keep_seconds())
        _repeat_marks(desk, order)
        ended += _end(desk, order, report)
    return ended


def _repeat_marks(desk: JobDesk, order: StoredOrder) -> None:
    """Whoever cancels, pauses or resumes a job writes that into the store first, and may die before it is in Redis:
    then the job would be called cancelled, and run on."""
    if order.cancelled_at is not None:
        if not job_marks.is_cancelled(desk.server, order.portal, order.job):
            job_marks.cancel(desk.server, order.portal, order.job, queue_keep_seconds())
    elif (order.paused_at is not None) != job_marks.is_paused(desk.server, order.portal, order.job):
        change = job_marks.resume if order.paused_at is None else job_marks.pause
        change(desk.server, order.portal, order.job)


def _end(desk: JobDesk, order: StoredOrder, report: Report | None) -> bool:
    """Record the ending of the job, if it is over. What follows it is started first: after a crash in between it is
    submitted again with the same key, and it is the same job."""
    ending = ending_of(desk, order)
    if ending is None:
        return False
    outcome, reason = ending
    (fresh,) = desk.store.orders(jobs=[order.job])
    state = state_of(desk.store, desk.server, fresh, None)
    if outcome == "finished":
        _follow(desk, order, state, report)
    is_first = desk.store.order_ended(order.job, outcome, reason, summary_of(state))
    if is_first:
        logger.info("job/ended portal=%s job=%s outcome=%s %s", order.portal, order.job, outcome, reason or "")
    return is_first


def ending_of(desk: JobDesk, order: StoredOrder) -> tuple[Outcome, str | None] | None:
    """How the job ended, and why; None if it has not."""
    if order.pushed_at is None and order.cancelled_at is None:
        return None
    found = read_redis(desk.server, order.portal, order.job)
    record = next(iter(desk.store.jobs(order.portal, 1, job=order.job)), None)
    (fresh,) = desk.store.orders(jobs=[order.job])
    is_concluded = record is not None and record.concluded_at is not None
    if fresh.cancelled_at is not None:
        is_gone = not found.left and found.opened is None and (is_concluded or not found.seeds or record is None)
        return ("cancelled", fresh.reason) if is_gone else None
    if is_concluded:
        failure = why_failed(found)
        return ("failed", failure) if failure else ("finished", None)
    if _has_something(found) or _has_something(read_redis(desk.server, order.portal, order.job)):
        return None  # looked at twice: a dead worker's seeds may just be moving back
    return ("failed", REFUSED if record is None else LOST)


def _has_something(found: InRedis) -> bool:
    return bool(found.seeds or found.left or found.opened is not None)


def summary_of(state: JobState) -> dict[str, Any]:
    """What is kept of a job that has ended: its numbers in Redis expire."""
    pages: Mapping[str, Any] = {stage: asdict(each) for stage, each in state.pages.items()}
    names = ("parts", "new", "changed", "gone", "rate", "requests", "bytes", "proxy_requests")
    return {"pages": pages, **{name: getattr(state, name) for name in names}}


def _follow(desk: JobDesk, order: StoredOrder, state: JobState, report: Report | None) -> None:
    for number, follower in enumerate(order.content.get("then", ())):
        if "submit" in follower:
            key = f"after:{order.job}:{number}"
            try:
                desk.submit(read_order({**follower["submit"], "key": key}))
            except (BadOrder, JobConflict) as error:  # it was checked when it was submitted: the portal has changed
                logger.error("job/not_followed portal=%s job=%s: %s", order.portal, order.job, error)
        elif report is not None:
            report(state)
