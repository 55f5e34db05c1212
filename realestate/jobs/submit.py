"""Submits a job: pushes its seeds into the list of the portal."""

from collections.abc import Iterable
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
    """Push the URLs as one job and return its id. `scope` is WHOLE if together they cover the whole portal. `filter`
    is the text of a `Scope`; with it, or with a limit, the job covers less."""
    job = uuid4().hex[:12]
    fields = {
        "job": job,
        "mode": mode,
        "scope": "" if limit or filter else scope,
        "priority": priority,
        "limit": limit,
        "filter": filter,
    }
    seeds = [msgspec.json.encode({"url": url, **fields}).decode() for url in urls]
    # In one script that is safe to repeat: if Redis restarts meanwhile, no seed is missing and none is there twice.
    source = keys.start_urls(portal)
    if seeds:
        server.eval(PUSH_ONCE, 2, source, keys.pushed(source, job), PUSHED_KEEP_MS, *seeds)
    return job
