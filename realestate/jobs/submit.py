"""Makes the seeds of a job, and pushes them into the list of its portal."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from realestate.queue import keys
from realestate.queue.seed_source import PUSH_ONCE, PUSHED_KEEP_MS

if TYPE_CHECKING:
    from redis import Redis


def submit(
    server: "Redis",
    portal: str,
    urls: Iterable[str],
    *,
    mode: str = "full",
    scope: str = "",
    priority: int = 0,
    limit: int = 0,
    filter: str = "",
) -> str:
    """Push the URLs as one job and return its id. No order is stored: `jobs.manage.JobDesk.submit` does that."""
    job = uuid4().hex[:12]
    push_seeds(
        server,
        portal,
        job,
        seeds_of(job, urls, mode=mode, scope=scope, priority=priority, limit=limit, filter=filter),
    )
    return job


def seeds_of(
    job: str,
    urls: Iterable[str],
    *,
    mode: str = "full",
    scope: str = "",
    priority: int = 0,
    limit: int = 0,
    filter: str = "",
    pages: str = "",
) -> list[str]:
    """The seeds of one job. `scope` is WHOLE if together they cover the whole portal. `filter` is the text of a
    `Scope`, `pages` a range such as `1-50`; with one of them, or with a limit, the job covers less."""
    fields = {
        "job": job,
        "mode": mode,
        "scope": "" if limit or filter or pages else scope,
        "priority": priority,
        "limit": limit,
        "filter": filter,
        **({"pages": pages} if pages else {}),
    }
    return [msgspec.json.encode({"url": url, **fields}).decode() for url in urls]


def push_seeds(server: "Redis", portal: str, job: str, seeds: Sequence[str]) -> None:
    """In one script that is safe to repeat: if Redis restarts meanwhile, or two processes push the same job, no seed is
    missing and none is there twice."""
    source = keys.start_urls(portal)
    if seeds:
        server.eval(PUSH_ONCE, 2, source, keys.pushed(source, job), PUSHED_KEEP_MS, *seeds)
