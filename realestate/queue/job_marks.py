"""Cancels, pauses and limits the time of one job. Each is one mark in Redis that the scripts of the queue check."""

from typing import TYPE_CHECKING

from realestate.queue import keys
from realestate.queue.request_queue import run_script

if TYPE_CHECKING:
    from redis import Redis

#: Requests that are removed in one step: few enough to block Redis for a few milliseconds only.
REMOVED_TOGETHER = 200


def cancel(server: "Redis", portal: str, job: str, keep_seconds: int) -> int:
    """From now on no request of the job is leased or enqueued. Returns how many requests are left to be removed. The
    mark is kept for this many seconds."""
    return int(run_script(server, portal, "cancel_job", job=job, keep=keep_seconds))


def is_cancelled(server: "Redis", portal: str, job: str) -> bool:
    return server.zscore(keys.cancelled_jobs(portal), job) is not None


def is_paused(server: "Redis", portal: str, job: str) -> bool:
    return bool(server.sismember(keys.paused_jobs(portal), job))


def remove_some(server: "Redis", portal: str, job: str, buckets: int, most: int = REMOVED_TOGETHER) -> tuple[int, int]:
    """Remove up to `most` requests of a cancelled job. Returns how many were removed, and how many are left.
    `buckets` is the number of sets that have its fingerprints; 0 if jobs share them."""
    removed, left = run_script(server, portal, "remove_job", job=job, most=most, buckets=buckets)
    return int(removed), int(left)


def pause(server: "Redis", portal: str, job: str) -> bool:
    """No request of the job is leased until `resume`. Returns whether it was not paused before."""
    return bool(run_script(server, portal, "pause_job", job=job, paused=True))


def resume(server: "Redis", portal: str, job: str) -> bool:
    """Returns whether it was paused."""
    return bool(run_script(server, portal, "pause_job", job=job, paused=False))


def set_deadline(server: "Redis", portal: str, job: str, seconds: float) -> None:
    """Cancel the job in this many seconds."""
    run_script(server, portal, "deadline_job", job=job, wait=int(seconds * 1000))
