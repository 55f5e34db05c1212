"""Submits a job: pushes its seeds into the list of the portal."""

from collections.abc import Iterable
from uuid import uuid4

import msgspec
from redis import Redis

from realestate.queue import keys


def submit(
    server: Redis,
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
    server.rpush(keys.start_urls(portal), *seeds)
    return job
